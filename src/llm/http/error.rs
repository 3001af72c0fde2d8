//! What went wrong, told once for both protocols.

use std::error::Error as StdError;

use serde_json::Value;

use super::Endpoint;
use crate::error::LlmError;

/// How much of a body without a message of its own a person wants to read.
const LONGEST_TEXT: usize = 1_000;

/// A failure as a protocol's decoder sees it; [`Endpoint::fault`] makes the public error of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) message: String,
    pub(crate) code: Option<String>,
    pub(crate) kind: Option<String>,
    pub(crate) request_id: Option<String>,
    pub(crate) retryable: bool,
}

impl Fault {
    /// The provider answered something that its protocol does not allow.
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            code: Some("invalid_response".to_owned()),
            ..Self::default()
        }
    }

    /// The stream ended before the answer did.
    pub(crate) fn incomplete() -> Self {
        Self {
            message: "the stream ended before the answer was complete".to_owned(),
            code: Some("incomplete_stream".to_owned()),
            retryable: true,
            ..Self::default()
        }
    }

    /// An error that the provider reported in an answer that began well. `text` is its JSON.
    pub(crate) fn reported(text: &str) -> Self {
        let report = Report::read(text);
        let retryable = report.is_passing();
        Self {
            message: report
                .message
                .unwrap_or_else(|| format!("the provider reported an error: {}", cut(text))),
            code: Some(report.code.unwrap_or_else(|| "provider_error".to_owned())),
            kind: report.kind,
            request_id: report.request_id,
            retryable,
        }
    }
}

/// What can be read of an error body: `{ error: { message, type, code } }`, `{ error: "text" }`, the same without
/// the envelope (vLLM), or any of these in an array (Gemini).
#[derive(Debug, Default)]
struct Report {
    message: Option<String>,
    code: Option<String>,
    kind: Option<String>,
    request_id: Option<String>,
}

impl Report {
    fn read(text: &str) -> Self {
        let Ok(mut value) = serde_json::from_str::<Value>(text) else {
            return Self::default();
        };
        if let Value::Array(list) = &mut value {
            value = list.first_mut().map(Value::take).unwrap_or_default();
        }
        let request_id = string(&value, "request_id");
        let inner = match value.get("error") {
            None | Some(Value::Null) => &value,
            Some(Value::String(message)) => {
                return Self {
                    message: Some(message.clone()),
                    code: scalar(&value, "code"),
                    kind: string(&value, "type"),
                    request_id,
                };
            }
            Some(error) => error,
        };
        Self {
            message: string(inner, "message"),
            code: scalar(inner, "code"),
            kind: string(inner, "type"),
            request_id,
        }
    }

    /// Whether the provider's own words say that it is a matter of the moment.
    fn is_passing(&self) -> bool {
        let by_kind = self.kind.as_deref().is_some_and(|kind| {
            matches!(
                kind,
                "overloaded_error" | "api_error" | "server_error" | "timeout_error"
            ) || kind.starts_with("rate_limit")
        });
        let by_code = self.code.as_deref().is_some_and(|code| {
            code.starts_with("rate_limit")
                || code == "server_error"
                || code
                    .parse::<u16>()
                    .is_ok_and(|status| matches!(status, 408 | 409 | 429 | 500..=599))
        });
        by_kind || by_code
    }
}

impl Endpoint {
    /// An error of this endpoint; no secret is left in it.
    pub(crate) fn error(&self, code: &str, message: &str) -> LlmError {
        self.redacted(LlmError {
            message: message.to_owned(),
            code: code.to_owned(),
            ..LlmError::default()
        })
    }

    pub(crate) fn fault(&self, fault: Fault, request_id: Option<&str>) -> LlmError {
        self.redacted(LlmError {
            message: fault.message,
            code: fault.code.unwrap_or_else(|| "invalid_response".to_owned()),
            kind: fault.kind,
            request_id: request_id.map(str::to_owned).or(fault.request_id),
            retryable: fault.retryable,
            ..LlmError::default()
        })
    }

    /// A response that is an error by its status.
    pub(crate) fn refused(&self, status: u16, request_id: Option<String>, body: &str) -> LlmError {
        let report = Report::read(body);
        let text = report.message.as_deref().unwrap_or(body).trim();
        let text = self.redactor().redact(text);
        let message = if text.is_empty() {
            format!("{status} status code (no body)")
        } else {
            format!("{status} {}", cut(&text))
        };
        self.redacted(LlmError {
            message,
            status: Some(status),
            code: report.code.unwrap_or_else(|| format!("http_{status}")),
            kind: report.kind,
            request_id: request_id.or(report.request_id),
            ..LlmError::default()
        })
    }

    /// A failed connection, by the transport's own error.
    pub(crate) fn disconnected(&self, error: reqwest::Error) -> LlmError {
        // The URL may hold a secret in its query, and the caller knows it anyway.
        let error = error.without_url();
        let cause = chain(&error);
        let innermost = cause.rsplit(": ").next().unwrap_or_default();
        let (code, message) = if error.is_timeout() {
            ("timeout", format!("the connection timed out: {innermost}"))
        } else {
            ("connection", format!("the connection failed: {innermost}"))
        };
        self.redacted(LlmError {
            message,
            code: code.to_owned(),
            retryable: true,
            cause: Some(cause),
            ..LlmError::default()
        })
    }

