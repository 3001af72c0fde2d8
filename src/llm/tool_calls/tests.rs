use super::*;

type Fragment<'a> = (
    Option<u32>,
    Option<&'a str>,
    Option<&'a str>,
    Option<&'a str>,
);

fn join(
    fragments: &[Fragment<'_>],
    finish: &str,
) -> Result<Vec<(String, String, String)>, LlmError> {
    let mut joiner = Joiner::new("openai");
    for (index, id, name, input) in fragments {
        joiner.push(&Chunk {
            tool_call_deltas: vec![ToolCallDelta {
                index: *index,
                id: id.map(Text::from),
                name: name.map(Text::from),
                input: input.map(Text::from),
            }],
            ..Chunk::default()
        });
    }
    joiner.push(&Chunk {
        finish_reason: Some(Text::from(finish)),
        ..Chunk::default()
    });
    let calls = joiner.finish()?.tool_calls;
    Ok(calls
        .iter()
        .map(|call| {
            (
                call.id.to_plain(),
                call.name.to_plain(),
                call.input.to_string(),
            )
        })
        .collect())
}

#[track_caller]
fn check(fragments: &[Fragment<'_>], expected: &[(&str, &str, &str)]) {
    let calls = join(fragments, "tool_calls").unwrap();
    let calls: Vec<_> = calls
        .iter()
        .map(|(id, name, input)| (id.as_str(), name.as_str(), input.as_str()))
        .collect();
    assert_eq!(calls, expected);
}

#[test]
fn interleaved_fragments_are_joined_by_index() {
    check(
        &[
            (Some(0), Some("a"), Some("f"), Some("")),
            (Some(1), Some("b"), Some("g"), Some("")),
            (Some(0), None, None, Some(r#"{"a""#)),
            (Some(1), None, None, Some(r#"{"b":2}"#)),
            (Some(0), None, None, Some(":1}")),
        ],
        &[("a", "f", r#"{"a":1}"#), ("b", "g", r#"{"b":2}"#)],
    );
}

#[test]
fn fragments_without_an_index_are_joined_by_id_else_to_the_last_call() {
    check(
        &[
            (None, Some("a"), Some("f"), Some("{")),
            (None, Some("b"), Some("g"), Some("{")),
            (None, Some("a"), None, Some(r#""x":1}"#)),
            (None, None, None, Some("}")),
        ],
        &[("a", "f", r#"{"x":1}"#), ("b", "g", "{}")],
    );
}

#[test]
fn a_reused_index_with_another_id_and_a_name_is_another_call() {
    check(
        &[
            (Some(0), Some("a"), Some("f"), Some("{")),
            (Some(0), Some("b"), Some("f"), Some("{")),
            (Some(0), Some("a"), Some("f"), Some("}")),
            (Some(0), Some("b"), None, Some(r#""y":2}"#)),
        ],
        &[("a", "f", "{}"), ("b", "f", r#"{"y":2}"#)],
    );
}

#[test]
fn a_repeated_id_with_an_empty_name_is_the_same_call() {
    check(
        &[
            (Some(0), Some("a"), Some("f"), Some("{")),
            (Some(0), Some("a"), Some(""), Some(r#""a":"#)),
            (Some(0), Some(""), None, Some("1}")),
        ],
        &[("a", "f", r#"{"a":1}"#)],
    );
}

#[test]
fn a_fresh_id_in_every_fragment_is_the_same_call() {
    check(
        &[
            (Some(0), Some("a"), Some("f"), Some("{")),
            (Some(0), Some("b"), None, Some("}")),
        ],
        &[("a", "f", "{}")],
    );
}

#[test]
fn one_id_at_two_indices_is_two_calls() {
    check(
        &[
            (Some(0), Some("x"), Some("f"), Some("{}")),
            (Some(1), Some("x"), Some("g"), Some("{}")),
        ],
        &[("x", "f", "{}"), ("x", "g", "{}")],
    );
}

#[test]
fn calls_without_ids_at_one_index_are_told_apart_by_their_names_and_objects() {
    check(
        &[
            (Some(0), Some(""), Some("f"), Some(r#"{"a":"}"#)),
            (Some(0), None, Some("f"), Some(r#"{"}"#)),
            (Some(0), Some(""), Some("f"), Some("{}")),
            (Some(0), None, Some("g"), Some("{}")),
        ],
        &[("", "f", r#"{"a":"}{"}"#), ("", "f", "{}"), ("", "g", "{}")],
    );
}

#[test]
fn empty_and_null_arguments_are_an_empty_object() {
    for input in [None, Some(""), Some("null"), Some(" \n")] {
        check(
            &[(Some(0), Some("a"), Some("f"), input)],
            &[("a", "f", "{}")],
        );
    }
}

#[test]
fn arguments_keep_their_text() {
    let input = " { \"b\": 1e400, \"__proto__\": \"\\u00e9日\\ud83c\",\n\"b\":1 } ";
    check(
        &[(Some(0), Some("a"), Some("f"), Some(input))],
        &[("a", "f", input.trim())],
    );
}

#[test]
fn half_a_character_cut_between_fragments_is_whole_again() {
    let mut joiner = Joiner::new("openai");
    for units in [
        &[0x7b, 0x22, 0xd83c][..],
        &[0xdf89, 0x22, 0x3a, 0x22, 0xd83c, 0x22, 0x7d],
    ] {
        joiner.push(&Chunk {
            delta: Text::from_utf16(units),
            tool_call_deltas: vec![ToolCallDelta {
                index: Some(0),
                name: Some(Text::from("f")),
                input: Some(Text::from_utf16(units)),
                ..ToolCallDelta::default()
            }],
            ..Chunk::default()
        });
    }
    let answer = joiner.finish().unwrap();
    assert_eq!(answer.content.unwrap().escaped(), r#"{\"🎉\":\"\ud83c\"}"#);
    assert_eq!(&*answer.tool_calls[0].input, r#"{"🎉":"\ud83c"}"#);
}

#[test]
fn wrong_arguments_are_an_error_that_names_the_tool() {
    for input in ["{\"a\":tru", "[1]", "\"x\"", "1", "{} {}", "nope"] {
        let error = join(&[(Some(0), Some("a"), Some("get_x"), Some(input))], "stop").unwrap_err();
        assert_eq!(
            (error.code.as_str(), error.provider),
            ("invalid_tool_arguments", "openai")
        );
        assert!(error.message.contains("get_x"));
        let error = join(
            &[(Some(0), Some("a"), Some("get_x"), Some(input))],
            "length",
        )
        .unwrap_err();
        assert_eq!(error.code, "output_truncated");
        assert!(error.message.contains("get_x") && error.message.contains("maxOutputTokens"));
    }
}

#[test]
fn a_call_without_a_name_is_an_error_and_an_empty_fragment_is_nothing() {
    let error = join(&[(Some(0), Some("a"), None, Some("{}"))], "stop").unwrap_err();
    assert_eq!(error.code, "invalid_response");
    check(&[(Some(0), Some(""), Some(""), Some(""))], &[]);
}

#[test]
fn the_last_usage_counts_and_text_is_joined() {
    let usage = |prompt_tokens| Usage {
        prompt_tokens,
        completion_tokens: 1.0,
        cached_prompt_tokens: None,
    };
    let mut joiner = Joiner::new("");
    assert_eq!(
        Joiner::new("").finish().unwrap().content,
        Some(Text::default())
    );
    for (text, reasoning, prompt) in [
        ("a", Some("h"), 1.0),
        ("b", None, 2.0),
        ("", Some("m"), 3.0),
    ] {
        joiner.push(&Chunk {
            delta: Text::from(text),
            reasoning_delta: reasoning.map(Text::from),
            usage: Some(usage(prompt)),
            ..Chunk::default()
        });
    }
    let answer = joiner.finish().unwrap();
    assert_eq!(answer.content, Some(Text::from("ab")));
    assert_eq!(answer.reasoning_content, Some(Text::from("hm")));
    assert_eq!(answer.usage, Some(usage(3.0)));
}

proptest::proptest! {
    #[test]
    fn any_cut_of_the_arguments_gives_the_same_call(text in "[a-z\"\\\\{}🎉é]{0,30}", cuts in proptest::collection::vec(0..9_usize, 0..20)) {
        let json = format!("{{\"k\":{}}}", serde_json::to_string(&text).unwrap());
        let units: Vec<u16> = json.encode_utf16().collect();
        let mut joiner = Joiner::new("openai");
        let mut rest = &units[..];
        let mut first = true;
        for cut in cuts.iter().copied().chain([usize::MAX]) {
            let (piece, after) = rest.split_at(cut.min(rest.len()));
            rest = after;
            joiner.push(&Chunk {
                tool_call_deltas: vec![ToolCallDelta {
                    index: Some(0),
                    id: first.then(|| Text::from("a")),
                    name: first.then(|| Text::from("f")),
                    input: Some(Text::from_utf16(piece)),
                }],
                ..Chunk::default()
            });
            first = false;
        }
        let answer = joiner.finish().unwrap();
        proptest::prop_assert_eq!(&*answer.tool_calls[0].input, json.as_str());
    }
}

#[test]
fn every_fragment_is_passed_on_with_an_index_of_its_call() {
    let mut joiner = Joiner::new("openai");
    let mut indexes = Vec::new();
    for (index, id, name) in [
        (None, "a", "f"),
        (None, "", ""),
        (Some(0), "b", "g"),
        (Some(0), "", ""),
        (Some(7), "c", "h"),
        (Some(0), "d", "i"),
        (Some(7), "", ""),
    ] {
        let mut chunk = Chunk {
            tool_call_deltas: vec![ToolCallDelta {
                index,
                id: Some(Text::from(id)),
                name: Some(Text::from(name)),
                input: None,
            }],
            ..Chunk::default()
        };
        joiner.push_and_number(&mut chunk);
        indexes.extend(chunk.tool_call_deltas.iter().map(|delta| delta.index));
    }
    assert_eq!(indexes, [0, 0, 1, 1, 7, 2, 7].map(Some));
    assert_eq!(joiner.finish().unwrap().tool_calls.len(), 4);
}

#[test]
fn arguments_that_nobody_could_read_again_are_refused() {
    for (levels, fine) in [(500, true), (600, false), (200_000, false)] {
        let nested = format!("{{\"a\":{}{}}}", "[".repeat(levels), "]".repeat(levels));
        let mut joiner = Joiner::new("test");
        joiner.push(&Chunk {
            tool_call_deltas: vec![ToolCallDelta {
                index: Some(0),
                id: Some(Text::from("a")),
                name: Some(Text::from("f")),
                input: Some(Text::from(nested)),
            }],
            ..Chunk::default()
        });
        assert_eq!(joiner.finish().is_ok(), fine, "{levels}");
    }
    assert_eq!(super::depth(r#"{"[[[\"[[":"{{"}"#), 1);
}

#[test]
fn fragments_that_could_each_be_the_last_are_looked_at_once() {
    let opened = (Some(0), None, Some("f"), Some("[{}"));
    let closing = (Some(0), None, Some("f"), Some("{}"));
    let mut fragments = vec![opened];
    fragments.resize(200_000, closing);
    assert_eq!(
        join(&fragments, "tool_calls").unwrap_err().code,
        "invalid_tool_arguments"
    );
    let broken = (Some(0), None, Some("f"), Some("{x}"));
    assert!(join(&vec![broken; 200_000], "tool_calls").is_err());
}
