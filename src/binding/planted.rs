//! Where the next panic is, as a test says it.

use napi_derive::napi;

/// From now on there is a panic at `place`; with nothing given nowhere.
#[napi(catch_unwind, skip_typescript)]
pub(super) fn plant(place: Option<String>) {
    crate::plant::plant(place);
}
