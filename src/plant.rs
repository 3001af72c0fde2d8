//! Panics on demand, for the tests of what becomes of one. Nothing of it is in a release.

#[cfg(feature = "faults")]
static PLACE: std::sync::Mutex<Option<String>> = std::sync::Mutex::new(None);

/// From now on [`panic_at`] panics at `place`; with `None` nowhere.
#[cfg(all(feature = "faults", feature = "node"))]
pub(crate) fn plant(place: Option<String>) {
    *PLACE
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner) = place;
}

#[cfg(feature = "faults")]
pub(crate) fn panic_at(place: &str) {
    let planted = PLACE
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
        .as_deref()
        == Some(place);
    assert!(!planted, "planted at {place}");
}

#[cfg(not(feature = "faults"))]
pub(crate) fn panic_at(_place: &str) {}
