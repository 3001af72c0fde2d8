//! Sessions: the one turn, and what surrounds it.

pub mod cancellation;
pub mod fork;
pub mod hooks;
pub mod lifecycle;
pub mod main_session;
pub mod native;
pub mod queue;
pub mod registry;
mod remembered;
#[expect(
    clippy::module_inception,
    reason = "a session is what this folder is about"
)]
pub mod session;
pub mod turn;

pub use cancellation::Cancellation;
pub use hooks::{
    Compressor, Extent, Model, PieceSink, Prompt, Records, Tools, TurnHost, TurnRead, TurnState,
    TurnStorage,
};
pub use registry::{Registry, Shared};
pub use session::Session;
