//! What holds of any text and any JSON that crosses.

#![expect(
    clippy::unwrap_used,
    clippy::missing_panics_doc,
    reason = "a property fails by panicking"
)]

use serde_json::Value;

use super::{Json, Text, TextBuilder, push_escaped};
use crate::{
    choices::Choices,
    message::{Message, MessageBuilder, Role, ToolCall},
    meta::{SessionMeta, TopologyNode},
};

/// A text is kept as `JSON.stringify` writes it, and is the same string in every form.
pub fn strings(data: &[u8]) {
    let mut choices = Choices::new(data);
    let pieces: Vec<Vec<u16>> =
        std::iter::from_fn(|| (!choices.is_over()).then(|| choices.units())).collect();
    let whole = pieces.concat();
    let text = Text::from_utf16(&whole);
    assert_eq!(text.to_utf16(), whole);
    check(&text);
    let mut joined = TextBuilder::default();
    for piece in &pieces {
        joined.push(&Text::from_utf16(piece));
    }
    assert_eq!(joined.finish(), text, "joined from {pieces:?}");
    let plain = String::from_utf16_lossy(&whole);
    assert_eq!(text.to_plain(), plain);
    let mut escaped = String::new();
    push_escaped(&plain, &mut escaped);
    assert_eq!(escaped, Text::from(plain.as_str()).escaped());
    assert_eq!(
        serde_json::to_string(&plain).unwrap(),
        format!("\"{escaped}\"")
    );
}

/// A text that came from anywhere is in the one form that each string has.
pub fn check(text: &Text) {
    let mut literal = String::new();
    text.push_json(&mut literal);
    assert_eq!(Text::from_json(&literal).as_ref(), Some(text));
    assert_eq!(&Text::from_utf16(&text.to_utf16()), text);
    assert_eq!(&serde_json::from_str::<Text>(&literal).unwrap(), text);
}

/// JSON of anybody is refused, or read as what it says and written back as it was.
pub fn json(data: &[u8]) {
    let source = String::from_utf8_lossy(data);
    literal(&source);
    if let Ok(json) = Json::parse(&source) {
        assert_eq!(serde_json::to_string(&json).unwrap(), *json);
        assert_eq!(
            json.is_object(),
            serde_json::from_str::<Value>(&json)
                .map_or(json.is_object(), |value| value.is_object())
        );
    }
    if let Ok(message) = Message::parse(&source) {
        self::message(&message, &source);
    }
    if let Ok(meta) = serde_json::from_str::<SessionMeta>(&source) {
        for text in [&meta.id, &meta.label, &meta.created_at, &meta.updated_at]
            .into_iter()
            .chain(&meta.tags)
        {
            check(text);
        }
        let written = serde_json::to_string(&meta).unwrap();
        assert_eq!(serde_json::from_str::<SessionMeta>(&written).unwrap(), meta);
    }
    if let Ok(node) = serde_json::from_str::<TopologyNode>(&source) {
        let written = serde_json::to_string(&node).unwrap();
        assert_eq!(
            serde_json::from_str::<TopologyNode>(&written).unwrap(),
            node
        );
    }
}

fn literal(source: &str) {
    let Ok(raw) = serde_json::from_str::<&serde_json::value::RawValue>(source) else {
        return;
    };
    if let Some(text) = Text::from_json(raw.get()) {
        check(&text);
        // Halves of surrogate pairs are what serde_json cannot read.
        if let Ok(plain) = serde_json::from_str::<String>(source) {
            assert_eq!(text, Text::from(plain));
        }
    } else {
        assert!(!raw.get().starts_with('"'), "{source}");
    }
}

/// A message reads back as itself, and its parts are what its JSON says.
pub fn message(message: &Message, source: &str) {
    assert_eq!(
        Message::parse(message.json()).unwrap().json(),
        message.json()
    );
    check(&message.content());
    for text in message
        .tool_call_id()
        .into_iter()
        .chain(message.reasoning_content())
    {
        check(text);
    }
    if let (Ok(Value::Object(given)), Ok(kept)) = (
        serde_json::from_str(source),
        serde_json::from_str::<Value>(message.json()),
    ) {
        assert_eq!(Value::Object(given), kept);
        assert_eq!(
            kept.get("content").and_then(Value::as_str),
            Some(message.content().to_plain().as_str())
        );
    }
    let built = MessageBuilder::new(message.role(), message.content())
        .tool_calls(message.tool_calls().to_vec())
        .reasoning_content(message.reasoning_content().cloned())
        .is_error(message.is_error());
    let built = match message.tool_call_id() {
        Some(id) => built.tool_call_id(id.clone()).build(),
        None => built.build(),
    };
    let read = Message::parse(built.json()).unwrap();
    let parts = |message: &Message| {
        let calls: Vec<ToolCall> = message.tool_calls().to_vec();
        (
            message.role(),
            message.content(),
            calls,
            message.tool_call_id().cloned(),
            message.is_error(),
            message.reasoning_content().cloned(),
        )
    };
    assert_eq!(parts(&read), parts(message));
    assert_eq!(parts(&built), parts(message));
    assert!(Role::parse(message.role().as_str()).is_some());
}

#[cfg(test)]
mod tests {
    #[test]
    fn any_string_keeps_its_one_form() {
        crate::choices::hold("strings", super::strings);
    }

    #[test]
    fn any_json_is_refused_or_kept() {
        crate::choices::hold("json", super::json);
    }
}
