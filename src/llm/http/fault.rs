//! What a provider reports, and what is wrong with what it sends.

use serde_json::Value;

use crate::error::LlmCode;

/// How much of a body without a message of its own a person wants to read.
pub(super) const LONGEST_TEXT: usize = 1_000;

/// A failure as a protocol's decoder sees it; [`Endpoint::fault`] makes the public error of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) message: String,
    /// What the provider sent, put behind the message: whole, because secrets must go before it is cut.
    pub(super) shown: Option<String>,
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
            code: Some(LlmCode::InvalidResponse.into()),
            ..Self::default()
        }
    }

    /// Whether what came cannot be read, which is not the same as an error that can.
    pub(crate) fn is_invalid(&self) -> bool {
        self.code == Some(LlmCode::InvalidResponse.into())
    }

    pub(crate) fn showing(self, sent: &str) -> Self {
        Self {
            shown: Some(sent.to_owned()),
            ..self
        }
    }

    /// The stream ended before the answer did.
    pub(crate) fn incomplete() -> Self {
        Self {
            message: "the stream ended before the answer was complete".to_owned(),
            code: Some(LlmCode::IncompleteStream.into()),
            retryable: true,
            ..Self::default()
        }
    }

    /// An error that the provider reported in an answer that began well. `text` is its JSON.
    pub(crate) fn reported(text: &str) -> Self {
        let report = Report::read(text);
        let retryable = report.is_passing();
        Self {
            shown: report.message.is_none().then(|| text.to_owned()),
            message: report
                .message
                .unwrap_or_else(|| "the provider reported an error".to_owned()),
            code: Some(report.code.unwrap_or_else(|| LlmCode::ProviderError.into())),
            kind: report.kind,
            request_id: report.request_id,
            retryable,
        }
    }
}

/// What can be read of an error body: `{ error: { message, type, code } }`, `{ error: "text" }`, the same without
/// the envelope (vLLM), or any of these in an array (Gemini).
#[derive(Debug, Default)]
pub(super) struct Report {
    pub(super) message: Option<String>,
    pub(super) code: Option<String>,
    pub(super) kind: Option<String>,
    pub(super) request_id: Option<String>,
}

impl Report {
    pub(super) fn read(text: &str) -> Self {
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

/// The start of a body, for a message.
pub(super) fn cut(text: &str) -> String {
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
