//! The shapes of the protocol, read with patience.

use serde::Deserialize;

use crate::{
    llm::{
        ToolCallDelta, Usage,
        wire::{Loose, arguments, content, index, label, number, text},
    },
    text::Text,
};

/// A `chat.completion` or a `chat.completion.chunk`.
#[derive(Deserialize)]
pub(super) struct Answer<'a> {
    #[serde(borrow)]
    pub choices: Option<Vec<Choice<'a>>>,
    #[serde(borrow)]
    pub usage: Loose<'a>,
    #[serde(borrow)]
    pub error: Loose<'a>,
    /// vLLM reports errors without an envelope.
    #[serde(borrow)]
    pub message: Loose<'a>,
}

#[derive(Deserialize)]
pub(super) struct Choice<'a> {
    #[serde(borrow)]
    index: Loose<'a>,
    /// In a chunk.
    #[serde(borrow)]
    delta: Option<Said<'a>>,
    /// In a whole answer.
    #[serde(borrow)]
    message: Option<Said<'a>>,
    #[serde(borrow)]
    finish_reason: Loose<'a>,
}

#[derive(Deserialize)]
pub(super) struct Said<'a> {
    #[serde(borrow)]
    content: Loose<'a>,
    /// `DeepSeek`'s name, and most others'.
    #[serde(borrow)]
    reasoning_content: Loose<'a>,
    /// `OpenRouter`'s name, and newer vLLM's.
    #[serde(borrow)]
    reasoning: Loose<'a>,
    #[serde(borrow)]
    tool_calls: Option<Vec<Option<Call<'a>>>>,
}

#[derive(Deserialize)]
struct Call<'a> {
    #[serde(borrow)]
    index: Loose<'a>,
    #[serde(borrow)]
    id: Loose<'a>,
    #[serde(borrow)]
    function: Option<Function<'a>>,
}

#[derive(Deserialize)]
struct Function<'a> {
    #[serde(borrow)]
    name: Loose<'a>,
    #[serde(borrow)]
    arguments: Loose<'a>,
}

#[derive(Deserialize)]
struct Counts<'a> {
    #[serde(borrow)]
    prompt_tokens: Loose<'a>,
    #[serde(borrow)]
    completion_tokens: Loose<'a>,
    #[serde(borrow)]
    prompt_tokens_details: Loose<'a>,
    /// `DeepSeek`'s own.
    #[serde(borrow)]
    prompt_cache_hit_tokens: Loose<'a>,
}

#[derive(Deserialize)]
struct Details<'a> {
    #[serde(borrow)]
    cached_tokens: Loose<'a>,
}

impl<'a> Answer<'a> {
    /// The first choice. With `n` > 1 a chunk may be about another one, which is nobody's.
    pub(super) fn choice(&self) -> Option<&Choice<'a>> {
        self.choices
            .as_ref()?
            .iter()
            .find(|choice| index(choice.index).is_none_or(|index| index == 0))
    }

    /// Whether this is not an answer but an error.
    pub(super) fn is_error(&self) -> bool {
        self.error.is_some() || self.choices.is_none() && text(self.message).is_some()
    }

    pub(super) fn usage(&self) -> Option<Usage> {
        let counts: Counts<'_> = serde_json::from_str(self.usage?.get()).ok()?;
        let prompt = number(counts.prompt_tokens);
        let completion = number(counts.completion_tokens);
        let cached = counts
            .prompt_tokens_details
            .and_then(|details| serde_json::from_str::<Details<'_>>(details.get()).ok())
            .and_then(|details| number(details.cached_tokens))
            .or_else(|| number(counts.prompt_cache_hit_tokens));
        (prompt.is_some() || completion.is_some()).then(|| Usage {
            prompt_tokens: prompt.unwrap_or(0.0),
            completion_tokens: completion.unwrap_or(0.0),
            cached_prompt_tokens: cached,
        })
    }
}

impl<'a> Choice<'a> {
    pub(super) fn said(&self) -> Option<&Said<'a>> {
        self.delta.as_ref().or(self.message.as_ref())
    }

    pub(super) fn finish_reason(&self) -> Option<Text> {
        let word = text(self.finish_reason).filter(|word| !word.is_empty())?;
        Some(match word.escaped() {
            "function_call" => Text::from("tool_calls"),
            "max_tokens" => Text::from("length"),
            _ => word,
        })
    }
}

impl Said<'_> {
    pub(super) fn content(&self) -> Option<Text> {
        content(self.content)
    }

    pub(super) fn reasoning(&self) -> Option<Text> {
        text(self.reasoning_content).or_else(|| text(self.reasoning))
    }

    pub(super) fn tool_calls(&self) -> impl Iterator<Item = ToolCallDelta> {
        self.tool_calls.iter().flatten().flatten().map(|call| {
            let function = call.function.as_ref();
            ToolCallDelta {
                index: index(call.index),
                id: label(call.id),
                name: function.and_then(|function| text(function.name)),
                input: function.and_then(|function| arguments(function.arguments)),
            }
        })
    }
}
