//! Records of a native storage that the facade already holds as objects.
//!
//! Making objects of records is the dear direction. So each record is made an object once: the facade keeps those
//! of a handle's last prompt, and a prompt says only what fell out in front and what is new behind.

use std::{
    fmt::Write as _,
    ops::Range,
    sync::{Arc, Mutex, PoisonError},
};

use crate::message::Message;

/// What the facade holds of one handle, as far as it has said so by answering.
///
/// A prompt that was never answered (its turn was aborted) changes nothing here, and the facade keeps what it had
/// until a later prompt builds on something newer. So both always agree on what a prompt builds on.
#[derive(Default)]
pub(super) struct Shown {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    version: u32,
    last_version: u32,
    records: Vec<Arc<str>>,
}

/// The change from what the facade holds to what a prompt needs.
pub(super) struct Change {
    to: u32,
    drop: usize,
    keep: usize,
    added: Vec<Arc<str>>,
}

impl Shown {
    /// Writes the change that a prompt over `records[range]` needs, as JSON: `{ from, to, drop, keep, add }`.
    pub(super) fn write_change(
        &self,
        records: &[Message],
        range: Range<usize>,
        out: &mut String,
    ) -> Change {
        let wanted = records.get(range).unwrap_or_default();
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.last_version += 1;
        let is = |held: &Arc<str>, wanted: &Message| Arc::ptr_eq(held, wanted.shared_json());
        let same = |held: &Arc<str>, wanted: &Message| is(held, wanted) || **held == *wanted.json();
        // The very record, where it is there: others may read the same, and what follows them does not.
        let place = |first| {
            let mut held = state.records.iter();
            let very = held.clone().position(|held| is(held, first));
            very.or_else(|| held.position(|held| same(held, first)))
        };
        let drop = wanted.first().and_then(place);
        let drop = drop.unwrap_or(state.records.len());
        let held = state.records.get(drop..).unwrap_or_default();
        let keep = held
            .iter()
            .zip(wanted)
            .take_while(|(held, wanted)| same(held, wanted))
            .count();
        let _ = write!(
            out,
            "{{\"from\":{},\"to\":{},\"drop\":{drop},\"keep\":{keep},\"add\":[",
            state.version, state.last_version
        );
        let added = wanted.get(keep..).unwrap_or_default();
        for (n, message) in added.iter().enumerate() {
            if n > 0 {
                out.push(',');
            }
            out.push_str(message.json());
        }
        out.push_str("]}");
        let added = added
            .iter()
            .map(|message| message.shared_json().clone())
            .collect();
        Change {
            to: state.last_version,
            drop,
            keep,
            added,
        }
    }

    /// The facade has answered a prompt with `change`.
    pub(super) fn answered(&self, change: Change) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let State {
            version, records, ..
        } = &mut *state;
        *version = change.to;
        records.drain(..change.drop.min(records.len()));
        records.truncate(change.keep);
        records.extend(change.added);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        message::{MessageBuilder, Role},
        text::Text,
    };

    fn message(content: &str) -> Message {
        MessageBuilder::new(Role::User, Text::from(content)).build()
    }

    fn change(shown: &Shown, records: &[Message]) -> (Change, String) {
        let mut out = String::new();
        let change = shown.write_change(records, 0..records.len(), &mut out);
        (change, out)
    }

    #[test]
    fn only_new_records_cross_and_trimmed_ones_fall_out_in_front() {
        let shown = Shown::default();
        let mut records = vec![message("a"), message("b")];
        let (first, json) = change(&shown, &records);
        assert!(
            json.starts_with(r#"{"from":0,"to":1,"drop":0,"keep":0,"add":[{"#),
            "{json}"
        );
        shown.answered(first);
        records.remove(0);
        records.push(message("c"));
        let (second, json) = change(&shown, &records);
        assert_eq!(
            json,
            r#"{"from":1,"to":2,"drop":1,"keep":1,"add":[{"role":"user","content":"c"}]}"#
        );
        shown.answered(second);
        assert_eq!(
            change(&shown, &records).1,
            r#"{"from":2,"to":3,"drop":0,"keep":2,"add":[]}"#
        );
    }

    #[test]
    fn records_that_read_the_same_are_told_apart() {
        let shown = Shown::default();
        let mut records = ["a", "b", "a", "b", "c"].map(message).to_vec();
        shown.answered(change(&shown, &records).0);
        records.drain(..2);
        assert!(
            change(&shown, &records)
                .1
                .ends_with(r#""drop":2,"keep":3,"add":[]}"#)
        );
    }

    #[test]
    fn a_prompt_without_an_answer_changes_nothing() {
        let shown = Shown::default();
        let records = [message("a")];
        shown.answered(change(&shown, &records).0);
        drop(change(&shown, &[message("other")]));
        assert_eq!(
            change(&shown, &records).1,
            r#"{"from":1,"to":3,"drop":0,"keep":1,"add":[]}"#
        );
    }

    #[test]
    fn a_changed_record_and_all_behind_it_cross_anew() {
        let shown = Shown::default();
        let records = [message("a"), message("b"), message("c")];
        shown.answered(change(&shown, &records).0);
        let json = change(
            &shown,
            &[records[0].clone(), message("B"), records[2].clone()],
        )
        .1;
        assert!(json.contains(r#""drop":0,"keep":1,"add":[{"role":"user","content":"B"},{"role":"user","content":"c"}]"#), "{json}");
    }
}
