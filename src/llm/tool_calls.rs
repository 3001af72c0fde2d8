//! From fragments to whole tool calls: the one place where pieces of an answer are put together.

mod arguments;

use std::collections::{HashMap, HashSet};

use serde_json::value::RawValue;

use self::arguments::Arguments;
use super::{Chunk, Completion, ToolCallDelta, Usage};
use crate::{
    error::{LlmCode, LlmError},
    message::ToolCall,
    meta::empty_object,
    text::{Json, Text, TextBuilder},
};

/// Joins the pieces of one answer, native or from JavaScript, streamed or whole.
///
/// The id of a call that came without one is the empty text; making ids unique is the session's business.
#[derive(Debug)]
pub struct Joiner {
    provider: &'static str,
    content: TextBuilder,
    reasoning: Option<TextBuilder>,
    calls: Vec<Call>,
    /// Which call an index stands for now; an index may come to stand for another one.
    open: HashMap<u32, usize>,
    /// The index under which a call is told on, by the index given away.
    given_out: HashSet<u32>,
    /// No index under this one is free.
    next_free: u32,
    by_id: HashMap<Text, usize>,
    usage: Option<Usage>,
    finish_reason: Option<Text>,
}

#[derive(Debug, Default)]
struct Call {
    id: Text,
    name: Text,
    arguments: Arguments,
    /// What its fragments are told apart by where they are passed on.
    index: u32,
}

impl Joiner {
    /// `provider` is what an error of [`Self::finish`] names as its source.
    #[must_use]
    pub fn new(provider: &'static str) -> Self {
        Self {
            provider,
            content: TextBuilder::default(),
            reasoning: None,
            calls: Vec::new(),
            open: HashMap::new(),
            given_out: HashSet::new(),
            next_free: 0,
            by_id: HashMap::new(),
            usage: None,
            finish_reason: None,
        }
    }

    pub fn push(&mut self, chunk: &Chunk) {
        for delta in &chunk.tool_call_deltas {
            self.push_call(delta);
        }
        self.push_rest(chunk);
    }

    /// Pushes `chunk` and gives each fragment the index of its call: servers leave it out, or use one for two calls.
    pub fn push_and_number(&mut self, chunk: &mut Chunk) {
        for delta in &mut chunk.tool_call_deltas {
            let at = self.push_call(delta);
            delta.index = self.calls.get(at).map(|call| call.index);
        }
        self.push_rest(chunk);
    }

    fn push_rest(&mut self, chunk: &Chunk) {
        self.content.push(&chunk.delta);
        if let Some(reasoning) = &chunk.reasoning_delta {
            self.reasoning.get_or_insert_default().push(reasoning);
        }
        if chunk.usage.is_some() {
            self.usage = chunk.usage;
        }
        if chunk.finish_reason.is_some() {
            self.finish_reason.clone_from(&chunk.finish_reason);
        }
    }

    /// The whole answer. Its content is `''` where no text came.
    ///
    /// Fails with `invalid_tool_arguments` where arguments are not a JSON object, with `output_truncated` where they
    /// were cut by the output limit, with `invalid_response` where a call has no name.
    pub fn finish(self) -> Result<Completion, LlmError> {
        let cut = self
            .finish_reason
            .as_ref()
            .is_some_and(|reason| reason.escaped() == "length");
        let provider = self.provider;
        let tool_calls = self
            .calls
            .into_iter()
            .filter(|call| !call.is_nothing())
            .map(|call| call.finish(cut))
            .collect::<Result<_, _>>()
            .map_err(|error| LlmError { provider, ..error })?;
        Ok(Completion {
            content: Some(self.content.finish()),
            tool_calls,
            usage: self.usage,
            finish_reason: self.finish_reason,
            reasoning_content: self.reasoning.map(TextBuilder::finish),
        })
    }

    /// Says which call the fragment went to.
    fn push_call(&mut self, delta: &ToolCallDelta) -> usize {
        let given = |text: &Option<Text>| text.clone().filter(|text| !text.is_empty());
        let (id, name) = (given(&delta.id), given(&delta.name));
        let at = if let Some(at) = self.position(delta, id.as_ref(), name.as_ref()) {
            at
        } else {
            let index = self.give_out(delta.index);
            self.calls.push(Call {
                index,
                ..Call::default()
            });
            self.calls.len() - 1
        };
        if let Some(index) = delta.index {
            self.open.insert(index, at);
        }
        let Some(call) = self.calls.get_mut(at) else {
            return at;
        };
        if let Some(id) = id.filter(|_| call.id.is_empty()) {
            self.by_id.insert(id.clone(), at);
            call.id = id;
        }
        if let Some(name) = name.filter(|_| call.name.is_empty()) {
            call.name = name;
        }
        if let Some(input) = delta.input.as_ref().filter(|input| !input.is_empty()) {
            call.arguments.push(input);
        }
        at
    }

