//! The adapters against servers that speak byte for byte.

mod answers;
mod captures;
mod connections;
mod environment;
mod events;
mod failures;
mod player;
mod secrets;
mod streams;

use std::sync::Arc;

use super::{
    Adapter, Chunk, Completion, Env, Factory, Joiner, Messages, Options, Request, create,
    http::Http,
};
use crate::{
    error::LlmError,
    message::{MessageBuilder, Role},
    text::Text,
};
use player::{Player, Response};

const T: &str = "Grüße 日本語 🎉🇫🇷 end";
const KEY: &str = "sk-test-0123456789";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Protocol {
    OpenAi,
    Anthropic,
}

use Protocol::{Anthropic as A, OpenAi as O};

fn adapter(protocol: Protocol, base: &str, more: &str, http: &Http) -> Arc<dyn Adapter> {
    let json = format!(
        r#"{{"model":"m","apiKey":"{KEY}","baseURL":"{base}","maxContextTokens":1000{more}}}"#
    );
    let factory = match protocol {
        O => Factory::OpenAiCompatible,
        A => Factory::Anthropic,
    };
    let options = Options::parse(&json).unwrap();
    create(factory, options, Env(&|_| None), http)
        .unwrap()
        .adapter
}

fn hello() -> Messages {
    vec![MessageBuilder::new(Role::User, Text::from("hello")).build()].into()
}

fn ask(messages: &Messages) -> Request<'_> {
    Request {
        messages,
        fragments: None,
        tools: &[],
        max_tokens: None,
        temperature: None,
    }
}

/// What a call came to.
#[derive(Debug)]
struct Outcome {
    chunks: Vec<Chunk>,
    result: Result<(), LlmError>,
}

impl Outcome {
    fn text(&self) -> String {
        self.pieces().concat()
    }

    fn pieces(&self) -> Vec<String> {
        let deltas = self.chunks.iter().map(|chunk| chunk.delta.to_plain());
        deltas.filter(|delta| !delta.is_empty()).collect()
    }

    fn join(&self) -> Result<Completion, LlmError> {
        let mut joiner = Joiner::new("test");
        self.chunks.iter().for_each(|chunk| joiner.push(chunk));
        joiner.finish()
    }

    #[track_caller]
    fn good(self) -> Completion {
        assert!(self.result.is_ok(), "{:?}", self.result);
        let last = self.chunks.last().unwrap();
        assert!(
            last.finish_reason.is_some(),
            "finish comes last: {:?}",
            self.chunks
        );
        self.join().unwrap()
    }

    #[track_caller]
    fn error(self) -> LlmError {
        self.result.unwrap_err()
    }
}

async fn stream_from(protocol: Protocol, player: &Player, more: &str) -> Outcome {
    let adapter = adapter(protocol, &player.base(), more, &Http::new());
    let mut chunks = Vec::new();
    let messages = hello();
    let result = adapter
        .stream(ask(&messages), &mut |chunk| chunks.push(chunk))
        .await;
    let result = result.map(drop);
    Outcome { chunks, result }
}

async fn complete_from(
    protocol: Protocol,
    player: &Player,
    more: &str,
) -> Result<Completion, LlmError> {
    let adapter = adapter(protocol, &player.base(), more, &Http::new());
    adapter.complete(ask(&hello())).await
}

async fn stream(protocol: Protocol, response: Response) -> Outcome {
    let player = Player::start(vec![response]).await;
    let outcome = stream_from(protocol, &player, "").await;
    assert_eq!(player.requests().len(), 1, "one attempt");
    outcome
}

async fn complete(protocol: Protocol, body: &str) -> Result<Completion, LlmError> {
    let player = Player::start(vec![Response::json(200, body)]).await;
    let completion = complete_from(protocol, &player, "").await;
    assert_eq!(player.requests().len(), 1, "one attempt");
    completion
}

