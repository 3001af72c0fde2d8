//! Which stored messages a model may be shown, and which of them belong together.
//!
//! Providers refuse a call without its answer and an answer without its call. Records that a crash, a trim or other
//! hands left in that state are passed over; storage is not changed by it.

use std::{collections::HashMap, ops::Range};

use super::History;
use crate::{message::Role, text::Text};

/// A message, or a message that called tools with all its answers: never cut.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unit {
    /// From its first record to its last; what is invalid in between is in [`Cleaned::dropped`].
    pub records: Range<usize>,
    /// The estimated tokens of its valid records.
    pub weight: u64,
}

/// The last message of a history, which called tools, and what has been answered of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pending {
    pub unit: Unit,
    /// Which of its calls have no answer yet, in order.
    pub open_calls: Vec<usize>,
}

/// A history made valid.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cleaned {
    /// In storage order; none overlaps another.
    pub units: Vec<Unit>,
    /// The weight of each unit and of all before it.
    sums: Vec<u64>,
    /// Invalid records, ascending.
    pub dropped: Vec<usize>,
    /// New input where its answers are being given, otherwise an incomplete group like any other.
    pub pending: Option<Pending>,
}

impl Cleaned {
    /// The valid records of `records`, as ranges, in order.
    #[must_use]
    pub fn valid(&self, records: Range<usize>) -> Vec<Range<usize>> {
        let from = self.dropped.partition_point(|&at| at < records.start);
        let mut ranges = Vec::new();
        let mut start = records.start;
        let inside = self.dropped.iter().skip(from);
        for &at in inside.take_while(|&&at| at < records.end) {
            if start < at {
                ranges.push(start..at);
            }
            start = at + 1;
        }
        if start < records.end {
            ranges.push(start..records.end);
        }
        ranges
    }

    /// The weight of the units `units`.
    #[must_use]
    pub fn weight(&self, units: Range<usize>) -> u64 {
        let until = |end: usize| match end.checked_sub(1) {
            None => 0,
            Some(last) => self
                .sums
                .get(last)
                .or(self.sums.last())
                .copied()
                .unwrap_or(0),
        };
        until(units.end).saturating_sub(until(units.start))
    }

    fn push(&mut self, unit: Unit) {
        let before = self.sums.last().copied().unwrap_or(0);
        self.sums.push(before + unit.weight);
        self.units.push(unit);
    }

    /// Forgets what was found in the records from `at` on.
    fn truncate(&mut self, at: usize) {
        let units = self.units.partition_point(|unit| unit.records.start < at);
        self.units.truncate(units);
        self.sums.truncate(units);
        self.dropped
            .truncate(self.dropped.partition_point(|&dropped| dropped < at));
        self.pending = None;
    }

    /// All valid records, without those of an incomplete group at the end: what a child session inherits.
    #[must_use]
    pub fn ranges(&self) -> Vec<Range<usize>> {
        let end = self.units.last().map_or(0, |unit| unit.records.end);
        self.valid(0..end)
    }
}

/// Makes `history` valid: an assistant with calls stays only if the tool messages right after it answer each of them,
/// else it goes with those; a tool message goes if it answers no call of the assistant right before, or one already answered.
#[must_use]
pub fn clean(history: &(impl History + ?Sized)) -> Cleaned {
    go_on(Cleaned::default(), history, 0)
}

/// The same for a history whose first `intact` records are those of an earlier one, of which `cleaned` was made, and weigh what they
/// weighed: only what is new is looked at.
#[must_use]
pub fn clean_further(
    mut cleaned: Cleaned,
    history: &(impl History + ?Sized),
    intact: usize,
) -> Cleaned {
    // What follows a message may say more of it only where that called tools.
    let mut at = intact.min(history.len());
    while at > 0 && history.role(at - 1) == Role::Tool {
        at -= 1;
    }
    if at > 0 && history.call_count(at - 1) > 0 {
        at -= 1;
    }
    cleaned.truncate(at);
    go_on(cleaned, history, at)
}

