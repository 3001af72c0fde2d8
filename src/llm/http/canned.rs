//! A reply without a server.

use std::{
    collections::VecDeque,
    convert::Infallible,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use http_body::Frame;
use reqwest::Response;
use tokio_util::sync::CancellationToken;

use super::{Endpoint, Reply, body::Body};

impl<'e> Reply<'e> {
    /// What a server would have sent in `pieces`.
    pub(crate) fn canned(endpoint: &'e Endpoint, content_type: &str, pieces: Vec<Vec<u8>>) -> Self {
        let body = reqwest::Body::wrap(Pieces(pieces.into()));
        let response = Response::from(http::Response::new(body));
        Self {
            body: Body::new(endpoint, response, None, CancellationToken::new()),
            content_type: content_type.to_owned(),
            request_id: None,
        }
    }
}

struct Pieces(VecDeque<Vec<u8>>);

impl http_body::Body for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let piece = self.0.pop_front();
        Poll::Ready(piece.map(|piece| Ok(Frame::data(Bytes::from(piece)))))
    }
}
