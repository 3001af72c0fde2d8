use super::*;

#[test]
fn a_message_keeps_what_it_does_not_know() {
    let json = r#"{"x":{"__proto__":1},"role":"assistant","content":"a\"é","toolCalls":[{"id":"c","name":"f","input":{"n":1e400}}],"reasoningContent":"r"}"#;
    let message = Message::parse(json).unwrap();
    assert_eq!(message.json(), json);
    assert_eq!(message.role(), Role::Assistant);
    assert_eq!(message.content(), Text::from("a\"é"));
    assert_eq!(&*message.tool_calls()[0].input, r#"{"n":1e400}"#);
    assert_eq!(message.reasoning_content(), Some(&Text::from("r")));
}

#[test]
fn a_content_of_other_hands_is_read_in_its_one_form() {
    let json = r#"{"role":"user","content":"\u003c\/a\u003e \uD83C\uDF89\uD83C","x":"\u003c"}"#;
    let message = Message::parse(json).unwrap();
    assert_eq!(message.content(), Text::from_escaped("</a> 🎉\\ud83c"));
    assert_eq!(
        message.json(),
        r#"{"role":"user","content":"</a> 🎉\ud83c","x":"\u003c"}"#
    );
}

#[test]
fn a_built_message_reads_back_as_itself() {
    let built = MessageBuilder::new(Role::Tool, Text::from("x\ny"))
        .tool_call_id(Text::from("c1"))
        .is_error(true)
        .timestamp(Text::from("2026-01-01T00:00:00.000Z"))
        .build();
    let read = Message::parse(built.json()).unwrap();
    assert_eq!((read.role(), read.content()), (Role::Tool, built.content()));
    assert_eq!(read.tool_call_id(), built.tool_call_id());
    assert!(read.is_error());
}

#[test]
fn a_wrong_message_is_refused_by_the_name_of_its_field() {
    for (json, field) in [
        (r#"{"content":""}"#, "role"),
        (r#"{"role":"bot","content":""}"#, "role"),
        (r#"{"role":"user","content":null}"#, "content"),
        (r#"{"role":"user"}"#, "content"),
        (
            r#"{"role":"tool","content":"","toolCallId":7}"#,
            "toolCallId",
        ),
        (
            r#"{"role":"assistant","content":"","toolCalls":[{"name":"f","input":{}}]}"#,
            "toolCalls",
        ),
        ("[]", "message"),
    ] {
        assert_eq!(Message::parse(json).unwrap_err().field, field, "{json}");
    }
}