    /// The index of a new call: what the server says, if no other call has it.
    fn give_out(&mut self, said: Option<u32>) -> u32 {
        let free = said
            .filter(|said| !self.given_out.contains(said))
            .unwrap_or_else(|| {
                while self.next_free < u32::MAX && self.given_out.contains(&self.next_free) {
                    self.next_free += 1;
                }
                self.next_free
            });
        self.given_out.insert(free);
        free
    }

    /// Which call a fragment belongs to; `None` begins a new one.
    fn position(
        &self,
        delta: &ToolCallDelta,
        id: Option<&Text>,
        name: Option<&Text>,
    ) -> Option<usize> {
        let by_id = |id: &Text| self.by_id.get(id).copied();
        let current = match delta.index {
            Some(index) => *self.open.get(&index)?,
            None if id.is_some() => return id.and_then(by_id),
            None => self.calls.len().checked_sub(1)?,
        };
        let call = self.calls.get(current)?;
        match id {
            Some(id) if call.id == *id => Some(current),
            // The index was reused: the id says whose fragment it is. A new id without a name is some
            // server's fresh number for every fragment.
            Some(id) if !call.id.is_empty() => {
                by_id(id).or_else(|| name.is_none().then_some(current))
            }
            _ if name.is_some_and(|name| call.begins_anew(name, delta.input.as_ref())) => None,
            _ => Some(current),
        }
    }
}

impl Call {
    /// Whether a named fragment that no id ties to this call is another call.
    fn begins_anew(&self, name: &Text, input: Option<&Text>) -> bool {
        if self.name.is_empty() {
            return false;
        }
        let opens = || input.is_none_or(|input| input.escaped().trim_start().starts_with('{'));
        self.name != *name || opens() && self.arguments.are_complete()
    }

    /// A fragment that said nothing at all made no call.
    fn is_nothing(&self) -> bool {
        self.id.is_empty() && self.name.is_empty() && self.arguments.is_empty()
    }

    fn finish(self, cut: bool) -> Result<ToolCall, LlmError> {
        if self.name.is_empty() {
            return Err(LlmError {
                message: "the model called a tool without a name".to_owned(),
                code: LlmCode::InvalidResponse.into(),
                ..LlmError::default()
            });
        }
        let source = self.arguments.finish().to_json_source();
        let input = match source.trim() {
            "" | "null" => empty_object(),
            source => match serde_json::from_str::<&RawValue>(source) {
                Ok(raw) if raw.get().starts_with('{') && depth(raw.get()) <= DEEPEST => {
                    Json::from_trusted(raw.get())
                }
                _ => return Err(wrong_arguments(&self.name, cut)),
            },
        };
        Ok(ToolCall {
            id: self.id,
            name: self.name,
            input,
        })
    }
}

/// JavaScript's own `JSON.stringify` gives up at a few thousand levels, and what nobody can read must not be stored.
const DEEPEST: usize = 512;

/// How deeply objects and arrays of a JSON text are nested in one another.
fn depth(json: &str) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    let (mut quoted, mut escaped) = (false, false);
    for byte in json.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b'{' | b'[' if !quoted => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' if !quoted => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// The arguments themselves stay out of the message: they are the conversation's.
fn wrong_arguments(name: &Text, cut: bool) -> LlmError {
    let (code, message) = if cut {
        (
            LlmCode::OutputTruncated,
            format!(
                "the arguments of tool \"{name}\" were cut off at the output limit; raise maxOutputTokens"
            ),
        )
    } else {
        (
            LlmCode::InvalidToolArguments,
            format!(
                "the arguments of tool \"{name}\" are not a JSON object of at most {DEEPEST} levels"
            ),
        )
    };
    LlmError {
        message,
        code: code.into(),
        // Another try may choose other words, but not more of them.
        retryable: !cut,
        ..LlmError::default()
    }
}

#[cfg(test)]
mod tests;
