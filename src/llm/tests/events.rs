use super::*;

#[tokio::test]
async fn an_error_in_the_stream_is_told_after_the_pieces() {
    let part = o_chunk(r#"{"content":"part"}"#, "null");
    let cases = [
        (
            r#"{"error":{"message":"backend died","type":"server_error","code":"x1","param":null}}"#,
            "backend died",
            "x1",
            Some("server_error"),
        ),
        (
            r#"{"error":"backend died"}"#,
            "backend died",
            "provider_error",
            None,
        ),
        (
            r#"{"message":"backend died","code":500}"#,
            "backend died",
            "500",
            None,
        ),
        (
            r#"{"object":"error","message":"backend died","type":"T","code":"c"}"#,
            "backend died",
            "c",
            Some("T"),
        ),
    ];
    for (data, message, code, kind) in cases {
        let outcome = stream(O, sse(O, &[&part, data], "\n", 0)).await;
        assert_eq!(outcome.pieces(), ["part"]);
        let error = outcome.error();
        assert_eq!(
            (
                error.message.as_str(),
                error.code.as_str(),
                error.kind.as_deref()
            ),
            (message, code, kind)
        );
    }
    let events = [a_start(A_USAGE), a_said(0, "part"), r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"req_1"}"#.to_owned()];
    let outcome = stream(A, sse(A, &refs(&events), "\n", 0)).await;
    assert_eq!(outcome.pieces(), ["part"]);
    let error = outcome.error();
    assert_eq!(
        (
            error.message.as_str(),
            error.kind.as_deref(),
            error.request_id.as_deref(),
            error.provider
        ),
        (
            "Overloaded",
            Some("overloaded_error"),
            Some("req_1"),
            "anthropic"
        )
    );
    let named = format!("data: {part}\n\nevent: error\ndata: plain words\n\n");
    let error = stream(O, Response::stream(vec![named.into_bytes()]))
        .await
        .error();
    assert!(error.message.contains("plain words"));
}

#[tokio::test]
async fn an_event_that_is_no_json_is_an_invalid_response() {
    let part = o_chunk(r#"{"content":"part"}"#, "null");
    let outcome = stream(O, sse(O, &[&part, "{\"id\":", "[DONE]"], "\n", 0)).await;
    assert_eq!(outcome.pieces(), ["part"]);
    assert_eq!(outcome.error().code, "invalid_response");
    let outcome = stream(
        A,
        Response::stream(vec![b"event: message_start\ndata: {\"type\":\n\n".to_vec()]),
    )
    .await;
    assert_eq!(outcome.error().code, "invalid_response");
}

#[tokio::test]
async fn what_is_unknown_is_skipped() {
    let mut events = a_text();
    events.insert(0, A_PING.to_owned());
    events.insert(2, r#"{"type":"vendor_thing","x":1}"#.to_owned());
    events.insert(3, a_block(5, r#"{"type":"hologram","v":1}"#));
    events.insert(4, a_delta(5, r#"{"type":"hologram_delta","v":2}"#));
    events.insert(
        5,
        a_block(
            6,
            r#"{"type":"server_tool_use","id":"s","name":"web","input":{}}"#,
        ),
    );
    events.insert(
        6,
        a_delta(6, r#"{"type":"input_json_delta","partial_json":"{"}"#),
    );
    let answer = stream(A, sse(A, &refs(&events), "\n", 0)).await.good();
    assert_eq!(
        (answer.content, answer.tool_calls.len()),
        (Some(Text::from(T)), 0)
    );
    let mut pieces = vec![b"event: vendor\ndata: not json\n\n".to_vec()];
    pieces.extend(
        a_text()
            .iter()
            .map(|data| format!("data: {data}\n\n").into_bytes()),
    );
    let answer = stream(A, Response::stream(pieces)).await.good();
    assert_eq!(
        answer.content,
        Some(Text::from(T)),
        "the kind is in the data where no line names it"
    );
}

#[tokio::test]
async fn usage_comes_with_the_last_chunk() {
    let events = [
        r#"{"id":"","choices":[],"prompt_filter_results":[]}"#.to_owned(),
        o_chunk(r#"{"role":"assistant","content":"a"}"#, "null"),
        o_chunk("{}", r#""stop""#),
        r#"{"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":1,"total_tokens":6,"prompt_tokens_details":{"cached_tokens":4}}}"#.to_owned(),
        "[DONE]".to_owned(),
    ];
    let outcome = stream(O, sse(O, &refs(&events), "\n", 0)).await;
    assert!(outcome.chunks[0].usage.is_none() && outcome.chunks[0].finish_reason.is_none());
    let usage = outcome.good().usage.unwrap();
    assert_eq!(
        (
            usage.prompt_tokens,
            usage.completion_tokens,
            usage.cached_prompt_tokens
        ),
        (5.0, 1.0, Some(4.0))
    );

    let events = [
        r#"{"id":"c","choices":[{"index":0,"delta":{"role":"assistant","content":"a"}}]}"#,
        r#"{"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#,
        r#"{"id":"c","choices":[{"index":0,"delta":{}}],"usage":{"prompt_tokens":5,"completion_tokens":1,"total_tokens":6}}"#,
        "[DONE]",
    ];
    let usage = stream(O, sse(O, &events, "\n", 0))
        .await
        .good()
        .usage
        .unwrap();
    assert_eq!(
        (
            usage.prompt_tokens,
            usage.completion_tokens,
            usage.cached_prompt_tokens
        ),
        (5.0, 1.0, None)
    );

    let events = [
        a_start(
            r#"{"input_tokens":3,"cache_creation_input_tokens":100,"cache_read_input_tokens":2000,"output_tokens":1}"#,
        ),
        a_said(0, "ok"),
        a_end(
            "end_turn",
            r#"{"input_tokens":4,"cache_creation_input_tokens":100,"cache_read_input_tokens":2000,"output_tokens":12}"#,
        ),
        A_LAST.to_owned(),
    ];
    let usage = stream(A, sse(A, &refs(&events), "\n", 0))
        .await
        .good()
        .usage
        .unwrap();
    assert_eq!(
        (
            usage.prompt_tokens,
            usage.completion_tokens,
            usage.cached_prompt_tokens
        ),
        (2104.0, 12.0, Some(2000.0))
    );
}

#[tokio::test]
async fn tool_calls_come_as_sent_and_are_joined() {
    let call = |fragments: &str, finish: &str| {
        o_chunk(
            &format!(
                r#"{{"role":null,"content":null,"function_call":null,"tool_calls":{fragments}}}"#
            ),
            finish,
        )
    };
    let events = [
        call("null", "null"),
        call(
            r#"[{"index":0,"id":"call_a","type":"function","function":{"name":"f","arguments":""}}]"#,
            "null",
        ),
        call(
            r#"[{"index":1,"id":"call_b","type":"function","function":{"name":"g","arguments":""}}]"#,
            "null",
        ),
        call(
            r#"[{"index":0,"id":"call_a","function":{"name":"","arguments":"{\"a\""}},{"index":1,"function":{"arguments":"{\"b\":"}}]"#,
            "null",
        ),
        call(r#"[{"index":1,"function":{"arguments":"2}"}}]"#, "null"),
        call(
            r#"[null,{"index":0,"id":"","function":{"name":null,"arguments":":1}"}}]"#,
            r#""tool_calls""#,
        ),
        "[DONE]".to_owned(),
    ];
    for cut in [0, 1] {
        let outcome = stream(O, sse(O, &refs(&events), "\n", cut)).await;
        let first = &outcome.chunks[0].tool_call_deltas[0];
        assert_eq!(
            (
                first.index,
                first.id.clone(),
                first.name.clone(),
                first.input.clone()
            ),
            (
                Some(0),
                Some(Text::from("call_a")),
                Some(Text::from("f")),
                Some(Text::default())
            )
        );
        let answer = outcome.good();
        assert_eq!(
            calls(&answer),
            [
                ("f".into(), r#"{"a":1}"#.into()),
                ("g".into(), r#"{"b":2}"#.into())
            ]
        );
        assert_eq!(answer.finish_reason, Some(Text::from("tool_calls")));
    }
}

#[tokio::test]
async fn tool_use_blocks_come_as_sent_and_are_joined() {
    let json = |index, text: &str| {
        a_delta(
            index,
            &format!(
                r#"{{"type":"input_json_delta","partial_json":{}}}"#,
                serde_json::to_string(text).unwrap()
            ),
        )
    };
    let events = [
        a_start(A_USAGE),
        a_block(0, A_TEXT),
        a_said(0, "Checking"),
        a_stop(0),
        a_block(
            1,
            r#"{"type":"tool_use","id":"toolu_1","name":"f","input":{}}"#,
        ),
        json(1, ""),
        json(1, r#"{"q":"\u00"#),
        json(1, "e9 日"),
        json(1, r#"本\""#),
        json(1, r#"","n":[1,2]}"#),
        a_stop(1),
        a_block(
            2,
            r#"{"type":"tool_use","id":"toolu_2","name":"ping","input":{}}"#,
        ),
        a_stop(2),
        a_block(
            3,
            r#"{"type":"tool_use","id":"toolu_3","name":"early","input":{"x":1}}"#,
        ),
        a_stop(3),
        a_end("tool_use", A_DONE),
        A_LAST.to_owned(),
    ];
    for cut in [0, 1] {
        let answer = stream(A, sse(A, &refs(&events), "\n", cut)).await.good();
        assert_eq!(answer.content, Some(Text::from("Checking")));
        assert_eq!(
            calls(&answer),
            [
                ("f".into(), r#"{"q":"\u00e9 日本\"","n":[1,2]}"#.into()),
                ("ping".into(), "{}".into()),
                ("early".into(), r#"{"x":1}"#.into())
            ]
        );
        assert_eq!(answer.finish_reason, Some(Text::from("tool_calls")));
    }
}

#[tokio::test]
async fn cut_arguments_pass_the_stream_and_fail_where_they_are_joined() {
    let events = [
        o_chunk(
            r#"{"tool_calls":[{"index":0,"id":"call_a","function":{"name":"f","arguments":"{\"a\":\"tru"}}]}"#,
            "null",
        ),
        o_chunk("{}", r#""length""#),
        "[DONE]".to_owned(),
    ];
    let outcome = stream(O, sse(O, &refs(&events), "\n", 0)).await;
    assert!(outcome.result.is_ok());
    assert_eq!(
        outcome.chunks.last().unwrap().finish_reason,
        Some(Text::from("length"))
    );
    assert_eq!(outcome.join().unwrap_err().code, "output_truncated");
    let events = [
        a_block(0, r#"{"type":"tool_use","id":"t0","name":"f","input":{}}"#),
        a_delta(
            0,
            r#"{"type":"input_json_delta","partial_json":"{\"a\": tru nope"}"#,
        ),
        a_end("max_tokens", A_DONE),
        A_LAST.to_owned(),
    ];
    let outcome = stream(A, sse(A, &refs(&events), "\n", 0)).await;
    assert_eq!(outcome.join().unwrap_err().code, "output_truncated");
}

#[tokio::test]
async fn reasoning_comes_apart_from_the_text() {
    let events = [
        o_chunk(r#"{"content":null,"reasoning_content":"hmm"}"#, "null"),
        o_chunk(r#"{"content":null,"reasoning":" ok"}"#, "null"),
        o_chunk(r#"{"content":"Answer"}"#, r#""stop""#),
    ];
    let answer = stream(O, sse(O, &refs(&events), "\n", 0)).await.good();
    assert_eq!(
        (answer.content, answer.reasoning_content),
        (Some(Text::from("Answer")), Some(Text::from("hmm ok")))
    );
    let events = [
        a_start(A_USAGE),
        a_block(0, r#"{"type":"thinking","thinking":"","signature":""}"#),
        a_delta(0, r#"{"type":"thinking_delta","thinking":"hmm"}"#),
        a_delta(0, r#"{"type":"signature_delta","signature":"c2ln"}"#),
        a_stop(0),
        a_block(1, r#"{"type":"redacted_thinking","data":"ZW5j"}"#),
        a_stop(1),
        a_block(2, A_TEXT),
        a_said(2, "Answer"),
        a_end("end_turn", A_DONE),
        A_LAST.to_owned(),
    ];
    let answer = stream(A, sse(A, &refs(&events), "\n", 0)).await.good();
    assert_eq!(
        (answer.content, answer.reasoning_content),
        (Some(Text::from("Answer")), Some(Text::from("hmm")))
    );
}

#[tokio::test]
async fn finish_reasons_have_the_same_words_everywhere() {
    for (reason, word) in [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("tool_use", "tool_calls"),
        ("refusal", "content_filter"),
        ("pause_turn", "pause_turn"),
    ] {
        let events = [a_start(A_USAGE), a_end(reason, A_DONE), A_LAST.to_owned()];
        let answer = stream(A, sse(A, &refs(&events), "\n", 0)).await.good();
        assert_eq!(answer.finish_reason, Some(Text::from(word)));
    }
    for (reason, word) in [
        ("stop", "stop"),
        ("length", "length"),
        ("function_call", "tool_calls"),
        ("content_filter", "content_filter"),
        ("eos", "eos"),
    ] {
        let events = [o_chunk("{}", &format!("\"{reason}\""))];
        let answer = stream(O, sse(O, &refs(&events), "\n", 0)).await.good();
        assert_eq!(answer.finish_reason, Some(Text::from(word)));
    }
}

#[tokio::test]
async fn half_a_character_cut_between_deltas_is_whole_again() {
    let events = [
        o_chunk(r#"{"content":"\ud83c"}"#, "null"),
        o_chunk(r#"{"content":"\udf89"}"#, r#""stop""#),
    ];
    let answer = stream(O, sse(O, &refs(&events), "\n", 0)).await.good();
    assert_eq!(answer.content, Some(Text::from("🎉")));
}

#[tokio::test]
async fn other_choices_than_the_first_are_nobodys() {
    let events = [
        r#"{"choices":[{"index":1,"delta":{"content":"no"},"finish_reason":"stop"}]}"#.to_owned(),
        o_chunk(r#"{"content":"yes"}"#, r#""stop""#),
    ];
    assert_eq!(
        stream(O, sse(O, &refs(&events), "\n", 0))
            .await
            .good()
            .content,
        Some(Text::from("yes"))
    );
}
