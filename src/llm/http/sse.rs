//! Server-sent events, as <https://html.spec.whatwg.org/multipage/server-sent-events.html> reads them.
//!
//! Framing is `sse-stream` 0.3: right on every cut of LF, CR, CRLF, byte order mark, comment and field without a
//! space, and linear. Two things are put around it: a blank line at a clean end, because the crate drops a last
//! event that lacks one, and U+FFFD for bytes that are not UTF-8, because the crate ends the stream there where the
//! standard goes on. Also tried: `eventsource-stream` 0.2, which panics on a byte order mark and is quadratic.

use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use bytes::Bytes;
use futures_util::{Stream, StreamExt as _, stream};
use sse_stream::SseByteStream;

use crate::error::{LlmCode, LlmError};

/// One event that has data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Event {
    /// The `event:` field; `None` where it is missing or empty.
    pub name: Option<String>,
    pub data: String,
    /// The body ended in it: no blank line came, and there may be more that did not come.
    pub is_cut: bool,
}

/// The events of a body. An error of `source` comes after the events before it and ends them.
pub(crate) fn events<S>(source: S) -> impl Stream<Item = Result<Event, LlmError>> + Send
where
    S: Stream<Item = Result<Bytes, LlmError>> + Send,
{
    let ended = Arc::new(AtomicBool::new(false));
    let text = Text {
        source: Box::pin(source),
        cut: Vec::new(),
        ended: ended.clone(),
    };
    let text = stream::unfold(text, |mut text| async {
        let piece = text.next().await?;
        Some((piece, text))
    });
    SseByteStream::new(Box::pin(text)).filter_map(move |block| {
        let event = match block {
            Ok(block) => block
                .data
                .filter(|data| !data.is_empty())
                .map(|data| Event {
                    name: block.event.filter(|name| !name.is_empty()),
                    data,
                    is_cut: ended.load(Ordering::Relaxed),
                })
                .map(Ok),
            Err(sse_stream::Error::Body(error)) => Some(Err(*error
                .downcast::<LlmError>()
                .unwrap_or_else(|other| Box::new(unreadable(&*other))))),
            Err(other) => Some(Err(unreadable(&other))),
        };
        std::future::ready(event)
    })
}

fn unreadable(error: &dyn std::error::Error) -> LlmError {
    LlmError {
        message: format!("the event stream cannot be read: {error}"),
        code: LlmCode::InvalidResponse.into(),
        ..LlmError::default()
    }
}

/// The body as valid UTF-8, with a blank line after its clean end.
struct Text<S> {
    source: Pin<Box<S>>,
    /// The start of a character whose rest is in the next piece; at most three bytes.
    cut: Vec<u8>,
    ended: Arc<AtomicBool>,
}

impl<S: Stream<Item = Result<Bytes, LlmError>>> Text<S> {
    async fn next(&mut self) -> Option<Result<Bytes, LlmError>> {
        if self.ended.load(Ordering::Relaxed) {
            return None;
        }
        match self.source.next().await {
            Some(Ok(piece)) => Some(Ok(self.valid(piece))),
            Some(Err(error)) => {
                self.ended.store(true, Ordering::Relaxed);
                Some(Err(error))
            }
            None => {
                self.ended.store(true, Ordering::Relaxed);
                let cut = String::from_utf8_lossy(&self.cut);
                Some(Ok(Bytes::from(format!("{cut}\n\n"))))
            }
        }
    }

    fn valid(&mut self, piece: Bytes) -> Bytes {
        let piece = if self.cut.is_empty() {
            piece
        } else {
            let mut whole = std::mem::take(&mut self.cut);
            whole.extend_from_slice(&piece);
            Bytes::from(whole)
        };
        let Err(error) = std::str::from_utf8(&piece) else {
            return piece;
        };
        if error.error_len().is_none() {
            self.cut = piece.slice(error.valid_up_to()..).to_vec();
            return piece.slice(..error.valid_up_to());
        }
        let mut clean = String::with_capacity(piece.len() + 8);
        let mut chunks = piece.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            clean.push_str(chunk.valid());
            let rest = chunk.invalid();
            let unfinished = chunks.peek().is_none()
                && std::str::from_utf8(rest).is_err_and(|error| error.error_len().is_none());
            if unfinished {
                self.cut = rest.to_vec();
            } else if !rest.is_empty() {
                clean.push('\u{fffd}');
            }
        }
        Bytes::from(clean)
    }
}

#[cfg(test)]
mod tests;
