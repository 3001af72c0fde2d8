//! How an answer is read, whatever the protocol: provider event → [`Piece`] → public chunk.

use std::pin::pin;

use bytes::Bytes;
use futures_util::{StreamExt as _, stream};

use super::{
    Chunk, ChunkSink, Completion, Usage,
    http::{Endpoint, Event, Fault, Reply, events},
    tool_calls::Joiner,
};
use crate::{error::LlmError, plant, text::Text};

/// What one event of a provider says.
#[derive(Debug, Default)]
pub(super) struct Piece {
    /// Text, reasoning and fragments of tool calls, as sent.
    pub chunk: Chunk,
    /// The usage as far as it is known now: a later one replaces it.
    pub usage: Option<Usage>,
    pub finish_reason: Option<Text>,
    /// The provider said that nothing comes after this.
    pub last: bool,
}

/// A whole answer in one document, tool arguments not yet read.
#[derive(Debug, Default)]
pub(super) struct Document {
    pub chunk: Chunk,
    /// Whether it held text at all, be it empty.
    pub has_content: bool,
}

/// One protocol's reader of one answer.
pub(super) trait Decode: Send {
    fn event(&mut self, event: &Event) -> Result<Piece, Fault>;
    fn document(&mut self, json: &str) -> Result<Document, Fault>;
}

/// Reads an answer that was asked for in one piece.
pub(super) async fn whole(
    endpoint: &Endpoint,
    mut reply: Reply<'_>,
    decoder: &mut dyn Decode,
) -> Result<Completion, LlmError> {
    let request_id = reply.request_id.take();
    let at_home = |error: LlmError| at_home(endpoint, request_id.as_deref(), error);
    let body = reply.body.all().await.map_err(at_home)?;
    plant::panic_at("llm.whole");
    let document = document(&body, &reply.content_type, decoder)
        .map_err(|fault| endpoint.fault(fault, request_id.as_deref()))?;
    let mut joiner = Joiner::new(endpoint.provider());
    joiner.push(&document.chunk);
    let mut completion = joiner.finish().map_err(at_home)?;
    if !document.has_content {
        completion.content = None;
    }
    Ok(completion)
}

/// Reads an answer that was asked for as a stream. Usage and finish reason come with the last chunk.
pub(super) async fn streamed(
    endpoint: &Endpoint,
    mut reply: Reply<'_>,
    decoder: &mut dyn Decode,
    sink: ChunkSink<'_>,
) -> Result<Joiner, LlmError> {
    let request_id = reply.request_id.take();
    let at_home = |error: LlmError| at_home(endpoint, request_id.as_deref(), error);
    let fault = |fault: Fault| endpoint.fault(fault, request_id.as_deref());
    let mut joiner = Joiner::new(endpoint.provider());
    let mut give = |mut chunk: Chunk| {
        joiner.push_and_number(&mut chunk);
        sink(chunk);
    };
    reply.body.watch_silence();
    let begin = beginning(&mut reply).await.map_err(at_home)?;
    let document = match begin.first() {
        None => return Err(fault(Fault::invalid("the response is empty"))),
        Some(b'{' | b'[') => true,
        Some(_) => reply.content_type.contains("html"),
    };
    if document {
        let mut body = begin.to_vec();
        body.extend(reply.body.all().await.map_err(at_home)?);
        let document = self::document(&body, &reply.content_type, decoder).map_err(fault)?;
        give(document.chunk);
        return Ok(joiner);
    }

    let commented = begin.starts_with(b":");
    let mut ending = Ending::default();
    let mut any = false;
    {
        let rest = stream::once(async { Ok::<Bytes, LlmError>(begin) }).chain(reply.body.pieces());
        let mut events = pin!(events(rest));
        while let Some(event) = events.next().await {
            let event = match event {
                Ok(event) => event,
                // The answer was whole; only the goodbye is missing.
                Err(_) if ending.finish_reason.is_some() => break,
                Err(error) => return Err(at_home(error)),
            };
            any = true;
            plant::panic_at("llm.event");
            let piece = match decoder.event(&event) {
                Ok(piece) => piece,
                Err(nonsense) if nonsense.is_invalid() && ending.finish_reason.is_some() => break,
                Err(nonsense) if nonsense.is_invalid() && event.is_cut => {
                    return Err(fault(Fault::incomplete()));
                }
                Err(error) => return Err(fault(error)),
            };
            if !is_empty(&piece.chunk) {
                give(piece.chunk);
            }
            ending.usage = piece.usage.or(ending.usage);
            ending.finish_reason = piece.finish_reason.or(ending.finish_reason);
            if piece.last {
                ending.said = true;
                break;
            }
        }
    }
    if ending.said || ending.finish_reason.is_some() {
        reply.body.release();
        if let Some(chunk) = ending.chunk() {
            give(chunk);
        }
        return Ok(joiner);
    }
    Err(fault(if any || commented {
        Fault::incomplete()
    } else {
        Fault::invalid("the response is not an event stream")
    }))
}

#[derive(Default)]
struct Ending {
    usage: Option<Usage>,
    finish_reason: Option<Text>,
    said: bool,
}

impl Ending {
    fn chunk(self) -> Option<Chunk> {
        (self.usage.is_some() || self.finish_reason.is_some()).then(|| Chunk {
            usage: self.usage,
            finish_reason: self.finish_reason,
            ..Chunk::default()
        })
    }
}

/// The first bytes, up to one that tells a document from a stream: white space and a byte order mark before it say
/// nothing in either, and some servers send much of it while they think.
async fn beginning(reply: &mut Reply<'_>) -> Result<Bytes, LlmError> {
    let mut begin = Vec::new();
    while let Some(piece) = reply.body.next().await? {
        begin.extend_from_slice(&piece);
        begin.drain(..begin.len() - after_nothing(&begin).len());
        if !MARK.starts_with(&begin) {
            break;
        }
    }
    Ok(Bytes::from(begin))
}

const MARK: &[u8] = b"\xef\xbb\xbf";

/// What follows white space and byte order marks, in whatever order they come: which of them are in one piece is chance.
fn after_nothing(mut bytes: &[u8]) -> &[u8] {
    loop {
        bytes = bytes.trim_ascii_start();
        match bytes.strip_prefix(MARK) {
            Some(rest) => bytes = rest,
            None => return bytes,
        }
    }
}

/// Reads one JSON document, whatever type the server gave it.
fn document(body: &[u8], content_type: &str, decoder: &mut dyn Decode) -> Result<Document, Fault> {
    let text = String::from_utf8_lossy(after_nothing(body));
    let text = text.trim();
    if text.is_empty() {
        return Err(Fault::invalid("the response is empty"));
    }
    if !text.starts_with('{') {
        let kind = if content_type.is_empty() {
            "no content type"
        } else {
            content_type
        };
        return Err(
            Fault::invalid(format!("the response is not a JSON object ({kind})")).showing(text),
        );
    }
    decoder.document(text)
}

fn is_empty(chunk: &Chunk) -> bool {
    chunk.delta.is_empty()
        && chunk.reasoning_delta.as_ref().is_none_or(Text::is_empty)
        && chunk.tool_call_deltas.is_empty()
}

fn at_home(endpoint: &Endpoint, request_id: Option<&str>, mut error: LlmError) -> LlmError {
    error.request_id = error.request_id.or_else(|| request_id.map(str::to_owned));
    endpoint.redacted(error)
}
