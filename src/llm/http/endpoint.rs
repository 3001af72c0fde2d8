//! Where an adapter sends its requests, and with what.

use std::{fmt, time::Duration};

use base64::{Engine as _, prelude::BASE64_STANDARD as BASE64};
use reqwest::{
    Url,
    header::{HeaderMap, HeaderName, HeaderValue},
};

use super::{Redactor, Secret};
use crate::error::{Error, Result};

/// How often and how long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Attempts after the first.
    pub max_retries: u32,
    /// One attempt, from connecting to its last byte.
    pub timeout: Duration,
    /// Silence while a stream is read.
    pub idle_timeout: Duration,
}

impl Default for Limits {
    /// 2 retries, 600 s, 60 s.
    fn default() -> Self {
        Self {
            max_retries: 2,
            timeout: Duration::from_mins(10),
            idle_timeout: Duration::from_mins(1),
        }
    }
}

/// One URL of one provider with its headers. Prints no secret.
#[derive(Clone)]
pub(crate) struct Endpoint {
    provider: &'static str,
    url: Url,
    headers: HeaderMap,
    redactor: Redactor,
    limits: Limits,
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint")
            .field("provider", &self.provider)
            .field("url", &without_query(self.url.as_str()))
            .finish_non_exhaustive()
    }
}

impl Endpoint {
    /// `path` is put behind the path of `base`; a query of `base` stays behind both.
    pub(crate) fn new(
        provider: &'static str,
        base: &str,
        path: &str,
        key: &Secret,
        limits: Limits,
    ) -> Result<Self> {
        let mut redactor = Redactor::default();
        redactor.add(key.expose());
        let url = join(base, path).map_err(|problem| {
            let shown = redactor.redact(base);
            Error::InvalidArgument(format!(
                "baseURL: {problem}, got {:?}",
                without_query(&shown)
            ))
        })?;
        for (name, value) in url.query_pairs() {
            if is_sensitive(&name) {
                redactor.add(&value);
            }
        }
        let mut endpoint = Self {
            provider,
            url,
            headers: HeaderMap::new(),
            redactor,
            limits,
        };
        endpoint.header("content-type", "application/json")?;
        endpoint.header("accept", "application/json")?;
        endpoint.header(
            "user-agent",
            concat!("stello-session/", env!("CARGO_PKG_VERSION")),
        )?;
        Ok(endpoint)
    }

    /// Adds the header that carries the key.
    pub(crate) fn key_header(&mut self, name: &str, scheme: &str, key: &Secret) -> Result<()> {
        let value = format!("{scheme}{}", key.expose());
        if !key.expose().is_ascii() || HeaderValue::from_str(&value).is_err() {
            return Err(Error::InvalidArgument(
                "apiKey: it has a character that a header cannot carry".to_owned(),
            ));
        }
        self.header(name, &value)
    }

    /// Adds a header or replaces it.
    pub(crate) fn header(&mut self, name: &str, value: &str) -> Result<()> {
        let shown = self.redactor.redact(name);
        let parsed = HeaderName::from_bytes(name.trim().as_bytes())
            .map_err(|_| Error::InvalidArgument(format!("headers: {shown:?} is not a name")))?;
        let refused = || {
            Error::InvalidArgument(format!(
                "headers: the value of {shown:?} has a character that a header cannot carry"
            ))
        };
        // As `fetch` does it: one byte a character, up to U+00FF.
        let bytes = value
            .trim()
            .chars()
            .map(|c| u8::try_from(u32::from(c)).map_err(|_| refused()))
            .collect::<Result<Vec<u8>>>()?;
        let mut encoded = HeaderValue::from_bytes(&bytes).map_err(|_| refused())?;
        if is_sensitive(parsed.as_str()) {
            encoded.set_sensitive(true);
            let value = value.trim();
            self.redactor.add(value);
            if let Some((scheme, credentials)) = value.split_once(' ') {
                self.redactor.add(credentials);
                if scheme.eq_ignore_ascii_case("basic") {
                    self.redact_basic(credentials);
                }
            }
        }
        self.headers.insert(parsed, encoded);
        Ok(())
    }

    /// `Basic` hides nothing: who reads it has the password.
    fn redact_basic(&mut self, credentials: &str) {
        let plain = BASE64.decode(credentials.trim()).ok();
        if let Some(plain) = plain.and_then(|plain| String::from_utf8(plain).ok()) {
            self.redactor.add(&plain);
            if let Some((_user, password)) = plain.split_once(':') {
                self.redactor.add(password);
            }
        }
    }

