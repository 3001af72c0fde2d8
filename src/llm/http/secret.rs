//! API keys, and how they are kept out of everything that people read.

use std::{borrow::Cow, fmt, str::Chars, sync::Arc};

/// A key. Prints as `***`.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Secret(Arc<str>);

impl Secret {
    /// Surrounding white space goes: a key read from a file ends with a line break.
    #[must_use]
    pub fn new(key: &str) -> Self {
        Self(key.trim().into())
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The key itself, for a header.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// Shorter keys (`test`, `ollama`, `x`) are words of ordinary messages too, and go only where they stand alone.
const SHORT: usize = 8;

/// Replaces secrets in text that a server or a library wrote.
///
/// Such text quotes in its own way: as JSON (once or twice), in a URL, in a page, in lower case. So a secret is not
/// searched in a list of forms but read character by character, each in any of them.
#[derive(Clone, Default)]
pub(crate) struct Redactor {
    /// The longest first: of a key that begins with another one no tail may stay.
    secrets: Vec<String>,
}

impl Redactor {
    pub(crate) fn add(&mut self, secret: &str) {
        let secret = secret.trim();
        if secret.is_empty() || self.secrets.iter().any(|known| known == secret) {
            return;
        }
        self.secrets.push(secret.to_owned());
        self.secrets
            .sort_by_key(|secret| std::cmp::Reverse(secret.len()));
    }

    pub(crate) fn redact<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut clean = String::new();
        let (mut at, mut kept) = (0, 0);
        while let Some(next) = text.get(at..).and_then(|rest| rest.chars().next()) {
            match self
                .secrets
                .iter()
                .find_map(|secret| end_of(secret, text, at))
            {
                Some(end) => {
                    clean.push_str(text.get(kept..at).unwrap_or_default());
                    clean.push_str("***");
                    (at, kept) = (end, end);
                }
                None => at += next.len_utf8(),
            }
        }
        if kept == 0 {
            return Cow::Borrowed(text);
        }
        clean.push_str(text.get(kept..).unwrap_or_default());
        Cow::Owned(clean)
    }
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Redactor({} secrets)", self.secrets.len())
    }
}

/// Where `secret` ends in `text`, if it stands at `at`.
fn end_of(secret: &str, text: &str, at: usize) -> Option<usize> {
    let end = at + quoted_len(secret.chars(), text.get(at..)?)?;
    (secret.len() >= SHORT || stands_alone(text, at, end)).then_some(end)
}

/// How much of the start of `text` is `secret`, each character as it is or quoted.
fn quoted_len(mut secret: Chars<'_>, text: &str) -> Option<usize> {
    let Some(expected) = secret.next() else {
        return Some(0);
    };
    let plain = text.chars().next().map(|found| (found, found.len_utf8()));
    // A backslash, quoted however often, before something else.
    let run = backslashes(text);
    let last = (run > 0 && !secret.as_str().starts_with('\\')).then_some(('\\', run));
    [quoted_char(text), last, plain]
        .into_iter()
        .flatten()
        .filter(|(found, _)| found.eq_ignore_ascii_case(&expected))
        .find_map(|(_, len)| Some(len + quoted_len(secret.clone(), text.get(len..)?)?))
}

/// The character that a quotation at the start of `text` stands for, and how long the quotation is.
fn quoted_char(text: &str) -> Option<(char, usize)> {
    match text.chars().next()? {
        '\\' => backslashed(text),
        '%' => percent_encoded(text),
        '&' => entity(text),
        _ => None,
    }
}

/// More escapes around each other, and more backslashes in a row, are not looked through: the work stays linear.
const DEEPEST: usize = 16;

fn backslashes(text: &str) -> usize {
    let run = text.bytes().take(DEEPEST);
    run.take_while(|byte| *byte == b'\\').count()
}

/// `\"`, `\/`, `\u0022`, and the same within strings within strings.
fn backslashed(text: &str) -> Option<(char, usize)> {
    let run = backslashes(text);
    let rest = text.get(run..)?;
    let unicode = || {
        let digits = rest.strip_prefix(['u', 'U'])?.get(..4)?;
        let c = char::from_u32(u32::from_str_radix(digits, 16).ok()?)?;
        Some((c, run + 5))
    };
    unicode().or_else(|| {
        let c = rest.chars().next()?;
        Some((c, run + c.len_utf8()))
    })
}

