//! One message of a conversation, as it is stored, shown to JavaScript and sent to a provider.

mod builder;
#[cfg(test)]
mod tests;

use std::{
    borrow::Cow,
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

pub use self::builder::{MessageBuilder, push_tool_calls};
use crate::text::{Json, Output, Text, canonical, excerpt};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    System,
    User,
    Assistant,
    Tool,
}

impl Role {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Tool => "tool",
        }
    }

    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        [Self::System, Self::User, Self::Assistant, Self::Tool]
            .into_iter()
            .find(|role| role.as_str() == name)
    }
}

/// A tool the model asked for. `input` is a JSON object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    pub id: Text,
    pub name: Text,
    pub input: Json,
}

/// A message: its JSON text, whole, and where in it the parts lie that the core needs.
///
/// The text is what `JSON.stringify` wrote or what [`MessageBuilder`] wrote, so properties that this crate
/// does not know are kept, in their order. One allocation serves storage, request bodies and JavaScript.
pub struct Message {
    json: Arc<str>,
    role: Role,
    /// Whether the content is white space only.
    blank: bool,
    content: (u32, u32),
    tools: Option<Box<ToolPart>>,
    weight: AtomicU32,
}

#[derive(Debug, Clone, Default)]
struct ToolPart {
    calls: Vec<ToolCall>,
    answers: Option<Text>,
    is_error: bool,
    reasoning: Option<Text>,
}

impl Message {
    /// Reads a message from its JSON text; the error names the field that is wrong.
    pub fn parse(json: &str) -> Result<Self, InvalidMessage> {
        let fields: Fields<'_> = serde_json::from_str(json)
            .map_err(|error| InvalidMessage::new("message", &error.to_string()))?;
        let role = fields
            .role
            .and_then(|raw| Role::parse(raw.get().trim_matches('"')))
            .ok_or_else(|| {
                InvalidMessage::field(
                    "role",
                    "'system', 'user', 'assistant' or 'tool'",
                    fields.role,
                )
            })?;
        let content = fields
            .content
            .map(RawValue::get)
            .filter(|raw| raw.starts_with('"'))
            .and_then(|raw| span_inside(json, raw))
            .ok_or_else(|| InvalidMessage::field("content", "a string", fields.content))?;
        let calls = match given(fields.tool_calls) {
            None => Vec::new(),
            Some(raw) => serde_json::from_str::<Vec<ToolCall>>(raw.get()).map_err(|error| {
                InvalidMessage::new(
                    "toolCalls",
                    &format!("expected an array of {{ id, name, input }}: {error}"),
                )
            })?,
        };
        let answers = text_field("toolCallId", fields.tool_call_id)?;
        let reasoning = text_field("reasoningContent", fields.reasoning_content)?;
        let is_error = given(fields.is_error).is_some_and(|raw| raw.get() == "true");
        let part = ToolPart {
            calls,
            answers,
            is_error,
            reasoning,
        };
        let (json, content) = with_one_form(json, content);
        let inside = json.get(content.0 as usize..content.1 as usize);
        Ok(Self {
            blank: is_blank(inside.unwrap_or_default()),
            json,
            role,
            content,
            tools: part.boxed(),
            weight: AtomicU32::new(0),
        })
    }

    /// The whole message as JSON.
    #[must_use]
    pub fn json(&self) -> &str {
        &self.json
    }

    /// The same text, shared.
    #[must_use]
    pub fn shared_json(&self) -> &Arc<str> {
        &self.json
    }

    /// Whether both are one and the same stored text; cheap, and never true of different texts.
    #[must_use]
    pub fn same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.json, &other.json) || self.json == other.json
    }

    #[must_use]
    pub fn role(&self) -> Role {
        self.role
    }

    /// The content as the inside of its JSON literal (see [`Text::escaped`]).
    #[must_use]
    pub fn content_escaped(&self) -> &str {
        self.json
            .get(self.content.0 as usize..self.content.1 as usize)
            .unwrap_or_default()
    }

    /// How many bytes [`Self::content_escaped`] has; the text itself, which may lie anywhere in memory, is left alone.
    #[must_use]
    pub fn content_length(&self) -> usize {
        (self.content.1 - self.content.0) as usize
    }

    /// Whether the content is white space only.
    #[must_use]
    pub fn is_blank(&self) -> bool {
        self.blank
    }

    /// Appends [`Self::content_escaped`].
    pub fn push_content(&self, out: &mut impl Output) {
        out.push_known(self.content_length(), || self.content_escaped());
    }

    #[must_use]
    pub fn content(&self) -> Text {
        Text::from_escaped(self.content_escaped())
    }

    #[must_use]
    pub fn tool_calls(&self) -> &[ToolCall] {
        self.tools.as_ref().map_or(&[], |part| &part.calls)
    }

    /// The call that a `tool` message answers.
    #[must_use]
    pub fn tool_call_id(&self) -> Option<&Text> {
        self.tools.as_ref()?.answers.as_ref()
    }

    /// Whether a `tool` message reports a failure.
    #[must_use]
    pub fn is_error(&self) -> bool {
        self.tools.as_ref().is_some_and(|part| part.is_error)
    }

    #[must_use]
    pub fn reasoning_content(&self) -> Option<&Text> {
        self.tools.as_ref()?.reasoning.as_ref()
    }

    /// A measure of the message that is taken once, by `measure`, and kept with it: its token estimate.
    #[must_use]
    pub fn weight_with(&self, measure: impl FnOnce(&Self) -> u32) -> u32 {
        match self.weight.load(Ordering::Relaxed) {
            0 => {
                let weight = measure(self).max(1);
                self.weight.store(weight, Ordering::Relaxed);
                weight
            }
            weight => weight,
        }
    }
}

