//! Connections and attempts.

use std::{
    sync::{Arc, Mutex, OnceLock, PoisonError},
    time::{Duration, SystemTime},
};

use reqwest::{Client, Response, StatusCode, Url, header, redirect};
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

use super::{
    Endpoint,
    body::{Body, Late, Reply, before, late},
    endpoint::without_query,
    outgoing::Outgoing,
    retry, tls,
};
use crate::{
    error::{LlmCode, LlmError},
    plant,
};

/// As many as `fetch` follows.
const MOST_REDIRECTS: usize = 20;
/// Connections kept after a burst; the others are closed as they end.
const MOST_IDLE: usize = 32;
/// The body of a refusal is read for its message only.
const LONGEST_REFUSAL: usize = 256 * 1024;
const SLOWEST_REFUSAL: Duration = Duration::from_secs(10);

/// A pool of connections, to be kept and shared by everything that calls providers from one runtime.
///
/// Made empty; certificates and proxy settings (`HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY`, `NO_PROXY`, the system's on
/// macOS and Windows) are read at the first request. Dropping the last clone closes what is idle.
#[derive(Debug, Clone, Default)]
pub struct Http(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    tls: OnceLock<Result<rustls::ClientConfig, String>>,
    client: Mutex<Option<Client>>,
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
        body: Outgoing,
    ) -> Result<Reply<'e>, LlmError> {
        // Made before the first deadline begins: reading the system's certificates takes a moment.
        let client = self
            .client()
            .map_err(|problem| endpoint.error(LlmCode::Connection, &problem))?;
        let mut attempt = 0;
        loop {
            let failed = match self.attempt(&client, endpoint, &body).await {
                Ok(reply) => return Ok(reply),
                Err(error) => error,
            };
            if !failed.retryable || attempt >= endpoint.limits().max_retries {
                return Err(failed);
            }
            let wait = retry::wait(failed.retry_after, attempt, retry::chance());
            let given_up = GivenUp(self);
            tokio::time::sleep(wait).await;
            std::mem::forget(given_up);
            attempt += 1;
        }
    }

    async fn attempt<'e>(
        &self,
        client: &Client,
        endpoint: &'e Endpoint,
        body: &Outgoing,
    ) -> Result<Reply<'e>, LlmError> {
        plant::panic_at("llm.request");
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
            let body = Body::new(endpoint, response, deadline, self.0.closing.clone());
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

    fn client(&self) -> Result<Client, String> {
        let mut kept = self.kept_client();
        if let Some(client) = &*kept {
            return Ok(client.clone());
        }
        let tls = self
            .0
            .tls
            .get_or_init(|| tls::client_config().map_err(|error| format!("no TLS: {error}")));
        let client = Client::builder()
            .tls_backend_preconfigured(tls.clone()?)
            .redirect(redirect::Policy::none())
            .referer(false)
            .tcp_nodelay(true)
            .pool_max_idle_per_host(MOST_IDLE)
            .build()
            .map_err(|error| format!("no HTTP client: {error}"))?;
        Ok(kept.insert(client).clone())
    }

    fn kept_client(&self) -> std::sync::MutexGuard<'_, Option<Client>> {
        self.0.client.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Dropped while a call waits for its next attempt: the caller has given up, and no connection is to stay for it.
///
/// The one of the refused attempt is among the idle ones by then. It cannot be told from them, so they all go, with
/// the client that keeps them; connections in use live on.
struct GivenUp<'h>(&'h Http);

impl Drop for GivenUp<'_> {
    fn drop(&mut self) {
        self.0.kept_client().take();
    }
}

/// Sends until there are headers, through redirects that stay at home.
async fn send(client: &Client, endpoint: &Endpoint, body: &Outgoing) -> Result<Response, LlmError> {
    let mut url = endpoint.url().clone();
    for _ in 0..MOST_REDIRECTS {
        let response = client
            .post(url.clone())
            .headers(endpoint.headers().clone())
            .body(body.to_body())
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
                    ..endpoint.error(LlmCode::Http(status), &message)
                });
            }
        }
    }
    Err(endpoint.error(
        LlmCode::TooManyRedirects,
        "the server redirects without end",
    ))
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
