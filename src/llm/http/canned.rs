//! A reply without a server.

use bytes::Bytes;
use futures_util::stream;
use reqwest::Response;
use tokio_util::sync::CancellationToken;

use super::{Endpoint, Reply, body::Body};

impl<'e> Reply<'e> {
    /// What a server would have sent in `pieces`.
    pub(crate) fn canned(endpoint: &'e Endpoint, content_type: &str, pieces: Vec<Vec<u8>>) -> Self {
        let pieces = pieces
            .into_iter()
            .map(|piece| Ok::<_, std::io::Error>(Bytes::from(piece)));
        let body = reqwest::Body::wrap_stream(stream::iter(pieces));
        let response = Response::from(http::Response::new(body));
        Self {
            body: Body::new(endpoint, response, None, CancellationToken::new()),
            content_type: content_type.to_owned(),
            request_id: None,
        }
    }
}
