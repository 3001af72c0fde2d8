use super::*;
use crate::{
    context::sample::{answered, called, said},
    error::Error,
};

/// Two open calls, `c1` (tool `t_c1`) and `c2`; before them a call that was answered and one that was superseded.
fn waiting() -> Vec<Message> {
    vec![
        said(Role::User, "hi"),
        called("", &["old"]),
        answered("old", "done"),
        called("", &["lost"]),
        said(Role::User, "go on"),
        called("", &["c1", "c2"]),
    ]
}

fn read(text: &str, history: &[Message]) -> Result<Reading> {
    read_text(&Text::from(text), history, true, None)
}

fn told(result: Result<impl std::fmt::Debug>) -> String {
    match result {
        Err(Error::ToolResults(message)) => message,
        other => panic!("expected a ToolResultsError, got {other:?}"),
    }
}

const BOTH: &str = r#"{"toolResults":[
    {"toolCallId":"c2","toolName":"t_c2","args":{},"success":true,"data":{"n": 1},"error":null},
    {"toolCallId":"c1","toolName":"t_c1","args":{},"success":false,"data":null,"error":"broke"}]}"#;

#[test]
fn results_become_tool_messages_in_the_given_order() {
    let expected = vec![
        answered("c2", "{\"n\":1}"),
        MessageBuilder::new(Role::Tool, Text::from("broke"))
            .tool_call_id(Text::from("c1"))
            .is_error(true)
            .build(),
    ];
    assert_eq!(
        read(BOTH, &waiting()).unwrap(),
        Reading::Results(expected.clone())
    );
    assert_eq!(
        read_object(BOTH, waiting().as_slice(), None).unwrap(),
        expected
    );
}

#[test]
fn a_given_time_is_kept_with_the_records() {
    let time = Text::from("2026-01-01T00:00:00.000Z");
    let messages = read_object(BOTH, waiting().as_slice(), Some(&time)).unwrap();
    assert!(
        messages
            .iter()
            .all(|message| message.json().contains("\"timestamp\":\"2026-"))
    );
}

#[test]
fn what_answers_no_stored_call_is_what_the_user_typed() {
    for text in [
        "hello",
        "toolResults",
        "{\"toolResults\":[]}",
        "{\"toolResults\":{}}",
        "{\"toolResults\":[1]}",
        "{\"toolResults\":[{}]}",
        "{\"toolResults\":[{\"toolName\":\"nothing\"}]}",
        "{\"toolResults\":[{\"toolCallId\":\"nothing\"}]}",
        "here: {\"toolResults\":[{\"toolCallId\":\"c1\"}]}",
        "[{\"toolResults\":[{\"toolCallId\":\"c1\"}]}]",
    ] {
        assert_eq!(read(text, &waiting()).unwrap(), Reading::UserText, "{text}");
    }
    assert_eq!(read(BOTH, &[]).unwrap(), Reading::UserText);
}

#[test]
fn calls_answered_or_superseded_cannot_be_answered_again() {
    for id in ["old", "lost"] {
        let text = format!("{{\"toolResults\":[{{\"toolCallId\":\"{id}\",\"success\":true}}]}}");
        let message = told(read(&text, &waiting()));
        assert!(
            message.contains(&format!("no longer open: {id}")),
            "{message}"
        );
    }
    let by_name = r#"{"toolResults":[{"toolName":"t_old"}]}"#;
    told(read(by_name, &waiting()));
}

#[test]
fn every_fault_is_listed() {
    let text = r#"{"toolResults":[{"toolCallId":"c1"},{"toolCallId":"c1"},{"toolCallId":"old"},{"toolCallId":"new"},{"toolName":"t"},{}]}"#;
    let expected = "tool results do not answer the open calls (no longer open: old; \
        unknown: new, (no id, tool t), (no id, no tool name); given more than once: c1; left unanswered: c2)";
    assert_eq!(told(read(text, &waiting())), expected);
    assert_eq!(
        told(read_object(text, waiting().as_slice(), None)),
        expected
    );
}

#[test]
fn a_result_without_an_id_goes_by_the_name_of_its_tool_in_order() {
    let history = [called("", &["a", "b", "c"])];
    let named: Vec<Message> = history
        .iter()
        .map(|message| {
            Message::parse(&message.json().replace("t_a", "t").replace("t_c", "t")).unwrap()
        })
        .collect();
    let text = r#"{"toolResults":[{"toolCallId":null,"toolName":"t","success":1,"data":"1"},{"toolCallId":7,"toolName":"t","success":1,"data":"2"},{"toolCallId":"b","success":1,"data":"3"}]}"#;
    let expected = vec![answered("a", "1"), answered("c", "2"), answered("b", "3")];
    assert_eq!(read(text, &named).unwrap(), Reading::Results(expected));
}

#[test]
fn an_id_comes_before_a_name() {
    let history = [Message::parse(&called("", &["a", "b"]).json().replace("t_b", "t_a")).unwrap()];
    let text = r#"{"toolResults":[{"toolName":"t_a","success":1,"data":"1"},{"toolCallId":"a","success":1,"data":"2"}]}"#;
    let expected = vec![answered("b", "1"), answered("a", "2")];
    assert_eq!(read(text, &history).unwrap(), Reading::Results(expected));
}

#[test]
fn calls_that_were_partly_answered_wait_for_the_rest() {
    let mut history = waiting();
    history.push(answered("c2", "ok"));
    let rest = r#"{"toolResults":[{"toolCallId":"c1","success":true}]}"#;
    assert_eq!(
        read(rest, &history).unwrap(),
        Reading::Results(vec![answered("c1", "")])
    );
    assert!(told(read(BOTH, &history)).contains("no longer open: c2"));
}

#[test]
fn a_part_of_the_history_is_not_enough_to_take_results_for_text() {
    let text = Text::from(r#"{"toolResults":[{"toolCallId":"older"}]}"#);
    let history = waiting();
    let reading = |complete| read_text(&text, history.as_slice(), complete, None).unwrap();
    assert_eq!(reading(false), Reading::NeedsOlder);
    assert_eq!(reading(true), Reading::UserText);
    let typed = Text::from("hello");
    assert_eq!(
        read_text(&typed, history.as_slice(), false, None).unwrap(),
        Reading::UserText
    );
}

#[test]
fn an_object_is_always_results() {
    let history = waiting();
    let read = |json| read_object(json, history.as_slice(), None);
    for json in [
        "{\"toolResults\":[]}",
        "{\"toolResults\":7}",
        "{}",
        "{\"toolResults\":[null]}",
    ] {
        let problem = read(json).unwrap_err();
        assert!(
            matches!(&problem, Error::InvalidArgument(message) if message.starts_with("toolResults")),
            "{problem}"
        );
    }
    told(read("{\"toolResults\":[{\"toolCallId\":\"nothing\"}]}"));
    told(read_object("{\"toolResults\":[{}]}", [].as_slice(), None));
}

#[test]
fn a_flood_of_ids_is_told_in_short() {
    let ids: Vec<String> = (0..5_000)
        .map(|n| format!("{{\"toolCallId\":\"x{n}\"}}"))
        .collect();
    let json = format!("{{\"toolResults\":[{}]}}", ids.join(","));
    let message = told(read_object(&json, waiting().as_slice(), None));
    assert!(
        message.contains("and 4980 more") && message.len() < 1_000,
        "{message}"
    );
}