    pub(crate) fn provider(&self) -> &'static str {
        self.provider
    }

    pub(crate) fn url(&self) -> &Url {
        &self.url
    }

    pub(crate) fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    pub(crate) fn redactor(&self) -> &Redactor {
        &self.redactor
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }
}

/// Whether a header or a query field of this name holds a secret: `x-api-key`, `authorization`, `cookie`, but not
/// `x-token-limit`.
fn is_sensitive(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let last = name.rsplit(['-', '_']).next().unwrap_or_default();
    [
        "key",
        "auth",
        "authorization",
        "token",
        "secret",
        "cookie",
        "password",
        "sig",
        "signature",
        "credential",
    ]
    .contains(&last)
        || name.contains("apikey")
        || name.contains("api-key")
}

fn join(base: &str, path: &str) -> Result<Url, String> {
    let mut url = Url::parse(base.trim()).map_err(|error| format!("not a URL ({error})"))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err("expected http: or https:".to_owned());
    }
    if !url.username().is_empty() || url.password().is_some() {
        // `fetch` refuses these too; they would end up in logs.
        return Err("credentials belong into headers".to_owned());
    }
    url.set_fragment(None);
    let joined = format!("{}{path}", url.path().trim_end_matches('/'));
    url.set_path(&joined);
    Ok(url)
}

/// A URL for a message: what is before its query and without credentials.
pub(super) fn without_query(url: &str) -> String {
    let shown = url.split(['?', '#']).next().unwrap_or_default();
    match (shown.split_once("://"), shown.rfind('@')) {
        (Some((scheme, _)), Some(at)) => {
            format!("{scheme}://***{}", shown.get(at..).unwrap_or_default())
        }
        _ => shown.to_owned(),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn endpoint(base: &str, key: &str) -> Endpoint {
        let mut endpoint =
            Endpoint::new("openai", base, "/x", &Secret::new(key), Limits::default()).unwrap();
        endpoint
            .header("authorization", &format!("Bearer {key}"))
            .unwrap();
        endpoint
    }

    #[test]
    fn a_path_is_joined_before_the_query() {
        let cases = [
            ("https://h/v1", "https://h/v1/x"),
            (" https://h/v1/// ", "https://h/v1/x"),
            ("https://h", "https://h/x"),
            (
                "http://h:8/a/?api-version=1&b=2#f",
                "http://h:8/a/x?api-version=1&b=2",
            ),
        ];
        for (base, url) in cases {
            assert_eq!(endpoint(base, "k").url().as_str(), url);
        }
    }

    #[test]
    fn an_invalid_url_is_refused_without_its_secrets() {
        for base in [
            "",
            "h/v1",
            "ftp://h",
            "http://",
            "https://user:pass-sk-secret-1@h/?key=pass",
            "ht tp://sk-secret-1",
        ] {
            let key = Secret::new("sk-secret-1");
            let error = Endpoint::new("openai", base, "/x", &key, Limits::default()).unwrap_err();
            assert!(matches!(error, Error::InvalidArgument(_)));
            let message = error.to_string();
            assert!(
                !message.contains("secret") && !message.contains("pass"),
                "{message}"
            );
        }
    }

    #[test]
    fn a_secret_is_told_by_the_name_of_its_header() {
        for name in [
            "api-key",
            "X-Goog-Api-Key",
            "Authorization",
            "x-auth-token",
            "Cookie",
            "apikey",
            "sig",
        ] {
            assert!(is_sensitive(name), "{name}");
        }
        for name in [
            "x-token-limit",
            "x-title",
            "user-agent",
            "openai-organization",
            "x-design",
        ] {
            assert!(!is_sensitive(name), "{name}");
        }
    }

    #[test]
    fn a_header_is_replaced_whatever_its_case_and_its_secret_never_shown() {
        let mut endpoint = endpoint("https://h", "sk-1234567890");
        endpoint
            .header("Authorization", "Token other-secret")
            .unwrap();
        assert_eq!(
            endpoint.headers().get("authorization").unwrap(),
            "Token other-secret"
        );
        assert_eq!(
            endpoint.redactor().redact("other-secret sk-1234567890"),
            "*** ***"
        );
        let shown = format!("{endpoint:?}");
        assert!(
            !shown.contains("other-secret") && !shown.contains("sk-12"),
            "{shown}"
        );
        for (name, value) in [("x y", "v"), ("x", "a\nb-sk-1234567890"), ("x", "日")] {
            let message = endpoint.header(name, value).unwrap_err().to_string();
            assert!(!message.contains("sk-12"), "{message}");
        }
    }
}
