use std::time::Duration;

use super::*;

async fn attempts(
    protocol: Protocol,
    responses: Vec<Response>,
    more: &str,
) -> (Result<Completion, LlmError>, Vec<Duration>) {
    let player = Player::start(responses).await;
    let result = complete_from(protocol, &player, more).await;
    let seen = player.requests();
    let gaps = seen.windows(2).map(|two| two[1].at - two[0].at).collect();
    (result, gaps)
}

fn slow(status: u16, header: &str) -> Response {
    Response::json(status, r#"{"error":{"message":"slow"}}"#).header(header)
}

fn fine(protocol: Protocol) -> Response {
    Response::json(200, &answer(protocol, "ok"))
}

#[tokio::test]
async fn a_refusal_keeps_status_code_type_and_request_id() {
    let body = r#"{"error":{"message":"bad thing","type":"invalid_request_error","param":"messages","code":"bad_code"}}"#;
    let (result, gaps) = attempts(
        O,
        vec![Response::json(400, body).header("x-request-id: req_9")],
        "",
    )
    .await;
    let error = result.unwrap_err();
    assert_eq!(gaps.len(), 0);
    assert_eq!(
        (error.status, error.message.as_str(), error.code.as_str()),
        (Some(400), "400 bad thing", "bad_code")
    );
    assert_eq!(
        (
            error.kind.as_deref(),
            error.request_id.as_deref(),
            error.retryable
        ),
        (Some("invalid_request_error"), Some("req_9"), false)
    );

    let body = r#"{"type":"error","error":{"type":"request_too_large","message":"too big"},"request_id":"req_1"}"#;
    let (result, _) = attempts(
        A,
        vec![Response::json(413, body).header("request-id: req_5")],
        "",
    )
    .await;
    let error = result.unwrap_err();
    assert_eq!(
        (error.message.as_str(), error.code.as_str()),
        ("413 too big", "http_413")
    );
    assert_eq!(
        (error.kind.as_deref(), error.request_id.as_deref()),
        (Some("request_too_large"), Some("req_5"))
    );
}

#[tokio::test]
async fn a_passing_failure_is_tried_again_after_a_growing_wait() {
    let failure = Response::json(500, r#"{"error":{"message":"x"}}"#);
    let (result, gaps) = attempts(O, vec![failure.clone(), failure, fine(O)], "").await;
    assert_eq!(result.unwrap().content, Some(Text::from("ok")));
    assert_eq!(gaps.len(), 2);
    assert!(gaps[0] >= Duration::from_millis(375), "{gaps:?}");
    assert!(gaps[1] >= Duration::from_millis(750), "{gaps:?}");
}

#[tokio::test]
async fn a_lasting_failure_is_told_after_three_attempts() {
    let page =
        Response::body(502, "text/html", "<html>Bad Gateway</html>").header("retry-after-ms: 20");
    let (result, gaps) = attempts(O, vec![page], "").await;
    let error = result.unwrap_err();
    assert_eq!(
        (error.status, gaps.len(), error.retryable),
        (Some(502), 2, true)
    );
    assert_eq!(error.retry_after, Some(Duration::from_millis(20)));
    let busy = Response::json(
        529,
        r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
    )
    .header("request-id: req_7")
    .header("retry-after-ms: 20");
    let player = Player::start(vec![busy]).await;
    let outcome = stream_from(A, &player, "").await;
    assert!(outcome.chunks.is_empty());
    let error = outcome.error();
    assert_eq!(
        (
            error.status,
            error.kind.as_deref(),
            error.request_id.as_deref(),
            player.requests().len()
        ),
        (Some(529), Some("overloaded_error"), Some("req_7"), 3)
    );
}

#[tokio::test]
async fn the_provider_says_how_long_to_wait_and_whether() {
    let (result, gaps) = attempts(O, vec![slow(429, "retry-after: 1"), fine(O)], "").await;
    assert!(
        result.is_ok() && gaps[0] >= Duration::from_secs(1),
        "{gaps:?}"
    );
    let both = slow(429, "retry-after: 9").header("retry-after-ms: 30");
    let (result, gaps) = attempts(O, vec![both, fine(O)], "").await;
    assert!(
        result.is_ok() && gaps[0] < Duration::from_secs(5),
        "{gaps:?}"
    );
    let (result, gaps) = attempts(O, vec![slow(500, "x-should-retry: false")], "").await;
    assert_eq!((result.unwrap_err().retryable, gaps.len()), (false, 0));
    let (result, gaps) = attempts(
        A,
        vec![
            slow(400, "x-should-retry: true").header("retry-after-ms: 1"),
            fine(A),
        ],
        "",
    )
    .await;
    assert!(result.is_ok() && gaps.len() == 1);
}

#[tokio::test]
async fn a_connection_closed_before_any_byte_is_tried_again() {
    let (result, gaps) = attempts(O, vec![Response::kill(), fine(O)], "").await;
    assert_eq!(
        (result.unwrap().content, gaps.len()),
        (Some(Text::from("ok")), 1)
    );
}

#[tokio::test]
async fn a_stream_is_tried_again_before_its_first_event_only() {
    let plain = Response::body(503, "text/plain", "x").header("retry-after-ms: 20");
    let player = Player::start(vec![
        plain.clone(),
        plain,
        sse(O, &refs(&o_text()), "\n", 0),
    ])
    .await;
    assert_eq!(
        stream_from(O, &player, "").await.good().content,
        Some(Text::from(T))
    );
    assert_eq!(player.requests().len(), 3);
}

#[tokio::test]
async fn a_closed_port_is_a_connection_error_with_its_cause() {
    let player = Player::start(vec![]).await;
    let base = player.base();
    drop(player);
    tokio::time::sleep(Duration::from_millis(20)).await;
    let adapter = adapter(O, &base, r#","maxRetries":1"#, &Http::new());
    let error = adapter.complete(ask(&hello())).await.unwrap_err();
    assert_eq!(
        (error.code.as_str(), error.retryable, error.status),
        ("connection", true, None)
    );
    assert!(
        error.cause.unwrap().contains("refused"),
        "{}",
        error.message
    );
}

#[tokio::test]
async fn a_body_cut_after_its_headers_is_not_tried_again() {
    let mut cut = Response::json(200, &answer(O, "ok"));
    cut.steps = vec![player::Step::Send(b"{\"id\":".to_vec())];
    let player = Player::start(vec![cut.end(player::End::Cut)]).await;
    let error = complete_from(O, &player, "").await.unwrap_err();
    assert_eq!(
        (error.code.as_str(), player.requests().len()),
        ("connection", 1)
    );
}

#[tokio::test]
async fn a_server_without_stream_options_is_asked_without_them_once_and_for_all() {
    let refusal = Response::json(
        400,
        r#"{"error":{"message":"Unrecognized request argument supplied: stream_options"}}"#,
    );
    let player = Player::start(vec![refusal, sse(O, &refs(&o_text()), "\n", 0)]).await;
    let adapter = adapter(O, &player.base(), "", &Http::new());
    for _ in 0..2 {
        adapter.stream(ask(&hello()), &mut |_| {}).await.unwrap();
    }
    let asked: Vec<_> = player
        .requests()
        .iter()
        .map(|seen| seen.json()["stream_options"].clone())
        .collect();
    assert_eq!(
        asked,
        [
            serde_json::json!({"include_usage": true}),
            serde_json::Value::Null,
            serde_json::Value::Null
        ]
    );

    let other = Player::start(vec![Response::json(400, r#"{"error":{"message":"no"}}"#)]).await;
    assert_eq!(stream_from(O, &other, "").await.error().message, "400 no");
    assert_eq!(other.requests().len(), 1);
}
