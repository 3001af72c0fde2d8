//! Every way a call can fail, by what the caller can do about it.

use std::{any::Any, fmt, time::Duration};

use crate::text::Text;

pub type Result<T, E = Error> = std::result::Result<T, E>;

#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// `SessionArchivedError`
    #[error("Session \"{0}\" is archived and cannot be modified")]
    Archived(Text),
    /// `NotImplementedError`
    #[error("{0} is not yet implemented")]
    NotImplemented(String),
    /// `LLMError`
    #[error(transparent)]
    Llm(Box<LlmError>),
    /// `ToolResultsError`
    #[error("{0}")]
    ToolResults(String),
    /// `StorageError`
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// `TypeError`: an argument of the wrong type or shape.
    #[error("{0}")]
    InvalidArgument(String),
    /// A plain `Error` whose message is part of the contract.
    #[error("{0}")]
    Refused(String),
    /// The caller's signal was aborted; the rejection is `signal.reason`.
    #[error("This operation was aborted")]
    Aborted,
    /// Something that JavaScript code of the user threw; the facade holds the thrown value under this number.
    #[error("a JavaScript callback failed")]
    Thrown(u32),
    /// A bug in this package.
    #[error("internal error: {0}")]
    Internal(String),
}

/// A failed call to a model provider. Never holds an API key: `llm::http` redacts before it builds one.
#[derive(Debug, Clone, Default, thiserror::Error)]
#[error("{message}")]
pub struct LlmError {
    pub message: String,
    /// `openai` or `anthropic`.
    pub provider: &'static str,
    /// The HTTP status, where there was a response.
    pub status: Option<u16>,
    /// The provider's own code, else a [`LlmCode`].
    pub code: String,
    /// The provider's error type, such as `overloaded_error`.
    pub kind: Option<String>,
    pub request_id: Option<String>,
    /// Whether the same request may succeed later.
    pub retryable: bool,
    /// How long the provider asked to wait.
    pub retry_after: Option<Duration>,
    /// What lay beneath, as text: an I/O or TLS error.
    pub cause: Option<String>,
}

/// The codes that this package gives where the provider has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LlmCode {
    /// No connection, or one that broke.
    Connection,
    /// An attempt, or the silence of a stream, took too long.
    Timeout,
    /// The answer is not of the protocol.
    InvalidResponse,
    /// The stream ended before the answer did.
    IncompleteStream,
    /// The provider reported an error in an answer that began well.
    ProviderError,
    /// The model wrote arguments that are no JSON object.
    InvalidToolArguments,
    /// The output limit cut a tool call.
    OutputTruncated,
    /// The server redirects in a circle.
    TooManyRedirects,
    /// A status that is an error.
    Http(u16),
}

impl From<LlmCode> for String {
    fn from(code: LlmCode) -> Self {
        let name = match code {
            LlmCode::Connection => "connection",
            LlmCode::Timeout => "timeout",
            LlmCode::InvalidResponse => "invalid_response",
            LlmCode::IncompleteStream => "incomplete_stream",
            LlmCode::ProviderError => "provider_error",
            LlmCode::InvalidToolArguments => "invalid_tool_arguments",
            LlmCode::OutputTruncated => "output_truncated",
            LlmCode::TooManyRedirects => "too_many_redirects",
            LlmCode::Http(status) => return format!("http_{status}"),
        };
        name.to_owned()
    }
}

impl From<LlmError> for Error {
    fn from(error: LlmError) -> Self {
        Self::Llm(Box::new(error))
    }
}

/// A storage that failed or answered something other than its contract says.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{message}")]
pub struct StorageError {
    pub code: StorageCode,
    pub message: String,
    /// What lay beneath, as text: the database driver's own message.
    pub cause: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StorageCode {
    /// A method answered something other than its contract says.
    InvalidShape,
    /// The storage was closed.
    Closed,
    /// The database cannot be reached or opened.
    Unavailable,
    /// A lock, a connection or a statement was waited for too long.
    Timeout,
    /// The file or the schema is not one this version can use.
    Incompatible,
    /// The disk is full or the file is read-only.
    NotWritable,
    /// A transaction was used after its end or ended without having run.
    Transaction,
    /// Anything else that the database reported.
    Failed,
}

impl StorageCode {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InvalidShape => "invalid_shape",
            Self::Closed => "closed",
            Self::Unavailable => "unavailable",
            Self::Timeout => "timeout",
            Self::Incompatible => "incompatible",
            Self::NotWritable => "not_writable",
            Self::Transaction => "transaction",
            Self::Failed => "failed",
        }
    }
}

impl StorageError {
    #[must_use]
    pub fn new(code: StorageCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            cause: None,
        }
    }

    #[must_use]
    pub fn because(mut self, cause: &dyn fmt::Display) -> Self {
        self.cause = Some(cause.to_string());
        self
    }
}

impl Error {
    /// What becomes of a panic.
    #[must_use]
    pub fn panicked(panic: &(dyn Any + Send)) -> Self {
        let text = panic.downcast_ref::<&str>().map(ToString::to_string);
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
        Self::Internal(text.unwrap_or_else(|| "a panic without a message".to_owned()))
    }

    /// The stable `code` of the JavaScript error; `None` where it has none (`TypeError`, plain `Error`, the user's own).
    #[must_use]
    pub fn code(&self) -> Option<&str> {
        Some(match self {
            Self::Archived(_) => "session_archived",
            Self::NotImplemented(_) => "not_implemented",
            Self::Llm(error) => &error.code,
            Self::ToolResults(_) => "tool_results",
            Self::Storage(error) => error.code.as_str(),
            Self::Internal(_) => "internal",
            Self::InvalidArgument(_) | Self::Refused(_) | Self::Aborted | Self::Thrown(_) => {
                return None;
            }
        })
    }
}
