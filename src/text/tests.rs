use super::*;

#[test]
fn a_text_is_written_as_json_stringify_writes_it() {
    let cases: [(&[u16], &str); 5] = [
        (&[0x61, 0x22, 0x5c, 0x0a, 0x00], "a\\\"\\\\\\n\\u0000"),
        (&[0xd83c, 0xdf89], "🎉"),
        (&[0xdf89, 0xd83c, 0x61], "\\udf89\\ud83ca"),
        (&[0x7f, 0x2028, 0x2f], "\u{7f}\u{2028}/"),
        (&[], ""),
    ];
    for (units, escaped) in cases {
        let text = Text::from_utf16(units);
        assert_eq!(text.escaped(), escaped);
        assert_eq!(text.to_utf16(), units);
    }
}

#[test]
fn a_foreign_literal_becomes_the_canonical_one() {
    let read = |literal| Text::from_json(literal).map(|text| text.escaped().to_owned());
    assert_eq!(
        read(r#""\u65e5\/\u000a\uD83C\uDF89""#),
        Some("日/\\n🎉".into())
    );
    assert_eq!(read(r#""\uD83Cx""#), Some("\\ud83cx".into()));
    assert_eq!(read(r#""\x""#), None);
    assert_eq!(read("null"), None);
}

#[test]
fn a_pair_cut_between_two_pieces_is_one_character_again() {
    let mut builder = TextBuilder::default();
    builder.push(&Text::from_utf16(&[0x61, 0xd83c]));
    builder.push(&Text::from_utf16(&[0xdf89, 0x62]));
    assert_eq!(builder.finish(), Text::from("a🎉b"));
}

#[test]
fn a_text_of_backslashes_is_joined_in_one_pass() {
    let mut builder = TextBuilder::default();
    let piece = Text::from("\\\\\\");
    for _ in 0..300_000 {
        builder.push(&piece);
    }
    assert_eq!(builder.finish().to_utf16().len(), 900_000);
}

#[test]
fn a_string_of_json_is_read_as_a_document() {
    let text = Text::from_utf16(&[0x22, 0xd83c, 0x5c, 0x6e, 0x22]);
    assert_eq!(text.to_json_source(), r#""\ud83c\n""#);
}

#[test]
fn an_escaped_backslash_before_a_lone_looking_text_is_left_alone() {
    let mut builder = TextBuilder::default();
    builder.push(&Text::from("\\ud83c"));
    builder.push(&Text::from_utf16(&[0xdf89]));
    assert_eq!(
        builder.finish().to_utf16(),
        [Text::from("\\ud83c").to_utf16(), vec![0xdf89]].concat()
    );
}

proptest::proptest! {
    #[test]
    fn any_utf16_survives(units: Vec<u16>) {
        let text = Text::from_utf16(&units);
        proptest::prop_assert_eq!(text.to_utf16(), units);
        let mut escaped = String::new();
        push_escaped(&text.to_plain(), &mut escaped);
        proptest::prop_assert_eq!(Text::from_escaped(&escaped), Text::from(text.to_plain()));
        let literal = format!("\"{}\"", text.escaped());
        proptest::prop_assert_eq!(Text::from_json(&literal), Some(text));
    }
}