/// Events as a stream, cut where `cut` says: 0 one event a piece, else so many bytes.
fn sse(protocol: Protocol, events: &[&str], end: &str, cut: usize) -> Response {
    let pieces: Vec<Vec<u8>> = events
        .iter()
        .map(|data| match protocol {
            A if data.starts_with('{') => {
                let value: serde_json::Value = serde_json::from_str(data).unwrap();
                let name = value["type"].as_str().unwrap_or("message").to_owned();
                format!("event: {name}{end}data: {data}{end}{end}").into_bytes()
            }
            _ => format!("data: {data}{end}{end}").into_bytes(),
        })
        .collect();
    if cut == 0 {
        return Response::stream(pieces);
    }
    let all = pieces.concat();
    Response::stream(all.chunks(cut).map(<[u8]>::to_vec).collect())
}

fn o_chunk(delta: &str, finish: &str) -> String {
    format!(
        r#"{{"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{{"index":0,"delta":{delta},"finish_reason":{finish}}}]}}"#
    )
}

fn o_text() -> Vec<String> {
    vec![
        o_chunk(r#"{"role":"assistant","content":""}"#, "null"),
        o_chunk(r#"{"content":"Grüße "}"#, "null"),
        o_chunk(r#"{"content":"日本語 "}"#, "null"),
        o_chunk(r#"{"content":"🎉🇫🇷 end"}"#, "null"),
        o_chunk("{}", r#""stop""#),
        "[DONE]".to_owned(),
    ]
}

fn a_start(usage: &str) -> String {
    format!(
        r#"{{"type":"message_start","message":{{"id":"msg_1","type":"message","role":"assistant","content":[],"model":"m","stop_reason":null,"stop_sequence":null,"usage":{usage}}}}}"#
    )
}

fn a_block(index: u32, block: &str) -> String {
    format!(r#"{{"type":"content_block_start","index":{index},"content_block":{block}}}"#)
}

fn a_delta(index: u32, delta: &str) -> String {
    format!(r#"{{"type":"content_block_delta","index":{index},"delta":{delta}}}"#)
}

fn a_said(index: u32, text: &str) -> String {
    a_delta(
        index,
        &format!(r#"{{"type":"text_delta","text":"{text}"}}"#),
    )
}

fn a_stop(index: u32) -> String {
    format!(r#"{{"type":"content_block_stop","index":{index}}}"#)
}

fn a_end(reason: &str, usage: &str) -> String {
    format!(
        r#"{{"type":"message_delta","delta":{{"stop_reason":"{reason}","stop_sequence":null}},"usage":{usage}}}"#
    )
}

const A_TEXT: &str = r#"{"type":"text","text":""}"#;
const A_LAST: &str = r#"{"type":"message_stop"}"#;
const A_PING: &str = r#"{"type":"ping"}"#;
const A_USAGE: &str = r#"{"input_tokens":9,"output_tokens":1}"#;
const A_DONE: &str = r#"{"output_tokens":6}"#;

fn a_text() -> Vec<String> {
    vec![
        a_start(A_USAGE),
        a_block(0, A_TEXT),
        A_PING.to_owned(),
        a_said(0, "Grüße "),
        a_said(0, "日本語 "),
        a_said(0, "🎉🇫🇷 end"),
        a_stop(0),
        a_end("end_turn", A_DONE),
        A_LAST.to_owned(),
    ]
}

fn text(protocol: Protocol) -> Vec<String> {
    match protocol {
        O => o_text(),
        A => a_text(),
    }
}

fn refs(events: &[String]) -> Vec<&str> {
    events.iter().map(String::as_str).collect()
}

fn answer(protocol: Protocol, content: &str) -> String {
    match protocol {
        O => format!(
            r#"{{"id":"c1","object":"chat.completion","choices":[{{"index":0,"message":{{"role":"assistant","content":"{content}"}},"finish_reason":"stop"}}],"usage":{{"prompt_tokens":5,"completion_tokens":3,"total_tokens":8}}}}"#
        ),
        A => format!(
            r#"{{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{{"type":"text","text":"{content}"}}],"stop_reason":"end_turn","stop_sequence":null,"usage":{{"input_tokens":9,"output_tokens":6}}}}"#
        ),
    }
}

fn calls(completion: &Completion) -> Vec<(String, String)> {
    let calls = completion.tool_calls.iter();
    calls
        .map(|call| (call.name.to_plain(), call.input.to_string()))
        .collect()
}
