//! The one transport under both protocols: <https://docs.rs/reqwest>.

mod client;
mod endpoint;
mod error;
mod retry;
mod secret;
mod sse;
mod tls;

pub use client::Http;
pub(crate) use client::Reply;
pub(crate) use endpoint::Endpoint;
pub use endpoint::Limits;
pub(crate) use error::{Fault, cut};
pub(crate) use secret::Redactor;
pub use secret::Secret;
pub(crate) use sse::{Event, events};