impl Clone for Message {
    fn clone(&self) -> Self {
        Self {
            json: self.json.clone(),
            role: self.role,
            blank: self.blank,
            content: self.content,
            tools: self.tools.clone(),
            weight: AtomicU32::new(self.weight.load(Ordering::Relaxed)),
        }
    }
}

impl fmt::Debug for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.json)
    }
}

impl PartialEq for Message {
    fn eq(&self, other: &Self) -> bool {
        self.same(other)
    }
}

impl Serialize for Message {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Json::from_trusted(&self.json).serialize(serializer)
    }
}

impl ToolPart {
    fn boxed(self) -> Option<Box<Self>> {
        let empty = self.calls.is_empty()
            && self.answers.is_none()
            && !self.is_error
            && self.reasoning.is_none();
        (!empty).then(|| Box::new(self))
    }
}

/// A message that does not have the documented shape.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {problem}")]
pub struct InvalidMessage {
    pub field: String,
    pub problem: String,
}

impl InvalidMessage {
    fn new(field: &str, problem: &str) -> Self {
        Self {
            field: field.to_owned(),
            problem: problem.to_owned(),
        }
    }

    fn field(field: &str, expected: &str, got: Option<&RawValue>) -> Self {
        let got = got.map_or_else(|| "nothing".to_owned(), |raw| excerpt(raw.get()));
        Self::new(field, &format!("expected {expected}, got {got}"))
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
struct Fields<'a> {
    role: Option<&'a RawValue>,
    content: Option<&'a RawValue>,
    tool_calls: Option<&'a RawValue>,
    tool_call_id: Option<&'a RawValue>,
    is_error: Option<&'a RawValue>,
    reasoning_content: Option<&'a RawValue>,
}

/// Whether an escaped text is white space only.
fn is_blank(escaped: &str) -> bool {
    let mut rest = escaped;
    loop {
        rest = rest.trim_start();
        match ["\\n", "\\t", "\\r"]
            .iter()
            .find_map(|white| rest.strip_prefix(white))
        {
            Some(after) => rest = after,
            None => return rest.is_empty(),
        }
    }
}

fn given(raw: Option<&RawValue>) -> Option<&RawValue> {
    raw.filter(|raw| raw.get() != "null")
}

fn text_field(name: &str, raw: Option<&RawValue>) -> Result<Option<Text>, InvalidMessage> {
    let read = |raw: &RawValue| {
        Text::from_json(raw.get()).ok_or_else(|| InvalidMessage::field(name, "a string", Some(raw)))
    };
    given(raw).map(read).transpose()
}

/// Where the inside of the literal `raw`, which is a part of `json`, lies in it.
fn span_inside(json: &str, raw: &str) -> Option<(u32, u32)> {
    let start = (raw.as_ptr() as usize).checked_sub(json.as_ptr() as usize)? + 1;
    Some((
        u32::try_from(start).ok()?,
        u32::try_from(start + raw.len() - 2).ok()?,
    ))
}

/// The message with its content as `JSON.stringify` writes it, which other hands need not have done: what looks for a
/// character in a content looks for its one form.
fn with_one_form(json: &str, content: (u32, u32)) -> (Arc<str>, (u32, u32)) {
    let range = content.0 as usize..content.1 as usize;
    let inside = json.get(range.clone()).unwrap_or_default();
    // The other escapes have one form only.
    let may_differ = inside.contains("\\u") || inside.contains("\\/");
    match may_differ.then(|| canonical(inside)).flatten() {
        Some(Cow::Owned(form)) => {
            let end = narrow(range.start + form.len());
            let mut json = json.to_owned();
            json.replace_range(range, &form);
            (json.into(), (content.0, end))
        }
        _ => (json.into(), content),
    }
}

fn narrow(position: usize) -> u32 {
    u32::try_from(position).unwrap_or(u32::MAX)
}
