//! The body of a request: written while it is sent, so that a long history is never there twice.

use std::{
    convert::Infallible,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};

/// A text that is made in pieces, as often as it has to be sent.
pub(crate) trait Script: Send + Sync + 'static {
    /// How many bytes it has.
    fn length(&self) -> usize;

    /// The piece that begins at the place `at` (0 is the beginning), and the place where the next one does.
    fn piece(&self, at: usize) -> (Bytes, Option<usize>);
}

/// A body that can be sent several times.
#[derive(Clone)]
pub(crate) enum Outgoing {
    Whole(Bytes),
    Long {
        length: usize,
        script: Arc<dyn Script>,
    },
}

impl From<String> for Outgoing {
    fn from(text: String) -> Self {
        Self::Whole(Bytes::from(text))
    }
}

impl Outgoing {
    pub(super) fn to_body(&self) -> reqwest::Body {
        match self {
            Self::Whole(bytes) => reqwest::Body::from(bytes.clone()),
            Self::Long { length, script } => reqwest::Body::wrap(Pieces {
                script: script.clone(),
                at: Some(0),
                left: *length,
            }),
        }
    }

    #[cfg(test)]
    pub(crate) fn to_text(&self) -> String {
        match self {
            Self::Whole(bytes) => String::from_utf8(bytes.to_vec()).unwrap(),
            Self::Long { length, script } => {
                let mut text = Vec::new();
                let mut at = Some(0);
                while let Some(next) = at {
                    let (piece, next) = script.piece(next);
                    text.extend_from_slice(&piece);
                    at = next;
                }
                assert_eq!(text.len(), *length, "the length that was promised");
                String::from_utf8(text).unwrap()
            }
        }
    }
}

struct Pieces {
    script: Arc<dyn Script>,
    at: Option<usize>,
    left: usize,
}

impl Body for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let Some(at) = self.at else {
            return Poll::Ready(None);
        };
        let (piece, next) = self.script.piece(at);
        self.at = next;
        self.left = self.left.saturating_sub(piece.len());
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.at.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left as u64)
    }
}