/// Goes on at a record that is in no group of one before.
fn go_on(mut cleaned: Cleaned, history: &(impl History + ?Sized), mut at: usize) -> Cleaned {
    let mut open = OpenCalls::default();
    let left = history.len().saturating_sub(at);
    cleaned.units.reserve(left);
    cleaned.sums.reserve(left);
    while at < history.len() {
        let calls = match history.role(at) {
            Role::Assistant => history.call_count(at),
            Role::Tool => {
                cleaned.dropped.push(at);
                at += 1;
                continue;
            }
            Role::System | Role::User => 0,
        };
        if calls == 0 {
            cleaned.push(Unit {
                records: at..at + 1,
                weight: u64::from(history.weight(at)),
            });
            at += 1;
            continue;
        }
        let group = read_group(history, at, &mut open);
        let (start, end) = (at, group.run_end);
        at = end;
        if open.is_empty() {
            cleaned.push(Unit {
                records: start..group.answers_end,
                weight: group.weight,
            });
            cleaned.dropped.extend(group.orphans);
        } else if end == history.len() {
            cleaned.pending = Some(Pending {
                unit: Unit {
                    records: start..end,
                    weight: group.weight,
                },
                open_calls: open.take(),
            });
            cleaned.dropped.extend(group.orphans);
        } else {
            cleaned.dropped.extend(start..end);
        }
    }
    cleaned
}

struct Group {
    /// The end of the tool messages right after the assistant.
    run_end: usize,
    /// The end of those that answer.
    answers_end: usize,
    /// Those of the run that do not.
    orphans: Vec<usize>,
    weight: u64,
}

fn read_group<'a>(
    history: &'a (impl History + ?Sized),
    start: usize,
    open: &mut OpenCalls<'a>,
) -> Group {
    open.reset(history, start);
    let mut group = Group {
        run_end: start + 1,
        answers_end: start + 1,
        orphans: Vec::new(),
        weight: u64::from(history.weight(start)),
    };
    while group.run_end < history.len() && history.role(group.run_end) == Role::Tool {
        let at = group.run_end;
        group.run_end += 1;
        if history.answers(at).is_some_and(|id| open.answer(id)) {
            group.answers_end = group.run_end;
            group.weight += u64::from(history.weight(at));
        } else {
            group.orphans.push(at);
        }
    }
    group
}

/// Clearing a map takes as long as it has room: one assistant with many calls must not make all later ones dear.
const ROOMY: usize = 256;

/// The unanswered calls of one assistant. Calls that share an id are answered in their order.
#[derive(Default)]
struct OpenCalls<'a> {
    by_id: HashMap<&'a Text, Vec<usize>>,
    left: usize,
}

impl<'a> OpenCalls<'a> {
    fn reset(&mut self, history: &'a (impl History + ?Sized), assistant: usize) {
        self.left = history.call_count(assistant);
        if self.by_id.capacity() > ROOMY.max(4 * self.left) {
            self.by_id = HashMap::new();
        } else {
            self.by_id.clear();
        }
        for call in (0..self.left).rev() {
            let (id, _) = history.call(assistant, call);
            self.by_id.entry(id).or_default().push(call);
        }
    }

    fn answer(&mut self, id: &Text) -> bool {
        let answered = self
            .by_id
            .get_mut(id)
            .is_some_and(|calls| calls.pop().is_some());
        self.left -= usize::from(answered);
        answered
    }

    fn is_empty(&self) -> bool {
        self.left == 0
    }

    fn take(&mut self) -> Vec<usize> {
        let mut calls: Vec<usize> = self.by_id.drain().flat_map(|(_, calls)| calls).collect();
        calls.sort_unstable();
        calls
    }
}

#[cfg(any(test, feature = "properties"))]
pub mod properties;
#[cfg(test)]
mod tests;
