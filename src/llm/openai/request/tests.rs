use std::sync::Arc;

use serde_json::{Value, json};

use super::*;
use crate::{
    llm::{Fragments, Options, openai, options::Env},
    message::{MessageBuilder, ToolCall},
    text::Text,
};

fn config(more: &str) -> OpenAiConfig {
    let json =
        format!(r#"{{"model":"m","apiKey":"k","baseURL":"http://h","maxContextTokens":9{more}}}"#);
    openai::compatible(Options::parse(&json).unwrap(), Env(&|_| None)).unwrap()
}

fn gpt(model: &str, more: &str) -> OpenAiConfig {
    let json = format!(r#"{{"model":"{model}","apiKey":"k"{more}}}"#);
    openai::gpt(Options::parse(&json).unwrap(), Env(&|_| None)).unwrap()
}

fn say(role: Role, text: &str) -> MessageBuilder {
    MessageBuilder::new(role, Text::from(text))
}

fn text_of(config: &OpenAiConfig, messages: &[Message], mode: Mode) -> String {
    let request = Request {
        messages: &messages.to_vec().into(),
        fragments: None,
        tools: &[],
        max_tokens: None,
        temperature: None,
    };
    body(config, request, mode).to_text()
}

fn messages_of(config: &OpenAiConfig, messages: &[Message]) -> Value {
    let body: Value = serde_json::from_str(&text_of(config, messages, Mode::Whole)).unwrap();
    body["messages"].clone()
}

fn call(id: &str, name: &str, input: &str) -> ToolCall {
    ToolCall {
        id: Text::from(id),
        name: Text::from(name),
        input: Json::parse(input).unwrap(),
    }
}

#[test]
fn the_fields_come_in_the_documented_order() {
    let messages = [say(Role::User, "a\"b\n日").build()];
    let text = text_of(
        &config(r#","temperature":1"#),
        &messages,
        Mode::Stream { with_usage: true },
    );
    assert_eq!(
        text,
        r#"{"model":"m","max_tokens":4096,"temperature":1,"messages":[{"role":"user","content":"a\"b\n日"}],"stream_options":{"include_usage":true},"stream":true}"#
    );
    let text = text_of(&gpt("gpt-4o", ""), &messages, Mode::Whole);
    assert_eq!(
        text,
        r#"{"model":"gpt-4o","messages":[{"role":"user","content":"a\"b\n日"}],"stream":false}"#
    );
}

#[test]
fn limits_and_temperature_of_the_call_win() {
    let request = Request {
        messages: &Messages::default(),
        fragments: None,
        tools: &[],
        max_tokens: Some(7),
        temperature: Some(0.25),
    };
    let read = |config: &OpenAiConfig| -> Value {
        serde_json::from_str(&body(config, request, Mode::Whole).to_text()).unwrap()
    };
    let compatible = read(&config(r#","maxOutputTokens":5,"temperature":1"#));
    assert_eq!(
        (&compatible["max_tokens"], &compatible["temperature"]),
        (&json!(7), &json!(0.25))
    );
    let reasoning = read(&gpt("o3", r#","temperature":1"#));
    assert_eq!(reasoning["max_completion_tokens"], json!(7));
    assert_eq!(
        (reasoning.get("temperature"), reasoning.get("max_tokens")),
        (None, None)
    );
}

#[test]
fn consecutive_system_messages_become_one() {
    let messages = [
        say(Role::System, "a").build(),
        say(Role::System, "b\"").build(),
        say(Role::System, "").build(),
        say(Role::User, "u").build(),
        say(Role::System, "c").build(),
    ];
    assert_eq!(
        messages_of(&config(""), &messages),
        json!([
            {"role": "system", "content": "a\n\nb\"\n\n"},
            {"role": "user", "content": "u"},
            {"role": "system", "content": "c"},
        ])
    );
}

#[test]
fn tool_calls_and_their_answers_are_mapped() {
    let messages = [
        say(Role::Assistant, "")
            .tool_calls(vec![
                call("c\"1", "f", r#"{"a":"b\\\n"}"#.replace("\\n", "n").as_str()),
                call("c2", "g", "{}"),
            ])
            .reasoning_content(Some(Text::from("why")))
            .build(),
        say(Role::Tool, "out")
            .tool_call_id(Text::from("c\"1"))
            .is_error(true)
            .build(),
        say(Role::Assistant, "text")
            .tool_calls(vec![call("c3", "f", "{}")])
            .build(),
        say(Role::Assistant, "").build(),
    ];
    let sent = messages_of(&config(""), &messages);
    assert_eq!(
        sent[0],
        json!({"role": "assistant", "content": null, "tool_calls": [
            {"id": "c\"1", "type": "function", "function": {"name": "f", "arguments": r#"{"a":"b\\n"}"#}},
            {"id": "c2", "type": "function", "function": {"name": "g", "arguments": "{}"}},
        ]})
    );
    assert_eq!(
        sent[1],
        json!({"role": "tool", "tool_call_id": "c\"1", "content": "out"})
    );
    assert_eq!(sent[2]["content"], "text");
    assert_eq!(sent[3], json!({"role": "assistant", "content": ""}));
    let echoed = messages_of(&config(r#","echoReasoning":true"#), &messages);
    assert_eq!(echoed[0]["reasoning_content"], "why");
}

#[test]
fn tools_carry_their_schema_as_it_is() {
    let tools = [ToolSpec {
        name: Text::from("f"),
        description: Text::from("d"),
        input_schema: Json::parse(r#"{"__proto__":1,"x":1e400}"#).unwrap(),
    }];
    let request = Request {
        messages: &Messages::default(),
        fragments: None,
        tools: &tools,
        max_tokens: None,
        temperature: None,
    };
    let text = body(&config(""), request, Mode::Whole).to_text();
    assert!(text.contains(r#""tools":[{"type":"function","function":{"name":"f","description":"d","parameters":{"__proto__":1,"x":1e400}}}],"messages":[]"#), "{text}");
}

#[test]
fn extra_fields_replace_remove_and_follow() {
    let config = config(
        r#","extraBody":{"z":1,"model":"other","__proto__":{"a":2},"stream":false,"thinking":{"type":"off"}},"extraBodyWithout":["max_tokens","stream_options","absent"]"#,
    );
    let text = text_of(&config, &[], Mode::Stream { with_usage: true });
    assert_eq!(
        text,
        r#"{"model":"other","messages":[],"z":1,"__proto__":{"a":2},"thinking":{"type":"off"},"stream":true}"#
    );
}

#[test]
fn half_a_surrogate_pair_stays_an_escape() {
    let messages = [MessageBuilder::new(Role::User, Text::from_utf16(&[0xd83c, 0x61])).build()];
    let text = text_of(&config(""), &messages, Mode::Whole);
    assert!(text.contains(r#""content":"\ud83ca""#), "{text}");
}

/// What was said, of a kind that depends on the number: long and short, system messages in a row, tools.
fn varied(count: usize) -> Vec<Message> {
    let one = |n: usize| match n % 7 {
        0 | 1 => say(Role::System, &"s\n".repeat(n % 50)),
        2 => say(Role::User, &"\"日本\" ".repeat(n % 900)),
        3 => say(Role::Assistant, "").tool_calls(vec![call("c", "f", r#"{"a":"\"\n"}"#)]),
        4 => say(Role::Tool, &"r".repeat(n % 300)).tool_call_id(Text::from("c")),
        5 => say(Role::User, ""),
        _ => say(Role::Assistant, "a").reasoning_content(Some(Text::from("why\t"))),
    };
    (0..count).map(|n| one(n).build()).collect()
}

#[test]
fn a_long_body_is_written_in_pieces_and_as_long_as_was_said() {
    let messages = varied(1_000);
    let text = text_of(&config(r#","echoReasoning":true"#), &messages, Mode::Whole);
    assert!(text.len() > 4 * script::PIECE, "{}", text.len());
    let body: Value = serde_json::from_str(&text).unwrap();
    let sent = body["messages"].as_array().unwrap();
    let merged = messages.chunks(7).filter(|chunk| chunk.len() > 1).count();
    assert_eq!(sent.len(), messages.len() - merged);
    assert_eq!(sent[1]["content"], "\"日本\" ".repeat(2));
    assert_eq!(body["stream"], false);
}

#[test]
fn a_growing_conversation_is_written_as_if_nothing_had_been_kept() {
    let kept = Arc::new(Fragments::default());
    let configs = [config(""), config(r#","echoReasoning":true"#)];
    let mut history = varied(700);
    for round in 0..40_usize {
        history.extend(varied(9 + round));
        match round % 8 {
            3 => drop(history.drain(..round)),
            5 => history[round * 7] = say(Role::System, "edited").build(),
            6 => history.truncate(650),
            _ => {}
        }
        let messages: Messages = history.clone().into();
        let config = &configs[usize::from(round % 10 > 7)];
        let of = |fragments| {
            let request = Request {
                messages: &messages,
                fragments,
                tools: &[],
                max_tokens: None,
                temperature: None,
            };
            body(config, request, Mode::Whole).to_text()
        };
        assert_eq!(of(Some(&kept)), of(None), "{round}");
    }
}
