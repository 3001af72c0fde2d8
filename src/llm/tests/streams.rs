use std::{io::Write as _, time::Duration};

use super::{
    player::{End, Step},
    *,
};

fn ends() -> [&'static str; 3] {
    ["\n", "\r\n", "\r"]
}

#[tokio::test]
async fn a_text_comes_as_sent_whatever_the_line_ends_and_the_cuts() {
    for protocol in [O, A] {
        for end in ends() {
            for cut in [0, 1, 7, 100_000] {
                let outcome =
                    stream(protocol, sse(protocol, &refs(&text(protocol)), end, cut)).await;
                assert_eq!(outcome.pieces(), ["Grüße ", "日本語 ", "🎉🇫🇷 end"]);
                let answer = outcome.good();
                assert_eq!(answer.content, Some(Text::from(T)));
                assert_eq!(answer.finish_reason, Some(Text::from("stop")));
            }
        }
    }
}

#[tokio::test]
async fn a_byte_order_mark_comments_and_missing_spaces_are_nothing() {
    let mut bytes =
        b"\xef\xbb\xbf: hi\n\n:\n\n\n\nid: 7\nretry: 3000\nevent: message\ndata:".to_vec();
    bytes.extend(o_chunk(r#"{"content":"a"}"#, "null").bytes());
    bytes.extend(b"\n\n: ping\n\ndata: ");
    bytes.extend(o_chunk(r#"{"content":"b"}"#, r#""stop""#).bytes());
    bytes.extend(b"\n\ndata:[DONE]\n\n");
    for cut in [1, 2, 1_000_000] {
        let pieces = bytes.chunks(cut).map(<[u8]>::to_vec).collect();
        let answer = stream(O, Response::stream(pieces)).await.good();
        assert_eq!(answer.content, Some(Text::from("ab")));
    }
}

#[tokio::test]
async fn a_last_event_without_its_blank_line_counts() {
    let last = o_chunk(r#"{"content":"Z"}"#, r#""stop""#);
    let first = format!("data: {}\n\n", o_chunk(r#"{"content":"a"}"#, "null"));
    let response = Response::stream(vec![
        first.into_bytes(),
        format!("data: {last}").into_bytes(),
    ]);
    let answer = stream(O, response).await.good();
    assert_eq!(answer.content, Some(Text::from("aZ")));
    assert_eq!(answer.finish_reason, Some(Text::from("stop")));
}

#[tokio::test]
async fn an_end_without_a_finish_is_incomplete() {
    for (protocol, events) in [
        (O, vec![o_chunk(r#"{"content":"part"}"#, "null")]),
        (
            A,
            vec![a_start(A_USAGE), a_block(0, A_TEXT), a_said(0, "part")],
        ),
    ] {
        let outcome = stream(protocol, sse(protocol, &refs(&events), "\n", 0)).await;
        assert_eq!(outcome.pieces(), ["part"]);
        let error = outcome.error();
        assert_eq!(
            (error.code.as_str(), error.retryable),
            ("incomplete_stream", true)
        );
    }
}

#[tokio::test]
async fn a_broken_connection_comes_after_the_pieces() {
    for end in [End::Cut, End::Reset] {
        for protocol in [O, A] {
            let events = match protocol {
                O => vec![o_chunk(r#"{"content":"part"}"#, "null")],
                A => vec![a_start(A_USAGE), a_said(0, "part")],
            };
            let response = sse(protocol, &refs(&events), "\n", 0)
                .then(Step::Pause(Duration::from_millis(30)))
                .end(end);
            let outcome = stream(protocol, response).await;
            assert_eq!(outcome.pieces(), ["part"]);
            let error = outcome.error();
            assert_eq!(error.code, "connection");
            assert!(error.cause.is_some());
        }
    }
}

#[tokio::test]
async fn nothing_is_read_after_the_end() {
    let first = o_chunk(r#"{"content":"a"}"#, r#""stop""#);
    let late = o_chunk(r#"{"content":"LATE"}"#, "null");
    let events = [&first, "[DONE] bye", &late, "not json"];
    let answer = stream(O, sse(O, &events, "\n", 0)).await.good();
    assert_eq!(answer.content, Some(Text::from("a")));
}

#[tokio::test]
async fn nothing_is_waited_for_after_the_end() {
    for protocol in [O, A] {
        let response = sse(protocol, &refs(&text(protocol)), "\n", 0).then(Step::Hang);
        let player = Player::start(vec![response]).await;
        let outcome = stream_from(protocol, &player, "").await;
        assert_eq!(outcome.good().content, Some(Text::from(T)));
        player.closed().await;
    }
}

#[tokio::test]
async fn a_connection_is_used_again_after_a_stream_was_read_to_its_end() {
    for protocol in [O, A] {
        let player = Player::start(vec![sse(protocol, &refs(&text(protocol)), "\n", 0)]).await;
        let adapter = adapter(protocol, &player.base(), "", &Http::new());
        for _ in 0..5 {
            adapter.stream(ask(&hello()), &mut |_| {}).await.unwrap();
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let connections: Vec<_> = player
            .requests()
            .iter()
            .map(|seen| seen.connection)
            .collect();
        assert_eq!(connections, [0; 5]);
    }
}

#[tokio::test]
async fn a_finish_reason_makes_a_stream_whole_even_if_the_goodbye_is_missing() {
    let events = [o_chunk(r#"{"content":"a"}"#, r#""stop""#)];
    for end in [End::Clean, End::Cut] {
        let response = sse(O, &refs(&events), "\n", 0).end(end);
        assert_eq!(
            stream(O, response).await.good().content,
            Some(Text::from("a"))
        );
    }
}

#[tokio::test]
async fn one_document_in_place_of_a_stream_is_the_whole_answer() {
    for protocol in [O, A] {
        for kind in ["application/json", "text/event-stream", "text/plain", ""] {
            let outcome = stream(
                protocol,
                Response::body(200, kind, &answer(protocol, "whole")),
            )
            .await;
            assert_eq!(outcome.good().content, Some(Text::from("whole")), "{kind}");
        }
    }
}

#[tokio::test]
async fn pages_and_empty_bodies_are_invalid_responses() {
    let html = "<html>login</html>";
    for response in [
        Response::body(200, "text/html", html),
        Response::body(200, "text/event-stream", html),
        Response::body(200, "text/plain", "hello"),
        Response::body(200, "application/json", "{\"id\":\"x\",\"choices\":["),
        Response::body(204, "", ""),
        Response::stream(vec![]),
        Response::stream(vec![b"\xef\xbb\xbf \n\n".to_vec()]),
    ] {
        for protocol in [O, A] {
            let error = stream(protocol, response.clone()).await.error();
            assert_eq!(error.code, "invalid_response", "{response:?}");
            assert!(!error.retryable);
        }
    }
    let only_pings = stream(O, Response::stream(vec![b": ping\n\n".to_vec()]))
        .await
        .error();
    assert_eq!(only_pings.code, "incomplete_stream");
}

#[tokio::test]
async fn a_compressed_stream_is_read() {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    for event in o_text() {
        write!(encoder, "data: {event}\n\n").unwrap();
    }
    let response =
        Response::stream(vec![encoder.finish().unwrap()]).header("content-encoding: gzip");
    assert_eq!(
        stream(O, response).await.good().content,
        Some(Text::from(T))
    );
}

mod cuts {
    use super::*;

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig { cases: 24, ..Default::default() })]

        #[test]
        fn a_stream_cut_anywhere_is_the_same_stream(cuts in proptest::collection::vec(1..60_usize, 1..30), anthropic: bool) {
            let protocol = if anthropic { A } else { O };
            let whole = sse(protocol, &refs(&text(protocol)), "\r\n", 1);
            let bytes: Vec<u8> = whole.steps.iter().flat_map(|step| match step {
                Step::Send(bytes) => bytes.clone(),
                _ => Vec::new(),
            }).collect();
            let mut pieces = Vec::new();
            let mut rest = &bytes[..];
            for cut in cuts.iter().cycle() {
                if rest.is_empty() { break }
                let (piece, after) = rest.split_at((*cut).min(rest.len()));
                pieces.push(piece.to_vec());
                rest = after;
            }
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            let outcome = runtime.block_on(stream(protocol, Response::stream(pieces)));
            proptest::prop_assert_eq!(outcome.text(), T);
            proptest::prop_assert!(outcome.result.is_ok());
        }
    }
}
