use std::sync::Arc;

use serde_json::{Value, json};

use super::*;
use crate::{
    llm::{Fragments, Options, anthropic, options::Env},
    message::{MessageBuilder, ToolCall},
    text::{Json, Text},
};

fn config(more: &str) -> AnthropicConfig {
    let json = format!(r#"{{"model":"m","apiKey":"k","maxContextTokens":9{more}}}"#);
    anthropic::adapter(Options::parse(&json).unwrap(), Env(&|_| None)).unwrap()
}

fn cached() -> AnthropicConfig {
    config(r#","promptCache":true"#)
}

fn say(role: Role, text: &str) -> Message {
    MessageBuilder::new(role, Text::from(text)).build()
}

fn calling(text: &str, ids: &[&str]) -> Message {
    let calls = ids.iter().map(|id| ToolCall {
        id: Text::from(*id),
        name: Text::from("f"),
        input: Json::parse(r#"{"a":1}"#).unwrap(),
    });
    MessageBuilder::new(Role::Assistant, Text::from(text))
        .tool_calls(calls.collect())
        .build()
}

fn result(id: &str, text: &str) -> Message {
    MessageBuilder::new(Role::Tool, Text::from(text))
        .tool_call_id(Text::from(id))
        .build()
}

fn sent(config: &AnthropicConfig, messages: &[Message]) -> Value {
    let request = Request {
        messages: &messages.to_vec().into(),
        fragments: None,
        tools: &[],
        max_tokens: None,
        temperature: None,
    };
    serde_json::from_str(&body(config, request, false).to_text()).unwrap()
}

#[test]
fn the_fields_are_the_protocols() {
    let tools = [ToolSpec {
        name: Text::from("f"),
        description: Text::from("d"),
        input_schema: Json::parse("{}").unwrap(),
    }];
    let messages = [say(Role::User, "u")];
    let request = Request {
        messages: &messages.to_vec().into(),
        fragments: None,
        tools: &tools,
        max_tokens: None,
        temperature: Some(0.5),
    };
    let text = body(&config(""), request, true).to_text();
    assert_eq!(
        text,
        r#"{"model":"m","max_tokens":8192,"temperature":0.5,"tools":[{"name":"f","description":"d","input_schema":{}}],"messages":[{"role":"user","content":"u"}],"stream":true}"#
    );
    assert_eq!(
        sent(&config(r#","maxOutputTokens":5"#), &messages)["max_tokens"],
        5
    );
}

#[test]
fn system_messages_go_to_system_wherever_they_stand() {
    let messages = [
        say(Role::System, "a"),
        say(Role::User, "u"),
        say(Role::System, ""),
        say(Role::System, "b"),
        say(Role::System, "c"),
    ];
    let plain = sent(&config(""), &messages);
    assert_eq!(plain["system"], "a\n\nb\n\nc");
    assert_eq!(plain["messages"], json!([{"role": "user", "content": "u"}]));
    let mark = json!({"type": "ephemeral"});
    assert_eq!(
        sent(&cached(), &messages)["system"],
        json!([
            {"type": "text", "text": "a", "cache_control": mark},
            {"type": "text", "text": "b"},
            {"type": "text", "text": "c", "cache_control": mark},
        ])
    );
    assert_eq!(sent(&config(""), &messages[1..2]).get("system"), None);
}

#[test]
fn tool_results_share_a_message_with_what_the_user_says_next() {
    let failed = MessageBuilder::new(Role::Tool, Text::from("no"))
        .tool_call_id(Text::from("b"))
        .is_error(true)
        .build();
    let messages = [
        say(Role::User, "u"),
        calling("let me see", &["a", "b"]),
        result("a", ""),
        say(Role::System, "s"),
        failed,
        say(Role::Assistant, ""),
        say(Role::User, "and?"),
        calling("", &["c"]),
        result("c", "x"),
    ];
    assert_eq!(
        sent(&config(""), &messages)["messages"],
        json!([
            {"role": "user", "content": "u"},
            {"role": "assistant", "content": [
                {"type": "text", "text": "let me see"},
                {"type": "tool_use", "id": "a", "name": "f", "input": {"a": 1}},
                {"type": "tool_use", "id": "b", "name": "f", "input": {"a": 1}},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "a", "content": "(no output)"},
                {"type": "tool_result", "tool_use_id": "b", "content": "no", "is_error": true},
                {"type": "text", "text": "and?"},
            ]},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "f", "input": {"a": 1}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": "x"}]},
        ])
    );
}

#[test]
fn a_conversation_begins_with_the_user() {
    let messages = [say(Role::Assistant, "hi"), say(Role::User, "u")];
    let sent = sent(&config(""), &messages);
    assert_eq!(sent["messages"][0]["role"], "user");
    assert_ne!(sent["messages"][0]["content"], "");
    assert_eq!(
        sent["messages"][1]["content"],
        json!([{"type": "text", "text": "hi"}])
    );
    assert_eq!(sent["messages"].as_array().unwrap().len(), 3);
}

#[test]
fn blank_text_is_no_block() {
    let messages = [
        say(Role::User, "u"),
        say(Role::Assistant, " \n\t"),
        calling("\n", &["a"]),
        result("a", " \r\n"),
    ];
    let sent = sent(&config(""), &messages);
    assert_eq!(sent["messages"][1]["content"].as_array().unwrap().len(), 1);
    assert_eq!(sent["messages"][2]["content"][0]["content"], "(no output)");
}

#[test]
fn the_last_message_before_the_new_input_is_marked_for_the_cache() {
    let mark = json!({"type": "ephemeral"});
    let cases = [
        (vec![say(Role::User, "u")], None),
        (
            vec![
                say(Role::User, "u"),
                say(Role::Assistant, "a"),
                say(Role::User, "v"),
            ],
            Some((1, 0)),
        ),
        (
            vec![
                say(Role::User, "u"),
                calling("a", &["x", "y"]),
                result("x", "1"),
                result("y", "2"),
            ],
            Some((1, 2)),
        ),
        (
            vec![
                say(Role::User, "u"),
                calling("", &["x", "y"]),
                result("x", "1"),
                result("y", "2"),
                say(Role::Assistant, "a"),
                say(Role::User, "v"),
            ],
            Some((3, 0)),
        ),
        (
            vec![say(Role::User, "u"), say(Role::User, "v")],
            Some((0, 0)),
        ),
        (
            vec![say(Role::Assistant, "a"), say(Role::User, "v")],
            Some((1, 0)),
        ),
        (
            vec![
                calling("", &["x"]),
                result("x", "1"),
                say(Role::User, "t"),
                say(Role::User, "v"),
            ],
            Some((2, 1)),
        ),
    ];
    for (messages, marked) in cases {
        let body = sent(&cached(), &messages);
        let mut found = Vec::new();
        for (n, message) in body["messages"].as_array().unwrap().iter().enumerate() {
            for (m, block) in message["content"]
                .as_array()
                .into_iter()
                .flatten()
                .enumerate()
            {
                if let Some(control) = block.get("cache_control") {
                    assert_eq!(*control, mark);
                    found.push((n, m));
                }
            }
        }
        assert_eq!(found, marked.into_iter().collect::<Vec<_>>(), "{body}");
        assert!(
            !sent(&config(""), &messages)
                .to_string()
                .contains("cache_control")
        );
    }
}

/// What was said, of a kind that depends on the number.
fn varied(count: usize) -> Vec<Message> {
    let one = |n: usize| match n % 7 {
        0 => say(Role::System, "s"),
        1 => say(Role::User, &"\"日本\" ".repeat(n % 900)),
        2 => calling(&" ".repeat(n % 3), &["a", "b"]),
        3 => result("a", &"r".repeat(n % 300)),
        4 => result("b", ""),
        5 => say(Role::User, if n.is_multiple_of(2) { "" } else { "said" }),
        _ => say(Role::Assistant, "\n"),
    };
    (0..count).map(one).collect()
}

#[test]
fn a_long_body_is_written_in_pieces_and_as_long_as_was_said() {
    for count in [995, 996, 998, 999, 1_000] {
        let messages = varied(count);
        for config in [config(""), cached()] {
            let sent = sent(&config, &messages);
            let sent = sent["messages"].as_array().unwrap();
            let results = sent
                .iter()
                .filter(|turn| turn["content"][0]["type"] == "tool_result");
            assert!(results.count() >= 142);
            // An empty text cannot carry the mark.
            let marked = sent.iter().map(Value::to_string);
            let marked: Vec<usize> = marked
                .enumerate()
                .filter(|(_, turn)| turn.contains("cache_control"))
                .map(|(n, _)| n)
                .collect();
            let last = sent.len() - 2;
            let expected =
                Some(last).filter(|_| config.prompt_cache && sent[last]["content"] != "");
            assert_eq!(marked, Vec::from_iter(expected));
        }
    }
}

#[test]
fn a_growing_conversation_is_written_as_if_nothing_had_been_kept() {
    let kept = Arc::new(Fragments::default());
    let configs = [config(""), cached()];
    let mut history = varied(700);
    for round in 0..40_usize {
        history.extend(varied(9 + round));
        match round % 8 {
            3 => drop(history.drain(..round)),
            5 => history[round * 7] = result("a", "edited"),
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
            body(config, request, true).to_text()
        };
        assert_eq!(of(Some(&kept)), of(None), "{round}");
    }
}
