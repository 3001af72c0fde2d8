//! Text and JSON that come from JavaScript and must go back unchanged.
//!
//! JavaScript strings are UTF-16 and may hold a NUL or half a surrogate pair, which neither `String`
//! nor `PostgreSQL` can. [`Text`] keeps such a string as the inside of its JSON literal, exactly as
//! `JSON.stringify` writes it: always valid UTF-8, never lossy, ready to be copied into a request body,
//! a database column or a reply to JavaScript. [`Json`] is any JSON value, kept as the text it came in,
//! so that key order, number text and keys such as `__proto__` survive.

mod escapes;
#[cfg(any(test, feature = "properties"))]
pub mod properties;
#[cfg(test)]
mod tests;

use std::{fmt, ops::Deref, sync::Arc};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use serde_json::value::RawValue;

pub(crate) use self::escapes::canonical;
pub use self::escapes::push_escaped;
use self::escapes::{lone_unit, needs_escape, push_char, push_unit, read_escape, unescape};

/// A JavaScript string, held as the inside of its JSON string literal.
///
/// Two texts are equal exactly when the JavaScript strings are.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Text(Arc<str>);

impl Text {
    /// The text between the quotes of the JSON literal.
    #[must_use]
    pub fn escaped(&self) -> &str {
        &self.0
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Reads JavaScript's own form of a string.
    #[must_use]
    pub fn from_utf16(units: &[u16]) -> Self {
        let mut out = String::with_capacity(units.len() + units.len() / 8);
        for decoded in char::decode_utf16(units.iter().copied()) {
            match decoded {
                Ok(c) => push_char(&mut out, c),
                Err(lone) => push_unit(&mut out, lone.unpaired_surrogate()),
            }
        }
        Self(out.into())
    }

    /// Reads a JSON string literal, quotes included; `None` where `literal` is not one.
    #[must_use]
    pub fn from_json(literal: &str) -> Option<Self> {
        let inside = literal.strip_prefix('"')?.strip_suffix('"')?;
        Some(Self(canonical(inside)?.into()))
    }

    /// Takes what already is the inside of a literal written by `JSON.stringify` or by this type.
    #[must_use]
    pub fn from_escaped(inside: &str) -> Self {
        Self(inside.into())
    }

    /// The string with what Unicode cannot hold (half a surrogate pair) replaced by U+FFFD: for messages to people.
    #[must_use]
    pub fn to_plain(&self) -> String {
        unescape(&self.0, |out, _| out.push('\u{fffd}'))
    }

    /// The string as the source of a JSON document: half a surrogate pair becomes its escape, which is what it
    /// means inside a literal of that document.
    #[must_use]
    pub fn to_json_source(&self) -> String {
        unescape(&self.0, push_unit)
    }

    /// JavaScript's own form of the string.
    #[must_use]
    pub fn to_utf16(&self) -> Vec<u16> {
        let mut units = Vec::with_capacity(self.0.len());
        let mut rest: &str = &self.0;
        while let Some(at) = rest.find('\\') {
            let (plain, escape) = rest.split_at(at);
            units.extend(plain.encode_utf16());
            let (unit, after) = read_escape(escape).unwrap_or((0xfffd, ""));
            units.push(unit);
            rest = after;
        }
        units.extend(rest.encode_utf16());
        units
    }

    /// Appends the JSON literal, quotes included.
    pub fn push_json(&self, out: &mut impl Output) {
        out.push_str("\"");
        out.push_str(&self.0);
        out.push_str("\"");
    }
}

impl Default for Text {
    fn default() -> Self {
        Self("".into())
    }
}

impl From<&str> for Text {
    fn from(plain: &str) -> Self {
        if plain.bytes().any(needs_escape) {
            let mut out = String::with_capacity(plain.len() + 16);
            plain.chars().for_each(|c| push_char(&mut out, c));
            Self(out.into())
        } else {
            Self(plain.into())
        }
    }
}

impl From<String> for Text {
    fn from(plain: String) -> Self {
        Self::from(plain.as_str())
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_plain())
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.0)
    }
}

