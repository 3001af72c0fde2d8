use proptest::prelude::*;

use super::*;
use crate::{
    context::sample::{called, said},
    message::{MessageBuilder, Role, ToolCall},
    text::Json,
};

fn weight(text: &str) -> u32 {
    weigh_text(&Text::from(text))
}

#[test]
fn each_script_has_its_rate() {
    let prose = "the committee reviewed the figures and asked for more ".repeat(4);
    for (text, tokens) in [
        (prose.as_str(), 54),
        (&"委员会审阅了数据".repeat(5), 40),
        (&"ひらがなカタカナ".repeat(5), 40),
        (&"한국어문장입니다".repeat(5), 40),
        ("🎉🎉🎉", 6),
        ("дом дом дом ", 6), // 9 letters at a half, 3 blanks at a quarter
        ("1234567890", 6),
        ("1 2 3 4 ", 5),
        ("{[()]};:", 4),
        ("\n\n\n\n", 2),
        ("\u{0}\u{1}", 2),
        ("", 0),
    ] {
        assert_eq!(weight(text), tokens, "{text}");
    }
}

#[test]
fn long_unbroken_runs_are_dense_and_words_are_not() {
    let base64 = "Zm9vYmFyYmF6cXV4MTIzNDU2Nzg5MGFiY2RlZmdoaWprbG1ub3BxcnN0dXZ3eHl6";
    assert!(weight(base64) > 40, "{}", weight(base64));
    let hash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    assert!(weight(hash) > 40, "{}", weight(hash));
    assert_eq!(weight("getElementById"), 4);
    assert_eq!(weight("createOpenAICompatibleAdapter"), 8);
    assert_eq!(weight(&"x".repeat(400)), 101);
    let letters = "qwertyuiopasdfghjklzxcvbnm".repeat(3);
    assert_eq!(weight(&letters), 56);
}

#[test]
fn an_escape_is_one_character() {
    let text = Text::from("a\"b\\c\n\u{0}");
    assert_eq!(text.escaped(), "a\\\"b\\\\c\\n\\u0000");
    assert_eq!(weigh_text(&text), weigh_units(&text.to_utf16()));
    assert_eq!(weigh_text(&Text::from_utf16(&[0xd83c])), 1);
    // sent as it stands, a JSON text has its escapes in full
    assert!(weigh_json("\"\\n\\n\\n\\n\"") > weight("\n\n\n\n"));
}

#[test]
fn calls_and_their_arguments_count() {
    let bare = said(Role::Assistant, "hello");
    assert_eq!(weigh(&bare), 2 + MESSAGE_TOKENS);
    let small = weigh(&called("hello", &["c1"]));
    assert!(small > weigh(&bare) + CALL_TOKENS);
    let call = ToolCall {
        id: Text::from("c1"),
        name: Text::from("t_c1"),
        input: Json::from_trusted(&format!("{{\"text\":\"{}\"}}", "word ".repeat(400))),
    };
    let large = MessageBuilder::new(Role::Assistant, Text::from("hello"))
        .tool_calls(vec![call])
        .build();
    assert!(weigh(&large) >= small + 500);
}

#[test]
fn tools_are_told_apart_by_their_text() {
    let one = weigh_tools(r#"[{"name":"a"}]"#);
    let other = weigh_tools(r#"[{"name":"b"}]"#);
    assert_eq!(one.tokens, other.tokens);
    assert_ne!(one.key, other.key);
    assert_eq!(weigh_tools("[]"), ToolsWeight::default());
    assert_eq!(weigh_tools(""), ToolsWeight::default());
}

/// Text of every kind, long enough for runs and blocks.
fn any_text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        "[a-z]{1,12} ",
        "[A-Za-z0-9]{1,80}",
        "[0-9a-f]{1,40}",
        "[ \t\n]{1,8}",
        "[!-/]{1,4}",
        "[一-龥ぁ-んァ-ヶ가-힣]{1,10}",
        "[а-я]{1,10} ",
        "(🎉|👩‍👩‍👧|☀️|𠀀)",
        "[\u{0}-\u{1f}\"\\\\]{1,3}",
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn an_estimate_is_never_under_a_quarter_of_the_length_nor_over_the_bound(text in any_text()) {
        let message = said(Role::User, &text);
        let length = u32::try_from(text.encode_utf16().count()).unwrap();
        prop_assert!(weigh(&message) >= length.div_ceil(4));
        prop_assert!(weigh(&message) <= upper_bound(length));
    }

    #[test]
    fn both_forms_of_a_string_weigh_the_same(text in any_text(), units: Vec<u16>) {
        let text = Text::from(text);
        prop_assert_eq!(weigh_text(&text), weigh_units(&text.to_utf16()));
        prop_assert_eq!(weigh_text(&Text::from_utf16(&units)), weigh_units(&units));
    }

    #[test]
    fn blocks_change_nothing(text in any_text()) {
        prop_assert_eq!(script::plain(&text), script::plain_without_blocks(&text));
    }
}
