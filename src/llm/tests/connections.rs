use std::time::{Duration, Instant};

use tokio::io::AsyncReadExt as _;

use super::{player::Step, *};

/// The servers of these tests never end a connection themselves; how long a close takes is measured elsewhere.
const SOON: Duration = Duration::from_secs(3);

/// Starts a call, drops it after `after`, and says how long the server took to see the connection close.
async fn abandoned(protocol: Protocol, response: Response, streaming: bool) -> Duration {
    let player = Player::start(vec![response]).await;
    let adapter = adapter(protocol, &player.base(), "", &Http::new());
    let call = tokio::spawn(async move {
        let messages = hello();
        if streaming {
            adapter.stream(ask(&messages), &mut |_| {}).await.map(drop)
        } else {
            adapter.complete(ask(&messages)).await.map(drop)
        }
    });
    player.asked().await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(!call.is_finished());
    let start = Instant::now();
    call.abort();
    let closed = tokio::time::timeout(Duration::from_secs(3), player.closed())
        .await
        .expect("the server sees it");
    closed.saturating_duration_since(start)
}

#[tokio::test]
async fn dropping_a_call_closes_its_connection_in_every_state() {
    for protocol in [O, A] {
        let part = match protocol {
            O => o_chunk(r#"{"content":"a"}"#, "null"),
            A => a_said(0, "a"),
        };
        let waiting = abandoned(protocol, Response::hang(), false).await;
        let headers = abandoned(protocol, Response::hang(), true).await;
        let reading = abandoned(
            protocol,
            sse(protocol, &[&part], "\n", 0).then(Step::Hang),
            true,
        )
        .await;
        let begun = abandoned(protocol, sse(protocol, &[], "\n", 0).then(Step::Hang), true).await;
        let mut body = Response::json(200, &answer(protocol, "whole"));
        body.steps = vec![Step::Send(b"{".to_vec()), Step::Hang];
        let body = abandoned(protocol, body, false).await;
        for took in [waiting, headers, reading, begun, body] {
            assert!(took < SOON, "{took:?}");
        }
    }
}

#[tokio::test]
async fn dropping_a_call_between_attempts_sends_nothing_more() {
    let player = Player::start(vec![
        Response::json(429, "{}").header("retry-after-ms: 200"),
    ])
    .await;
    let base = player.base();
    let call = tokio::spawn(async move {
        adapter(O, &base, "", &Http::new())
            .complete(ask(&hello()))
            .await
    });
    player.asked().await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    call.abort();
    assert!(call.await.unwrap_err().is_cancelled());
    tokio::time::sleep(Duration::from_millis(400)).await;
    assert_eq!(player.requests().len(), 1);
}

#[tokio::test]
async fn a_silent_server_is_a_timeout() {
    let player = Player::start(vec![Response::hang()]).await;
    let error = complete_from(O, &player, r#","timeoutMs":200,"maxRetries":0"#)
        .await
        .unwrap_err();
    assert_eq!((error.code.as_str(), error.retryable), ("timeout", true));
    assert!(error.message.contains("200 ms"));
    let error = complete_from(O, &player, r#","timeoutMs":50,"maxRetries":1"#)
        .await
        .unwrap_err();
    assert_eq!(
        (error.code.as_str(), player.requests().len()),
        ("timeout", 3)
    );
}

#[tokio::test]
async fn a_stream_that_falls_silent_is_a_timeout_after_its_pieces() {
    for more in [r#","timeoutMs":300"#, r#","idleTimeoutMs":300"#] {
        let part = o_chunk(r#"{"content":"a"}"#, "null");
        let player = Player::start(vec![sse(O, &[&part], "\n", 0).then(Step::Hang)]).await;
        let outcome = stream_from(O, &player, more).await;
        assert_eq!(outcome.text(), "a");
        assert_eq!(outcome.error().code, "timeout");
        assert_eq!(player.requests().len(), 1);
    }
}

#[tokio::test]
async fn a_slow_stream_that_never_falls_silent_is_read_to_its_end() {
    let mut response = sse(O, &[], "\n", 0);
    for event in o_text() {
        response = response
            .then(Step::Send(format!("data: {event}\n\n").into_bytes()))
            .then(Step::Pause(Duration::from_millis(120)));
    }
    let player = Player::start(vec![response]).await;
    let outcome = stream_from(O, &player, r#","idleTimeoutMs":400"#).await;
    assert_eq!(outcome.good().content, Some(Text::from(T)));
}

#[tokio::test]
async fn silence_before_the_whole_answer_is_bounded_by_the_timeout_alone() {
    let player = Player::start(vec![
        Response::json(200, &answer(O, "ok")).delayed(Duration::from_millis(300)),
    ])
    .await;
    let completion = complete_from(O, &player, r#","idleTimeoutMs":50"#)
        .await
        .unwrap();
    assert_eq!(completion.content, Some(Text::from("ok")));
}

#[tokio::test]
async fn a_redirect_at_home_is_followed_with_body_and_key() {
    for status in [307, 308] {
        let moved = Response::json(status, "").header("location: /elsewhere?x=1");
        let player = Player::start(vec![moved, Response::json(200, &answer(O, "ok"))]).await;
        assert!(complete_from(O, &player, "").await.is_ok());
        let seen = player.requests();
        assert!(
            seen[1].head.starts_with("POST /elsewhere?x=1 "),
            "{}",
            seen[1].head
        );
        assert_eq!(seen[0].body, seen[1].body);
        assert_eq!(
            seen[1].header("authorization"),
            Some(&*format!("Bearer {KEY}"))
        );
    }
}

#[tokio::test]
async fn a_redirect_to_another_origin_gets_neither_key_nor_conversation() {
    for protocol in [O, A] {
        let other = Player::start(vec![Response::json(200, &answer(protocol, "stolen"))]).await;
        let moved = Response::json(307, "").header(&format!("location: {}/{KEY}", other.base()));
        let player = Player::start(vec![moved]).await;
        let error = complete_from(protocol, &player, "").await.unwrap_err();
        assert_eq!(
            (error.code.as_str(), error.status, error.retryable),
            ("http_307", Some(307), false)
        );
        assert!(!format!("{error:?}").contains(KEY));
        assert_eq!((player.requests().len(), other.requests().len()), (1, 0));
    }
}

#[tokio::test]
async fn other_redirects_and_endless_ones_are_errors() {
    let player = Player::start(vec![Response::json(302, "").header("location: /x")]).await;
    assert_eq!(
        complete_from(O, &player, "").await.unwrap_err().code,
        "http_302"
    );
    let player = Player::start(vec![Response::json(307, "").header("location: /x")]).await;
    assert_eq!(
        complete_from(O, &player, "").await.unwrap_err().code,
        "too_many_redirects"
    );
}

#[tokio::test]
async fn the_headers_are_the_protocols_and_the_users_win() {
    let more = r#","headers":{"X-Title":"me","user-agent":"mine"}"#;
    for (protocol, key, value, path) in [
        (
            O,
            "authorization",
            format!("Bearer {KEY}"),
            "/base/chat/completions",
        ),
        (A, "x-api-key", KEY.to_owned(), "/base/v1/messages"),
    ] {
        let player = Player::start(vec![Response::json(200, &answer(protocol, "ok"))]).await;
        complete_from(protocol, &player, more).await.unwrap();
        let seen = player.requests().remove(0);
        assert!(
            seen.head.starts_with(&format!("POST {path} HTTP/1.1")),
            "{}",
            seen.head
        );
        assert_eq!(seen.header(key), Some(&*value));
        assert_eq!(seen.header("content-type"), Some("application/json"));
        assert_eq!(seen.header("accept-encoding"), Some("gzip"));
        assert_eq!(seen.header("x-title"), Some("me"));
        assert_eq!(seen.header("user-agent"), Some("mine"));
        let version = (protocol == A).then_some("2023-06-01");
        assert_eq!(seen.header("anthropic-version"), version);
    }
}

#[tokio::test]
async fn an_empty_key_is_no_key() {
    let player = Player::start(vec![Response::json(200, &answer(O, "ok"))]).await;
    let json = format!(
        r#"{{"model":"m","apiKey":"","baseURL":"{}","maxContextTokens":1}}"#,
        player.base()
    );
    let options = Options::parse(&json).unwrap();
    let env = Env(&|_| Some("sk-from-the-environment".to_owned()));
    let created = create(Factory::OpenAiCompatible, options, env, &Http::new()).unwrap();
    created.adapter.complete(ask(&hello())).await.unwrap();
    assert_eq!(player.requests()[0].header("authorization"), None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hundred_streams_at_once_are_all_whole_and_in_order() {
    let mut events: Vec<_> = (0..200)
        .map(|n| o_chunk(&format!(r#"{{"content":"{n} "}}"#), "null"))
        .collect();
    events.push(o_chunk("{}", r#""stop""#));
    events.push("[DONE]".to_owned());
    let expected = (0..200)
        .map(|n| format!("{n} "))
        .collect::<Vec<_>>()
        .concat();
    let player = Player::start(vec![sse(O, &refs(&events), "\n", 0)]).await;
    let adapter = adapter(O, &player.base(), "", &Http::new());
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..200 {
        let adapter = adapter.clone();
        calls.spawn(async move {
            let mut text = String::new();
            let messages = hello();
            adapter
                .stream(ask(&messages), &mut |chunk| {
                    text.push_str(chunk.delta.escaped());
                })
                .await
                .unwrap();
            text
        });
    }
    while let Some(text) = calls.join_next().await {
        assert_eq!(text.unwrap(), expected);
    }
}

#[tokio::test]
async fn dropping_a_call_in_the_middle_of_a_handshake_closes_its_connection() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("https://{}", listener.local_addr().unwrap());
    let call = tokio::spawn(async move {
        let adapter = adapter(O, &base, "", &Http::new());
        adapter.complete(ask(&hello())).await
    });
    let (mut socket, _) = listener.accept().await.unwrap();
    let mut buffer = [0; 4096];
    assert!(
        socket.read(&mut buffer).await.unwrap() > 0,
        "the client says hello"
    );
    let start = Instant::now();
    call.abort();
    while socket.read(&mut buffer).await.is_ok_and(|read| read > 0) {}
    assert!(start.elapsed() < SOON);
}
