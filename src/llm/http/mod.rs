//! The one transport under both protocols: <https://docs.rs/reqwest>.

mod body;
#[cfg(any(test, feature = "properties"))]
mod canned;
mod client;
mod endpoint;
mod error;
mod fault;
mod outgoing;
mod retry;
mod secret;
mod sse;
mod tls;

pub(crate) use body::Reply;
pub use client::Http;
pub(crate) use endpoint::Endpoint;
pub use endpoint::Limits;
pub(crate) use fault::Fault;
pub(crate) use outgoing::{Outgoing, Script};
pub(crate) use secret::Redactor;
pub use secret::Secret;
pub(crate) use sse::{Event, events};
