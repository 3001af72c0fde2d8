use futures_util::FutureExt as _;

use super::*;

fn read(pieces: Vec<Vec<u8>>) -> Vec<(Option<String>, String)> {
    let source = stream::iter(pieces.into_iter().map(|piece| Ok(Bytes::from(piece))));
    let events: Vec<_> = events(source).collect().now_or_never().unwrap();
    events
        .into_iter()
        .map(|event| event.map(|event| (event.name, event.data)).unwrap())
        .collect()
}

fn data(texts: &[&str]) -> Vec<(Option<String>, String)> {
    texts
        .iter()
        .map(|text| (None, (*text).to_owned()))
        .collect()
}

#[test]
fn the_standard_is_followed() {
    let cases: [(&[u8], &[&str]); 15] = [
        (b"data: a\n\ndata: b\n\n", &["a", "b"]),
        (b"data: a\r\n\r\ndata: b\r\n\r\n", &["a", "b"]),
        (b"data: a\r\rdata: b\r\r", &["a", "b"]),
        (b"\xef\xbb\xbfdata: a\n\n", &["a"]),
        (b"\xef\xbb\xbf: hello\n\ndata: a\n\n", &["a"]),
        (b": comment\n\n:\n\n\n\ndata:a\n\n", &["a"]),
        (b"data: a\ndata: b\ndata:\n\n", &["a\nb\n"]),
        (b"data:  a\n\n", &[" a"]),
        (b"data\n\ndata: b\n\n", &["b"]),
        (b"id: 7\nretry: 3\nweird: x\ndata: a\n\n", &["a"]),
        (b"event: x\n\ndata: a\n\n", &["a"]),
        (b"data: last", &["last"]),
        (b"data: last\n", &["last"]),
        (b"data: last\r", &["last"]),
        (
            b"data: a\xff\xe6\x97b\n\ndata: \xf0\x9f",
            &["a\u{fffd}\u{fffd}b", "\u{fffd}"],
        ),
    ];
    for (bytes, expected) in cases {
        let text = String::from_utf8_lossy(bytes);
        assert_eq!(read(vec![bytes.to_vec()]), data(expected), "{text:?}");
        let one_by_one = bytes.iter().map(|byte| vec![*byte]).collect();
        assert_eq!(read(one_by_one), data(expected), "{text:?} byte by byte");
    }
}

#[test]
fn the_name_of_an_event_is_kept() {
    let named = Some("error".to_owned());
    assert_eq!(
        read(vec![b"event: error\ndata: x\n\n".to_vec()]),
        [(named, "x".to_owned())]
    );
    assert_eq!(read(vec![b"event:\ndata: x\n\n".to_vec()]), data(&["x"]));
}

#[test]
fn an_error_of_the_body_comes_after_what_was_read() {
    let broken = LlmError {
        code: "connection".to_owned(),
        ..LlmError::default()
    };
    let source = stream::iter([Ok(Bytes::from("data: a\n\ndata: half")), Err(broken)]);
    let read: Vec<_> = events(source).collect().now_or_never().unwrap();
    assert_eq!(read.len(), 2);
    assert_eq!(read[0].as_ref().unwrap().data, "a");
    assert_eq!(read[1].as_ref().unwrap_err().code, "connection");
}

#[test]
fn a_long_event_comes_whole_from_many_pieces() {
    let long = format!("data: {}\n\n", "é".repeat(2 * 1024 * 1024));
    let pieces = long.as_bytes().chunks(16 * 1024 - 1).map(<[u8]>::to_vec);
    assert_eq!(read(pieces.collect())[0].1.len(), 4 * 1024 * 1024);
}

proptest::proptest! {
    #[test]
    fn any_cut_gives_the_same_events(
        lines in proptest::collection::vec("(data: ?[a-zé🎉]{0,4}|event: x|: c|id: 1|)", 0..12),
        ends in proptest::collection::vec(0..3_usize, 12),
        cuts in proptest::collection::vec(1..9_usize, 1..40),
    ) {
        let mut body = Vec::new();
        for (line, end) in lines.iter().zip(&ends) {
            body.extend_from_slice(line.as_bytes());
            body.extend_from_slice([&b"\n"[..], b"\r\n", b"\r"][*end]);
        }
        let whole = read(vec![body.clone()]);
        let mut pieces = Vec::new();
        let mut rest = &body[..];
        for cut in cuts.iter().cycle() {
            if rest.is_empty() { break }
            let (piece, after) = rest.split_at((*cut).min(rest.len()));
            pieces.push(piece.to_vec());
            rest = after;
        }
        proptest::prop_assert_eq!(read(pieces), whole);
    }
}
