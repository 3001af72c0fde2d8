//! Connections, attempts and bodies.

use std::{
    sync::{Arc, OnceLock},
    time::{Duration, SystemTime},
};

use bytes::Bytes;
use futures_util::{FutureExt as _, Stream, stream};
use reqwest::{Client, Response, StatusCode, Url, header, redirect};
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

use super::{Endpoint, endpoint::without_query, retry, tls};
use crate::error::LlmError;

/// As many as `fetch` follows.
const MOST_REDIRECTS: usize = 20;
/// The body of a refusal is read for its message only.
const LONGEST_REFUSAL: usize = 256 * 1024;
const SLOWEST_REFUSAL: Duration = Duration::from_secs(10);
/// What may still come after the last event so that the connection can be used again.
const LONGEST_REST: usize = 16 * 1024;
const SLOWEST_REST: Duration = Duration::from_millis(50);

/// A pool of connections, to be kept and shared by everything that calls providers from one runtime.
///
/// Made empty; certificates and proxy settings (`HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY`, `NO_PROXY`, the system's on
/// macOS and Windows) are read at the first request. Dropping the last clone closes what is idle.
#[derive(Debug, Clone, Default)]
pub struct Http(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    client: OnceLock<Result<Client, String>>,
    /// Ends the tasks that [`Body::release`] leaves behind.
    closing: CancellationToken,
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.closing.cancel();
    }
}

impl Http {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Posts `body`, again where that may help, until there is a good status or no hope.
    pub(crate) async fn post<'e>(
        &self,
        endpoint: &'e Endpoint,
        body: Bytes,
    ) -> Result<Reply<'e>, LlmError> {
        // Made before the first deadline begins: reading the system's certificates takes a moment.
        let client = self
            .client()
            .map_err(|problem| endpoint.error("connection", problem))?;
        let mut attempt = 0;
        loop {
            let failed = match self.attempt(client, endpoint, &body).await {
                Ok(reply) => return Ok(reply),
                Err(error) => error,
            };
            if !failed.retryable || attempt >= endpoint.limits().max_retries {
                return Err(failed);
            }
            let wait = retry::wait(failed.retry_after, attempt, retry::chance());
            tokio::time::sleep(wait).await;
            attempt += 1;
        }
    }

    async fn attempt<'e>(
        &self,
        client: &Client,
        endpoint: &'e Endpoint,
        body: &Bytes,
    ) -> Result<Reply<'e>, LlmError> {
        let deadline = Instant::now().checked_add(endpoint.limits().timeout);
        let response = before(deadline, send(client, endpoint, body))
            .await
            .unwrap_or_else(|Late| Err(late(endpoint)))?;
        let status = response.status();
        let request_id = ["x-request-id", "request-id"]
            .iter()
            .find_map(|name| response.headers().get(*name)?.to_str().ok())
            .map(str::to_owned);
        if status.is_success() {
            let content_type = response
                .headers()
                .get(header::CONTENT_TYPE)
                .and_then(|value| value.to_str().ok())
                .unwrap_or_default()
                .to_ascii_lowercase();
            let body = Body {
                endpoint,
                closing: self.0.closing.clone(),
                response: Some(response),
                deadline,
                idle: None,
            };
            return Ok(Reply {
                body,
                content_type,
                request_id,
            });
        }
        let retryable = retry::may_retry(status, response.headers());
        let retry_after = retry::asked_wait(response.headers(), SystemTime::now());
        let text = refusal(response, deadline).await;
        Err(LlmError {
            retryable,
            retry_after,
            ..endpoint.refused(status.as_u16(), request_id, &text)
        })
    }

    fn client(&self) -> Result<&Client, &str> {
        let made = self.0.client.get_or_init(|| {
            let tls = tls::client_config().map_err(|error| format!("no TLS: {error}"))?;
            Client::builder()
                .tls_backend_preconfigured(tls)
                .redirect(redirect::Policy::none())
                .referer(false)
                .tcp_nodelay(true)
                .build()
                .map_err(|error| format!("no HTTP client: {error}"))
        });
        made.as_ref().map_err(String::as_str)
    }
}

/// Sends until there are headers, through redirects that stay at home.
async fn send(client: &Client, endpoint: &Endpoint, body: &Bytes) -> Result<Response, LlmError> {
    let mut url = endpoint.url().clone();
    for _ in 0..MOST_REDIRECTS {
        let response = client
            .post(url.clone())
            .headers(endpoint.headers().clone())
            .body(body.clone())
            .send()
            .await
            .map_err(|error| endpoint.disconnected(error))?;
        match target(&url, &response) {
            None => return Ok(response),
            Some(next) if next.origin() == url.origin() => url = next,
            Some(next) => {
                // The key is for this origin alone, and so is the conversation.
                let status = response.status().as_u16();
                let next = without_query(next.as_str());
                let message =
                    format!("{status} redirect to another origin is not followed: {next}");
                return Err(LlmError {
                    status: Some(status),
                    ..endpoint.error(&format!("http_{status}"), &message)
                });
            }
        }
    }
    Err(endpoint.error("too_many_redirects", "the server redirects without end"))
}

/// Where a redirect that keeps method and body points to.
fn target(from: &Url, response: &Response) -> Option<Url> {
    let kept = matches!(
        response.status(),
        StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT
    );
    let location = response.headers().get(header::LOCATION)?;
    kept.then(|| {
        from.join(std::str::from_utf8(location.as_bytes()).ok()?)
            .ok()
    })?
}

/// What a refusal says, as far as it can be had soon.
async fn refusal(mut response: Response, deadline: Option<Instant>) -> String {
    let soon = Instant::now() + SLOWEST_REFUSAL;
    let deadline = deadline.map_or(soon, |deadline| deadline.min(soon));
    let mut text = Vec::new();
    while let Ok(Ok(Some(piece))) = timeout_at(deadline, response.chunk()).await {
        text.extend_from_slice(&piece);
        if text.len() > LONGEST_REFUSAL {
            break;
        }
    }
    String::from_utf8_lossy(&text).into_owned()
}

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

impl Body<'_> {
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
                    ..self.endpoint.error("timeout", &message)
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

struct Late;

async fn before<T>(
    deadline: Option<Instant>,
    future: impl Future<Output = T> + Send,
) -> Result<T, Late> {
    match deadline {
        Some(deadline) => timeout_at(deadline, future).await.map_err(|_| Late),
        None => Ok(future.await),
    }
}

fn late(endpoint: &Endpoint) -> LlmError {
    let ms = endpoint.limits().timeout.as_millis();
    let message = format!("the attempt was not finished within {ms} ms (timeoutMs)");
    LlmError {
        retryable: true,
        ..endpoint.error("timeout", &message)
    }
}
