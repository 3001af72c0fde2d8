//! The bytes of a response, and how long they may take.

use std::time::Duration;

use bytes::Bytes;
use futures_util::{FutureExt as _, Stream, stream};
use reqwest::Response;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

use super::Endpoint;
use crate::error::{LlmCode, LlmError};

/// What may still come after the last event so that the connection can be used again.
const LONGEST_REST: usize = 16 * 1024;
const SLOWEST_REST: Duration = Duration::from_millis(50);

/// A response with a good status.
pub(crate) struct Reply<'e> {
    pub(crate) body: Body<'e>,
    /// Lower case; empty where there is none.
    pub(crate) content_type: String,
    pub(crate) request_id: Option<String>,
}

/// The bytes of a response. Dropping it closes the connection, unless it has been read to its end.
pub(crate) struct Body<'e> {
    endpoint: &'e Endpoint,
    closing: CancellationToken,
    /// `None` once it has ended.
    response: Option<Response>,
    deadline: Option<Instant>,
    idle: Option<Duration>,
}

impl<'e> Body<'e> {
    pub(super) fn new(
        endpoint: &'e Endpoint,
        response: Response,
        deadline: Option<Instant>,
        closing: CancellationToken,
    ) -> Self {
        Self {
            endpoint,
            closing,
            response: Some(response),
            deadline,
            idle: None,
        }
    }

    /// From now on, silence for the endpoint's `idle_timeout` is an error.
    pub(crate) fn watch_silence(&mut self) {
        self.idle = Some(self.endpoint.limits().idle_timeout);
    }

    /// The next piece, decompressed; `None` at the end.
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, LlmError> {
        let Some(response) = &mut self.response else {
            return Ok(None);
        };
        let silent = self.idle.and_then(|idle| Instant::now().checked_add(idle));
        let first = [self.deadline, silent].into_iter().flatten().min();
        let piece = match before(first, response.chunk()).await {
            Ok(piece) => piece.map_err(|error| self.endpoint.disconnected(error))?,
            Err(Late) if first == self.deadline => return Err(late(self.endpoint)),
            Err(Late) => {
                let ms = self.endpoint.limits().idle_timeout.as_millis();
                let message = format!("no byte came for {ms} ms (idleTimeoutMs)");
                return Err(LlmError {
                    retryable: true,
                    ..self.endpoint.error(LlmCode::Timeout, &message)
                });
            }
        };
        if piece.is_none() {
            self.response = None;
        }
        Ok(piece)
    }

    /// Everything that is left.
    pub(crate) async fn all(&mut self) -> Result<Vec<u8>, LlmError> {
        let mut all = Vec::new();
        while let Some(piece) = self.next().await? {
            all.extend_from_slice(&piece);
        }
        Ok(all)
    }

    /// The rest as a stream that ends at the first error.
    pub(crate) fn pieces(&mut self) -> impl Stream<Item = Result<Bytes, LlmError>> + Send {
        stream::unfold(Some(self), |body| async {
            let body = body?;
            match body.next().await {
                Ok(piece) => piece.map(|piece| (Ok(piece), Some(body))),
                Err(error) => Some((Err(error), None)),
            }
        })
    }

    /// Gives the connection back without waiting: nothing more of the body is wanted.
    ///
    /// An HTTP/1 connection can be used again only when its response has been read to the end. After the last
    /// event that end is on its way, a few bytes; it is taken off the wire behind the caller's back. If it does not
    /// come at once the connection is closed.
    pub(crate) fn release(mut self) {
        let Some(mut response) = self.response.take() else {
            return;
        };
        if let Some(Ok(None)) = response.chunk().now_or_never() {
            return;
        }
        let closing = self.closing.clone();
        tokio::spawn(async move {
            let rest = async {
                let mut read = 0;
                while let Ok(Some(piece)) = response.chunk().await {
                    read += piece.len();
                    if read > LONGEST_REST {
                        break;
                    }
                }
            };
            tokio::select! {
                () = rest => {}
                () = tokio::time::sleep(SLOWEST_REST) => {}
                () = closing.cancelled() => {}
            }
        });
    }
}

/// A deadline has passed.
pub(super) struct Late;

pub(super) async fn before<T>(
    deadline: Option<Instant>,
    future: impl Future<Output = T> + Send,
) -> Result<T, Late> {
    match deadline {
        Some(deadline) => timeout_at(deadline, future).await.map_err(|_| Late),
        None => Ok(future.await),
    }
}

pub(super) fn late(endpoint: &Endpoint) -> LlmError {
    let ms = endpoint.limits().timeout.as_millis();
    let message = format!("the attempt was not finished within {ms} ms (timeoutMs)");
    LlmError {
        retryable: true,
        ..endpoint.error(LlmCode::Timeout, &message)
    }
}