/// `%22`, and the same within URLs within URLs.
fn percent_encoded(text: &str) -> Option<(char, usize)> {
    let mut bytes = Vec::new();
    let mut at = 0;
    while let Some(rest) = text.get(at..).and_then(|rest| rest.strip_prefix('%')) {
        let nested = rest
            .as_bytes()
            .chunks(2)
            .take(DEEPEST)
            .take_while(|pair| *pair == b"25");
        // `%2541` is a quoted `%41`; the last `25` may itself be the character.
        let deep = nested.count() * 2;
        let digits = |skip: usize| {
            let pair = rest
                .get(skip..skip + 2)
                .filter(|pair| pair.bytes().all(|b| b.is_ascii_hexdigit()))?;
            Some((u8::from_str_radix(pair, 16).ok()?, skip))
        };
        let (byte, skip) = digits(deep).or_else(|| digits(deep.checked_sub(2)?))?;
        bytes.push(byte);
        at += 1 + skip + 2;
        match std::str::from_utf8(&bytes) {
            Ok(c) => return Some((c.chars().next()?, at)),
            Err(error) if error.error_len().is_some() => return None,
            Err(_) => {}
        }
    }
    None
}

/// `&quot;`, `&#34;`, `&#x22;`.
fn entity(text: &str) -> Option<(char, usize)> {
    let end = text.bytes().take(12).position(|byte| byte == b';')?;
    let name = text.get(1..end)?;
    let c = match name.strip_prefix('#') {
        Some(number) => {
            let code = match number.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16),
                None => number.parse(),
            };
            char::from_u32(code.ok()?)?
        }
        None => match name {
            "quot" => '"',
            "apos" => '\'',
            "amp" => '&',
            "lt" => '<',
            "gt" => '>',
            _ => return None,
        },
    };
    Some((c, end + 1))
}

fn stands_alone(text: &str, start: usize, end: usize) -> bool {
    let part_of_word = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
    let before = text
        .get(..start)
        .and_then(|before| before.chars().next_back());
    let after = text.get(end..).and_then(|after| after.chars().next());
    !before.is_some_and(part_of_word) && !after.is_some_and(part_of_word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redactor(secrets: &[&str]) -> Redactor {
        let mut redactor = Redactor::default();
        for secret in secrets {
            redactor.add(secret);
        }
        redactor
    }

    #[test]
    fn a_key_goes_wherever_it_stands_and_in_every_simple_form() {
        let redactor = redactor(&["sk-\"abc/déf=\\"]);
        for form in [
            "sk-\"abc/déf=\\",
            r#"sk-\"abc/déf=\\"#,
            r#"sk-\"abc\/déf=\\"#,
            "sk-%22abc%2Fd%C3%A9f%3D%5C",
            "sk-%22abc%2fd%c3%a9f%3d%5c",
            "SK-\"ABC/DéF=\\",
            r#"sk-\\\"abc\\\/d\u00e9f=\\\\"#,
            r"\u0073\u006b-\u0022abc/d\u00E9f=\u005c",
            "sk-%2522abc%252Fd%25C3%25A9f=%255C",
            "sk-&quot;abc&#47;d&#xE9;f=\\",
        ] {
            assert_eq!(
                redactor.redact(&format!("a{form}{form} b")),
                "a****** b",
                "{form}"
            );
        }
    }

    #[test]
    fn quotations_without_end_are_read_once() {
        let redactor = redactor(&["sk-12345678"]);
        for unit in ["\\", "%25", "&", "s", "%E2"] {
            let text = unit.repeat(64 * 1024 / unit.len());
            assert_eq!(redactor.redact(&text), text);
        }
    }

    #[test]
    fn a_secret_that_looks_quoted_is_found() {
        for secret in ["a%41bcdefgh%25", "a\\u0041bcdefg\\", "a&amp;bcdefgh"] {
            assert_eq!(redactor(&[secret]).redact(&format!("<{secret}>")), "<***>");
        }
    }

    #[test]
    fn a_short_key_goes_as_a_word_only() {
        let redactor = redactor(&["k"]);
        assert_eq!(redactor.redact("backend k, \"k\""), "backend ***, \"***\"");
    }

    #[test]
    fn a_key_that_begins_with_another_leaves_no_tail() {
        let redactor = redactor(&["secret-key", "secret-key-two"]);
        assert_eq!(redactor.redact("secret-key-two"), "***");
    }

    #[test]
    fn a_secret_does_not_print() {
        assert_eq!(format!("{:?}", Secret::new(" sk-1\n")), "***");
        assert_eq!(Secret::new(" sk-1\n").expose(), "sk-1");
        assert!(!format!("{:?}", redactor(&["sk-12345678"])).contains("sk-1"));
    }
}
