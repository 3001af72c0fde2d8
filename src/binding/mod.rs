//! Node.js: the only place that names napi.
//!
//! One mechanism carries everything. The facade starts an operation with a number; while it runs, Rust asks
//! the facade for things (a storage method, the adapter, `compressFn`) through one weak `ThreadsafeFunction`, the
//! *dispatcher*, and the facade answers by the number of the question; the end of the operation is the
//! dispatcher's last message. Values cross as JSON text; the columns and contents of a JavaScript storage's
//! records cross as typed arrays and UTF-16 (see [`js_records`]).

#![expect(
    clippy::needless_pass_by_value,
    clippy::too_many_arguments,
    reason = "functions that JavaScript calls take owned values, and many numbers cost it less than one object"
)]

mod bridge;
mod fault;
mod invoke;
mod js_fn;
mod js_llm;
mod js_records;
mod js_store;
mod native_llm;
mod native_session;
mod native_storage;
mod native_turn;
mod open_storage;
mod pieces;
#[cfg(feature = "faults")]
mod planted;
mod runtime;
mod shown;
mod task;
mod text;
