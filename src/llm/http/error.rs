//! What went wrong, told once for both protocols.

use std::error::Error as StdError;

use super::{
    Endpoint,
    fault::{Fault, Report, cut},
};
use crate::error::{LlmCode, LlmError};

impl Endpoint {
    /// An error of this endpoint; no secret is left in it.
    pub(crate) fn error(&self, code: LlmCode, message: &str) -> LlmError {
        self.redacted(LlmError {
            message: message.to_owned(),
            code: code.into(),
            ..LlmError::default()
        })
    }

    pub(crate) fn fault(&self, fault: Fault, request_id: Option<&str>) -> LlmError {
        let message = match fault.shown {
            None => fault.message,
            Some(shown) => format!(
                "{}: {}",
                fault.message,
                cut(&self.redactor().redact(&shown))
            ),
        };
        self.redacted(LlmError {
            message,
            code: fault
                .code
                .unwrap_or_else(|| LlmCode::InvalidResponse.into()),
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
            code: report.code.unwrap_or_else(|| LlmCode::Http(status).into()),
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
        if is_corrupt(&error) {
            let message = format!("the response cannot be decompressed: {innermost}");
            return self.error(LlmCode::InvalidResponse, &message);
        }
        let (code, message) = if error.is_timeout() {
            (
                LlmCode::Timeout,
                format!("the connection timed out: {innermost}"),
            )
        } else {
            (
                LlmCode::Connection,
                format!("the connection failed: {innermost}"),
            )
        };
        self.redacted(LlmError {
            message,
            code: code.into(),
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

/// Whether the bytes came as they were sent, and are not what they are said to be.
fn is_corrupt(error: &reqwest::Error) -> bool {
    let cause = error.source().and_then(|source| source.downcast_ref());
    cause.is_some_and(|cause: &std::io::Error| {
        error.is_decode() && cause.kind() != std::io::ErrorKind::UnexpectedEof
    })
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

#[cfg(test)]
mod tests {
    use super::{super::fault::LONGEST_TEXT, *};

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
}