impl Serialize for Text {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let literal = format!("\"{}\"", self.0);
        RawValue::from_string(literal)
            .map_err(serde::ser::Error::custom)?
            .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = <&RawValue>::deserialize(deserializer)?.get();
        Self::from_json(raw).ok_or_else(|| {
            D::Error::custom(format_args!("expected a string, got {}", excerpt(raw)))
        })
    }
}

/// Joins pieces of one string; a surrogate pair that was cut between two pieces is put together again.
#[derive(Debug, Clone, Default)]
pub struct TextBuilder(String);

impl TextBuilder {
    pub fn push(&mut self, piece: &Text) {
        let low = piece.0.get(..6).and_then(lone_unit);
        if let Some(low @ 0xdc00..=0xdfff) = low
            && let Some(high @ 0xd800..=0xdbff) = self.last_lone_unit()
            && let Some(Ok(c)) = char::decode_utf16([high, low]).next()
        {
            self.0.truncate(self.0.len() - 6);
            self.0.push(c);
            self.0.push_str(piece.0.get(6..).unwrap_or_default());
        } else {
            self.0.push_str(&piece.0);
        }
    }

    /// Half a surrogate pair at the end. Counts the backslashes before it, so it is to be asked for only where the other
    /// half follows: a text of backslashes may come in many pieces.
    fn last_lone_unit(&self) -> Option<u16> {
        let (before, last) = self.0.split_at_checked(self.0.len().checked_sub(6)?)?;
        let unit = lone_unit(last)?;
        let backslashes = before.bytes().rev().take_while(|&byte| byte == b'\\');
        backslashes.count().is_multiple_of(2).then_some(unit)
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    #[must_use]
    pub fn finish(self) -> Text {
        Text(self.0.into())
    }
}

/// A JSON value as the text it came in.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Json(Arc<str>);

impl Json {
    /// Checks that `text` is one JSON value.
    pub fn parse(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str::<&RawValue>(text).map(|raw| Self(raw.get().into()))
    }

    /// Takes text that is known to be one JSON value: written by `JSON.stringify` or by this crate.
    #[must_use]
    pub fn from_trusted(text: &str) -> Self {
        Self(text.into())
    }

    #[must_use]
    pub fn is_object(&self) -> bool {
        self.0.starts_with('{')
    }
}

impl Deref for Json {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        RawValue::from_string(self.0.to_string())
            .map_err(serde::ser::Error::custom)?
            .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        <&RawValue>::deserialize(deserializer).map(|raw| Self(raw.get().into()))
    }
}

/// The start of a value, for an error message.
#[must_use]
pub fn excerpt(raw: &str) -> String {
    let mut end = raw.len().min(60);
    while !raw.is_char_boundary(end) {
        end -= 1;
    }
    let mut text = raw.get(..end).unwrap_or_default().to_owned();
    if end < raw.len() {
        text.push('…');
    }
    text
}

/// What text is written to: a string, or only the count of its bytes.
pub trait Output {
    fn push_str(&mut self, text: &str);

    /// Appends a text of `length` bytes, which who only counts does not look at.
    fn push_known<'a>(&mut self, length: usize, text: impl FnOnce() -> &'a str);
}

impl Output for String {
    fn push_str(&mut self, text: &str) {
        Self::push_str(self, text);
    }

    fn push_known<'a>(&mut self, _length: usize, text: impl FnOnce() -> &'a str) {
        Self::push_str(self, text());
    }
}

/// How many bytes were written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Length(pub usize);

impl Output for Length {
    fn push_str(&mut self, text: &str) {
        self.0 += text.len();
    }

    fn push_known<'a>(&mut self, length: usize, _text: impl FnOnce() -> &'a str) {
        self.0 += length;
    }
}
