use super::*;

#[tokio::test]
async fn a_whole_answer_is_read() {
    let body = r#"{"id":"c1","choices":[{"index":0,"message":{"role":"assistant","content":null,"refusal":null,"reasoning_content":"r","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{\"x\":1}"}},{"id":"b","type":"function","function":{"name":"g","arguments":""}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":5,"completion_tokens":3,"total_tokens":8}}"#;
    let answer = complete(O, body).await.unwrap();
    assert_eq!(answer.content, None);
    assert_eq!(
        calls(&answer),
        [("f".into(), r#"{"x":1}"#.into()), ("g".into(), "{}".into())]
    );
    assert_eq!(answer.reasoning_content, Some(Text::from("r")));
    assert_eq!(answer.finish_reason, Some(Text::from("tool_calls")));
    let usage = answer.usage.unwrap();
    assert_eq!((usage.prompt_tokens, usage.completion_tokens), (5.0, 3.0));

    let body = r#"{"id":"msg_1","type":"message","role":"assistant","content":[{"type":"thinking","thinking":"h","signature":"s"},{"type":"text","text":"A"},{"type":"text","text":"B"},{"type":"tool_use","id":"t0","name":"f","input":{"a": 1}}],"stop_reason":"tool_use","usage":{"input_tokens":3,"output_tokens":6,"cache_read_input_tokens":100,"cache_creation_input_tokens":7}}"#;
    let answer = complete(A, body).await.unwrap();
    assert_eq!(answer.content, Some(Text::from("AB")));
    assert_eq!(calls(&answer), [("f".into(), r#"{"a": 1}"#.into())]);
    assert_eq!(answer.reasoning_content, Some(Text::from("h")));
    let usage = answer.usage.unwrap();
    assert_eq!(
        (
            usage.prompt_tokens,
            usage.completion_tokens,
            usage.cached_prompt_tokens
        ),
        (110.0, 6.0, Some(100.0))
    );
}

#[tokio::test]
async fn white_space_and_byte_order_marks_before_an_answer_say_nothing() {
    for before in ["", "\u{feff}", " \u{feff}", "\n\u{feff}\u{feff} "] {
        let body = format!(r#"{before}{{"choices":[{{"message":{{"content":"T"}}}}]}}"#);
        let answer = complete(O, &body).await.unwrap();
        assert_eq!(answer.content, Some(Text::from("T")), "{before:?}");
    }
}

#[tokio::test]
async fn an_answer_without_text_has_no_content() {
    let empty = complete(O, r#"{"id":"x","object":"chat.completion","choices":[]}"#)
        .await
        .unwrap();
    assert_eq!(empty, Completion::default());
    let empty = complete(
        A,
        r#"{"type":"message","content":[],"stop_reason":"end_turn"}"#,
    )
    .await
    .unwrap();
    assert_eq!((empty.content, empty.usage), (None, None));
    assert_eq!(empty.finish_reason, Some(Text::from("stop")));
}

#[tokio::test]
async fn odd_answers_are_read_as_far_as_they_make_sense() {
    let parts = complete(O, r#"{"choices":[{"message":{"content":[{"type":"text","text":"a"},{"type":"image"},"b"],"tool_calls":null},"finish_reason":null}],"usage":{"prompt_tokens":"x"}}"#).await.unwrap();
    assert_eq!(
        (parts.content, parts.usage, parts.finish_reason),
        (Some(Text::from("ab")), None, None)
    );
    let object = complete(O, r#"{"choices":[{"message":{"tool_calls":[{"id":7,"index":0,"function":{"name":"f","arguments":{"x":[1]}}},{"id":7,"index":0,"function":{"name":"f","arguments":"null"}}]}}]}"#).await.unwrap();
    assert_eq!(
        calls(&object),
        [
            ("f".into(), r#"{"x":[1]}"#.into()),
            ("f".into(), "{}".into())
        ]
    );
    assert_eq!(object.tool_calls[0].id, Text::from("7"));
}

#[tokio::test]
async fn the_content_type_does_not_matter_for_json() {
    let player = Player::start(vec![Response::body(200, "text/plain", &answer(O, "hi"))]).await;
    assert_eq!(
        complete_from(O, &player, "").await.unwrap().content,
        Some(Text::from("hi"))
    );
}

#[tokio::test]
async fn what_is_no_answer_is_an_invalid_response() {
    for protocol in [O, A] {
        for response in [
            Response::json(200, r#"{"id":"x","choices":["#),
            Response::json(200, r#"{"hello":"world"}"#),
            Response::json(200, "[]"),
            Response::json(200, ""),
            Response::json(204, ""),
            Response::body(200, "text/html", "<html>login</html>"),
        ] {
            let player = Player::start(vec![response]).await;
            let error = complete_from(protocol, &player, "").await.unwrap_err();
            assert_eq!(error.code, "invalid_response", "{error:?}");
            assert_eq!(player.requests().len(), 1);
        }
    }
}

#[tokio::test]
async fn an_error_with_a_good_status_is_an_error() {
    let error = complete(A, r#"{"type":"error","error":{"type":"api_error","message":"soft fail"},"request_id":"req_1"}"#).await.unwrap_err();
    assert_eq!(
        (error.message.as_str(), error.kind.as_deref(), error.status),
        ("soft fail", Some("api_error"), None)
    );
    let error = complete(O, r#"{"error":{"message":"soft fail","code":"c"}}"#)
        .await
        .unwrap_err();
    assert_eq!(
        (error.message.as_str(), error.code.as_str()),
        ("soft fail", "c")
    );
}

#[tokio::test]
async fn wrong_arguments_fail_and_name_the_tool() {
    let body = |finish| {
        format!(
            r#"{{"choices":[{{"message":{{"tool_calls":[{{"id":"a","function":{{"name":"f","arguments":"{{\"a\":tru"}}}}]}},"finish_reason":"{finish}"}}]}}"#
        )
    };
    let error = complete(O, &body("tool_calls")).await.unwrap_err();
    assert_eq!(
        (error.code.as_str(), error.provider),
        ("invalid_tool_arguments", "openai")
    );
    let error = complete(O, &body("length")).await.unwrap_err();
    assert_eq!(error.code, "output_truncated");
    assert!(error.message.contains("\"f\"") && error.message.contains("maxOutputTokens"));
}

#[tokio::test]
async fn a_large_output_limit_reads_a_stream_underneath() {
    let http = Http::new();
    for (limit, streamed) in [(21_333, false), (21_334, true)] {
        let response = if streamed {
            sse(A, &refs(&a_text()), "\n", 0)
        } else {
            Response::json(200, &answer(A, T))
        };
        let player = Player::start(vec![response, Response::json(200, &answer(A, "whole"))]).await;
        let adapter = adapter(A, &player.base(), "", &http);
        let messages = hello();
        let request = Request {
            max_tokens: Some(limit),
            ..ask(&messages)
        };
        let completion = adapter.complete(request).await.unwrap();
        assert_eq!(completion.content, Some(Text::from(T)));
        let body = player.requests()[0].json();
        assert_eq!(body["max_tokens"], limit);
        assert_eq!(body["stream"] == true, streamed);
        let completion = adapter.complete(request).await.unwrap();
        assert_eq!(completion.content, Some(Text::from("whole")));
    }
}
