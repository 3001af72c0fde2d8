//! The arguments of one call, as far as they have come.

use std::sync::OnceLock;

use serde::de::IgnoredAny;

use crate::text::{Text, TextBuilder};

/// A JSON text in pieces. Each byte is looked at once, however many pieces there are and however often it is asked
/// whether they are all.
#[derive(Debug, Default)]
pub(super) struct Arguments {
    text: TextBuilder,
    place: Place,
    /// Whether what ended is JSON; what comes behind its end cannot change that.
    is_json: OnceLock<bool>,
}

/// Where in a JSON text its end so far is.
#[derive(Debug, Default)]
enum Place {
    #[default]
    Before,
    Within {
        depth: usize,
        quoted: bool,
        escaped: bool,
    },
    /// The first bracket was closed.
    Ended,
    /// Nothing that follows can make it an object.
    Lost,
}

impl Arguments {
    pub(super) fn push(&mut self, piece: &Text) {
        self.text.push(piece);
        let mut bytes = piece.escaped().bytes();
        while let Some(byte) = bytes.next() {
            self.place.step(match byte {
                b'\\' => unescape(&mut bytes),
                byte => byte,
            });
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Whether they are a JSON text, so that more would be too much.
    pub(super) fn are_complete(&self) -> bool {
        let is_json = || {
            let source = self.text.clone().finish().to_json_source();
            serde_json::from_str::<IgnoredAny>(&source).is_ok()
        };
        matches!(self.place, Place::Ended) && *self.is_json.get_or_init(is_json)
    }

    pub(super) fn finish(self) -> Text {
        self.text.finish()
    }
}

/// The character that an escape of a literal stands for, as far as it matters between brackets and quotes.
fn unescape(bytes: &mut impl Iterator<Item = u8>) -> u8 {
    match bytes.next() {
        Some(b'n' | b'r' | b't') => b' ',
        Some(byte @ (b'"' | b'\\')) => byte,
        // A control character or half a surrogate pair: its four digits follow, which say nothing.
        _ => b'u',
    }
}

impl Place {
    fn step(&mut self, byte: u8) {
        match self {
            Self::Lost => {}
            Self::Before | Self::Ended if byte == b' ' => {}
            Self::Before if matches!(byte, b'{' | b'[') => {
                *self = Self::Within {
                    depth: 1,
                    quoted: false,
                    escaped: false,
                }
            }
            Self::Before | Self::Ended => *self = Self::Lost,
            Self::Within { escaped, .. } if *escaped => *escaped = false,
            Self::Within {
                quoted: quoted @ true,
                escaped,
                ..
            } => match byte {
                b'"' => *quoted = false,
                b'\\' => *escaped = true,
                _ => {}
            },
            Self::Within { depth, quoted, .. } => match byte {
                b'"' => *quoted = true,
                b'{' | b'[' => *depth += 1,
                b'}' | b']' if *depth == 1 => *self = Self::Ended,
                b'}' | b']' => *depth -= 1,
                _ => {}
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complete(pieces: &[&str]) -> bool {
        let mut arguments = Arguments::default();
        for piece in pieces {
            arguments.push(&Text::from(*piece));
        }
        arguments.are_complete()
    }

    #[test]
    fn they_are_complete_at_the_end_of_a_json_text() {
        for pieces in [
            &["{}"][..],
            &[" {\"a\"", ":[1,\"}\\\"\\\\\"", "]}\n"],
            &["{\"a\":\"\\u007d\"}"],
            &["{\"é\":\"\u{1f389}\"} \t"],
        ] {
            assert!(complete(pieces), "{pieces:?}");
        }
    }

    #[test]
    fn they_are_not_complete_within_one_or_behind_it_or_where_there_is_none() {
        for pieces in [
            &[][..],
            &["", " "],
            &["{"],
            &["{\"a\":\"}"],
            &["{\"a\":\"\\\"}"],
            &["[{}", ",{}"],
            &["{}", "{}"],
            &["{x}"],
            &["{]"],
            &["}"],
            &["null"],
        ] {
            assert!(!complete(pieces), "{pieces:?}");
        }
    }
}
