//! What holds of any history, whole or broken.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::missing_panics_doc,
    reason = "a property fails by panicking"
)]

use super::clean;
use crate::{
    choices::Choices,
    context::sample,
    message::{Message, Role},
    text::Text,
};

/// See [`check`].
pub fn cleaning(data: &[u8]) {
    let mut choices = Choices::new(data);
    check(&sample::history(&mut choices, 200));
}

/// What is kept is what providers accept and is kept again; every record is kept, dropped or pending.
pub fn check(history: &[Message]) {
    let once = cleaned(history);
    assert_eq!(cleaned(&once), once, "cleaning is idempotent");
    assert!(is_accepted(&once), "{once:?}");

    let cleaned = clean(history);
    let pending = cleaned.pending.iter().map(|pending| &pending.unit);
    let units = cleaned
        .units
        .iter()
        .chain(pending)
        .map(|unit| unit.records.clone());
    assert!(
        units
            .clone()
            .is_sorted_by(|before, after| before.end <= after.start)
    );
    let mut seen: Vec<usize> = units
        .flat_map(|records| cleaned.valid(records))
        .flatten()
        .collect();
    seen.extend(&cleaned.dropped);
    seen.sort_unstable();
    assert_eq!(seen, (0..history.len()).collect::<Vec<_>>());
    if let Some(pending) = &cleaned.pending {
        let calls = history[pending.unit.records.start].tool_calls();
        assert!(!pending.open_calls.is_empty() && pending.open_calls.is_sorted_by(|a, b| a < b));
        assert!(pending.open_calls.last().unwrap() < &calls.len());
    }
}

fn cleaned(history: &[Message]) -> Vec<Message> {
    let ranges = clean(history).ranges();
    ranges
        .into_iter()
        .flat_map(|range| history[range].to_vec())
        .collect()
}

/// Whether every call is answered once, right after it, and nothing else is.
pub(in crate::context) fn is_accepted(history: &[Message]) -> bool {
    let mut open: Vec<&Text> = Vec::new();
    for message in history {
        if message.role() == Role::Tool {
            let answers = message.tool_call_id();
            let Some(at) = open.iter().position(|id| Some(*id) == answers) else {
                return false;
            };
            open.remove(at);
        } else if open.is_empty() {
            open = message.tool_calls().iter().map(|call| &call.id).collect();
        } else {
            return false;
        }
    }
    open.is_empty()
}

#[cfg(test)]
mod tests {
    #[test]
    fn any_history_is_made_one_that_providers_accept() {
        crate::choices::hold("cleaning", super::cleaning);
    }
}
