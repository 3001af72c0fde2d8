//! API keys, and how they are kept out of everything that people read.

use std::{borrow::Cow, fmt, sync::Arc};

use crate::text::push_escaped;

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
#[derive(Clone, Default)]
pub(crate) struct Redactor {
    forms: Vec<String>,
}

impl Redactor {
    pub(crate) fn add(&mut self, secret: &str) {
        let secret = secret.trim();
        if secret.is_empty() {
            return;
        }
        let mut json = String::new();
        push_escaped(secret, &mut json);
        let forms = [
            secret.to_owned(),
            json.clone(),
            json.replace('/', "\\/"),
            percent(secret, false),
            percent(secret, true),
        ];
        for form in forms {
            if !self.forms.contains(&form) {
                self.forms.push(form);
            }
        }
        // A key that begins with another one must go first, or its tail would stay.
        self.forms.sort_by_key(|form| std::cmp::Reverse(form.len()));
    }

    pub(crate) fn redact<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut text = Cow::Borrowed(text);
        for form in &self.forms {
            if let Some(clean) = without(&text, form) {
                text = Cow::Owned(clean);
            }
        }
        text
    }
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Redactor({} forms)", self.forms.len())
    }
}

fn without(text: &str, form: &str) -> Option<String> {
    let mut clean = String::new();
    let mut kept = 0;
    for (at, found) in text.match_indices(form) {
        let after = at + found.len();
        if form.len() < SHORT && !stands_alone(text, at, after) {
            continue;
        }
        clean.push_str(text.get(kept..at).unwrap_or_default());
        clean.push_str("***");
        kept = after;
    }
    (kept > 0).then(|| clean + text.get(kept..).unwrap_or_default())
}

fn stands_alone(text: &str, start: usize, end: usize) -> bool {
    let part_of_word = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
    let before = text
        .get(..start)
        .and_then(|before| before.chars().next_back());
    let after = text.get(end..).and_then(|after| after.chars().next());
    !before.is_some_and(part_of_word) && !after.is_some_and(part_of_word)
}

fn percent(secret: &str, lower: bool) -> String {
    use fmt::Write as _;
    let mut out = String::with_capacity(secret.len());
    for byte in secret.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            out.push(char::from(byte));
        } else if lower {
            let _ = write!(out, "%{byte:02x}");
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
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
        ] {
            assert_eq!(
                redactor.redact(&format!("a{form}{form} b")),
                "a****** b",
                "{form}"
            );
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
