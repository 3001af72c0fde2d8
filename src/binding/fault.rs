//! Errors cross as data; the facade makes the error objects, in its own realm.

use serde::Serialize;

use crate::error::Error;

/// What the facade needs to make the error that the caller sees.
#[derive(Serialize)]
#[serde(rename_all = "camelCase", tag = "kind")]
enum Fault<'a> {
    Archived {
        message: String,
    },
    NotImplemented {
        message: String,
    },
    Llm {
        message: &'a str,
        provider: &'a str,
        code: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        status: Option<u16>,
        #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
        error_type: Option<&'a str>,
        #[serde(rename = "requestId", skip_serializing_if = "Option::is_none")]
        request_id: Option<&'a str>,
        retryable: bool,
        #[serde(rename = "retryAfterMs", skip_serializing_if = "Option::is_none")]
        retry_after_ms: Option<f64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cause: Option<&'a str>,
    },
    ToolResults {
        message: &'a str,
    },
    Storage {
        message: &'a str,
        code: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        cause: Option<&'a str>,
    },
    Type {
        message: &'a str,
    },
    Plain {
        message: &'a str,
    },
    Aborted,
    /// The facade kept what was thrown under `call`.
    Thrown {
        call: u32,
    },
    Internal {
        message: String,
    },
}

/// The error as JSON text.
pub(super) fn to_json(error: &Error) -> String {
    let fault = match error {
        Error::Archived(_) => Fault::Archived {
            message: error.to_string(),
        },
        Error::NotImplemented(_) => Fault::NotImplemented {
            message: error.to_string(),
        },
        Error::Llm(llm) => Fault::Llm {
            message: &llm.message,
            provider: llm.provider,
            code: &llm.code,
            status: llm.status,
            error_type: llm.kind.as_deref(),
            request_id: llm.request_id.as_deref(),
            retryable: llm.retryable,
            retry_after_ms: llm
                .retry_after
                .map(|wait| (wait.as_secs_f64() * 1_000.0).round()),
            cause: llm.cause.as_deref(),
        },
        Error::ToolResults(message) => Fault::ToolResults { message },
        Error::Storage(storage) => Fault::Storage {
            message: &storage.message,
            code: storage.code.as_str(),
            cause: storage.cause.as_deref(),
        },
        Error::InvalidArgument(message) => Fault::Type { message },
        Error::Refused(message) => Fault::Plain { message },
        Error::Aborted => Fault::Aborted,
        Error::Thrown(call) => Fault::Thrown { call: *call },
        Error::Internal(_) => Fault::Internal {
            message: error.to_string(),
        },
    };
    serde_json::to_string(&fault)
        .unwrap_or_else(|_| r#"{"kind":"internal","message":"internal error"}"#.to_owned())
}
