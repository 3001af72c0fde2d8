//! The models whose window is known.

use crate::{
    error::{Error, Result},
    text::Text,
};

/// Names and context windows in tokens, from <https://platform.openai.com/docs/models> (2026-11).
pub const GPT: &[(&str, u64)] = &[
    ("gpt-4o", 128_000),
    ("gpt-4o-mini", 128_000),
    ("gpt-4.1", 1_047_576),
    ("gpt-4.1-mini", 1_047_576),
    ("gpt-4.1-nano", 1_047_576),
    ("o3", 200_000),
    ("o3-mini", 200_000),
    ("o4-mini", 200_000),
];

/// Names and context windows in tokens, from <https://docs.claude.com/en/docs/about-claude/models> (2026-11).
pub const CLAUDE: &[(&str, u64)] = &[
    ("claude-opus-4-20250514", 200_000),
    ("claude-sonnet-4-20250514", 200_000),
    ("claude-haiku-4-5-20251001", 200_000),
];

/// The window of `model`: what is `given`, else what is known.
pub fn window(known: &[(&str, u64)], model: &Text, given: Option<u64>) -> Result<u64> {
    let by_name = || known.iter().find(|(name, _)| *name == model.escaped());
    given
        .or_else(|| by_name().map(|(_, window)| *window))
        .ok_or_else(|| {
            let names: Vec<_> = known.iter().map(|(name, _)| *name).collect();
            Error::InvalidArgument(format!(
                "model: the window of \"{model}\" is not known; give maxContextTokens or use one of {}",
                names.join(", ")
            ))
        })
}

/// `OpenAI`'s reasoning models `o1`, `o3`, `o4`, …: they refuse a `temperature`.
#[must_use]
pub fn is_o_series(model: &Text) -> bool {
    let mut chars = model.escaped().chars();
    chars.next() == Some('o') && chars.next().is_some_and(|c| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_model_has_its_window_and_another_needs_one() {
        assert_eq!(
            window(GPT, &Text::from("gpt-4.1"), None).unwrap(),
            1_047_576
        );
        assert_eq!(window(GPT, &Text::from("gpt-9"), Some(5)).unwrap(), 5);
        assert_eq!(window(GPT, &Text::from("gpt-4o"), Some(5)).unwrap(), 5);
        let message = window(CLAUDE, &Text::from("gpt-4o"), None)
            .unwrap_err()
            .to_string();
        assert!(
            CLAUDE.iter().all(|(name, _)| message.contains(name)),
            "{message}"
        );
    }

    #[test]
    fn the_o_series_is_told_by_its_name() {
        assert!(
            ["o3", "o4-mini", "o1-preview"]
                .into_iter()
                .all(|name| is_o_series(&Text::from(name)))
        );
        assert!(
            !["gpt-4o", "ollama", "o", ""]
                .into_iter()
                .any(|name| is_o_series(&Text::from(name)))
        );
    }
}