    /// The error with this endpoint's provider, and without its secrets.
    pub(crate) fn redacted(&self, mut error: LlmError) -> LlmError {
        error.provider = self.provider();
        let clean = |text: &mut String| {
            if let std::borrow::Cow::Owned(redacted) = self.redactor().redact(text) {
                *text = redacted;
            }
        };
        clean(&mut error.message);
        clean(&mut error.code);
        for text in [&mut error.kind, &mut error.request_id, &mut error.cause]
            .into_iter()
            .flatten()
        {
            clean(text);
        }
        error
    }
}

/// The messages of an error and of everything beneath it.
fn chain(error: &dyn StdError) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(source) = next {
        let message = source.to_string();
        if !text.ends_with(&message) {
            text.push_str(": ");
            text.push_str(&message);
        }
        next = source.source();
    }
    text
}

/// The start of a body, for a message.
pub(crate) fn cut(text: &str) -> String {
    match text.char_indices().nth(LONGEST_TEXT) {
        None => text.to_owned(),
        Some((end, _)) => text.get(..end).unwrap_or_default().to_owned() + "…",
    }
}

fn string(value: &Value, name: &str) -> Option<String> {
    value.get(name)?.as_str().map(str::to_owned)
}

fn scalar(value: &Value, name: &str) -> Option<String> {
    match value.get(name)? {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint() -> Endpoint {
        super::super::endpoint::tests::endpoint("https://api.example.com", "sk-secret-123")
    }

    #[test]
    fn a_refusal_says_what_the_provider_said() {
        let long = "x".repeat(2_000);
        let cases = [
            (
                400,
                r#"{"error":{"message":"bad thing","type":"invalid_request_error","code":"bad_code"}}"#,
                "400 bad thing",
                "bad_code",
                Some("invalid_request_error"),
            ),
            (
                404,
                r#"{"detail":"Not Found"}"#,
                r#"404 {"detail":"Not Found"}"#,
                "http_404",
                None,
            ),
            (
                401,
                r#"{"error":"invalid key"}"#,
                "401 invalid key",
                "http_401",
                None,
            ),
            (403, "", "403 status code (no body)", "http_403", None),
            (
                500,
                r#"{"error":{"message":"m","type":null,"param":null,"code":500}}"#,
                "500 m",
                "500",
                None,
            ),
            (
                400,
                r#"{"object":"error","message":"m","type":"T","code":400}"#,
                "400 m",
                "400",
                Some("T"),
            ),
            (
                400,
                r#"[{"error":{"message":"m","code":400}}]"#,
                "400 m",
                "400",
                None,
            ),
            (
                502,
                "<html>Bad Gateway</html>",
                "502 <html>Bad Gateway</html>",
                "http_502",
                None,
            ),
            (
                500,
                r#"{"error":{"message":{"deep":1}}}"#,
                r#"500 {"error":{"message":{"deep":1}}}"#,
                "http_500",
                None,
            ),
        ];
        for (status, body, message, code, kind) in cases {
            let error = endpoint().refused(status, None, body);
            assert_eq!(
                (
                    error.message.as_str(),
                    error.code.as_str(),
                    error.kind.as_deref()
                ),
                (message, code, kind)
            );
            assert_eq!((error.status, error.provider), (Some(status), "openai"));
        }
        let error = endpoint().refused(500, None, &long);
        assert_eq!(error.message.chars().count(), 4 + LONGEST_TEXT + 1);
    }

    #[test]
    fn no_part_of_an_error_holds_the_key() {
        let body = r#"{"error":{"message":"no sk-secret-123","type":"t sk-secret-123","code":"sk-secret-123"}}"#;
        let error = endpoint().refused(401, Some("r-sk-secret-123".to_owned()), body);
        assert!(!format!("{error:?}").contains("sk-secret-123"), "{error:?}");
        assert_eq!(error.message, "401 no ***");
        let mut text = "x".repeat(LONGEST_TEXT - 5);
        text.push_str("sk-secret-123");
        assert!(
            !endpoint()
                .refused(500, None, &text)
                .message
                .contains("sk-s")
        );
    }

    #[test]
    fn a_report_in_a_good_answer_keeps_type_and_code() {
        let fault = Fault::reported(
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"req_1"}"#,
        );
        assert_eq!(
            (
                fault.message.as_str(),
                fault.kind.as_deref(),
                fault.code.as_deref()
            ),
            (
                "Overloaded",
                Some("overloaded_error"),
                Some("provider_error")
            )
        );
        assert_eq!(
            (fault.request_id.as_deref(), fault.retryable),
            (Some("req_1"), true)
        );
        let fault = Fault::reported(
            r#"{"error":{"message":"no","type":"invalid_request_error","code":"x"}}"#,
        );
        assert_eq!((fault.code.as_deref(), fault.retryable), (Some("x"), false));
    }
}
