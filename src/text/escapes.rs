//! The inside of JSON's string literals.

use std::borrow::Cow;

use super::Output;

/// Appends `plain` as the inside of a JSON literal.
pub fn push_escaped(plain: &str, out: &mut impl Output) {
    let mut rest = plain;
    let mut escape = String::new();
    while let Some(at) = rest.bytes().position(needs_escape) {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let mut chars = from.chars();
        if let Some(c) = chars.next() {
            escape.clear();
            push_char(&mut escape, c);
            out.push_str(&escape);
        }
        rest = chars.as_str();
    }
    out.push_str(rest);
}

pub(super) fn needs_escape(byte: u8) -> bool {
    byte < 0x20 || byte == b'"' || byte == b'\\'
}

pub(super) fn push_char(out: &mut String, c: char) {
    match c {
        '"' => out.push_str("\\\""),
        '\\' => out.push_str("\\\\"),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        '\u{8}' => out.push_str("\\b"),
        '\u{c}' => out.push_str("\\f"),
        c if c < ' ' => push_unit(out, c as u16),
        c => out.push(c),
    }
}

pub(super) fn push_unit(out: &mut String, unit: u16) {
    use std::fmt::Write as _;
    let _ = write!(out, "\\u{unit:04x}");
}

/// Reads the escape at the start of `text`: its UTF-16 unit and what follows it.
pub(super) fn read_escape(text: &str) -> Option<(u16, &str)> {
    let unit = match text.as_bytes().get(1)? {
        b'u' => {
            return Some((
                u16::from_str_radix(text.get(2..6)?, 16).ok()?,
                text.get(6..)?,
            ));
        }
        b'n' => 0x0a,
        b'r' => 0x0d,
        b't' => 0x09,
        b'b' => 0x08,
        b'f' => 0x0c,
        byte @ (b'"' | b'\\' | b'/') => u16::from(*byte),
        _ => return None,
    };
    Some((unit, text.get(2..)?))
}

/// The unit of a text that is one `\uXXXX` escape of half a surrogate pair.
pub(super) fn lone_unit(text: &str) -> Option<u16> {
    if !text.starts_with("\\ud") {
        return None;
    }
    read_escape(text)
        .map(|(unit, _)| unit)
        .filter(|unit| (0xd800..=0xdfff).contains(unit))
}

/// The inside of a literal as `JSON.stringify` writes it; `None` where it is none.
pub(crate) fn canonical(inside: &str) -> Option<Cow<'_, str>> {
    if !inside.contains('\\') {
        return Some(Cow::Borrowed(inside));
    }
    let mut valid = true;
    let text = walk(inside, &mut valid, push_char, push_unit);
    valid.then(|| {
        if text == inside {
            Cow::Borrowed(inside)
        } else {
            Cow::Owned(text)
        }
    })
}

pub(super) fn unescape(inside: &str, lone: impl FnMut(&mut String, u16)) -> String {
    walk(inside, &mut true, String::push, lone)
}

fn walk(
    inside: &str,
    valid: &mut bool,
    mut on_char: impl FnMut(&mut String, char),
    mut on_lone: impl FnMut(&mut String, u16),
) -> String {
    let mut out = String::with_capacity(inside.len());
    let mut rest = inside;
    while let Some(at) = rest.find('\\') {
        let (plain, escape) = rest.split_at(at);
        out.push_str(plain);
        let Some((unit, after)) = read_escape(escape) else {
            *valid = false;
            return out;
        };
        rest = after;
        if let Some(c) = char::from_u32(u32::from(unit)) {
            on_char(&mut out, c);
            continue;
        }
        let low = after
            .starts_with("\\u")
            .then(|| read_escape(after))
            .flatten();
        match low
            .and_then(|(low, after)| Some((char::decode_utf16([unit, low]).next()?.ok()?, after)))
        {
            Some((c, after)) => {
                on_char(&mut out, c);
                rest = after;
            }
            None => on_lone(&mut out, unit),
        }
    }
    out.push_str(rest);
    out
}
