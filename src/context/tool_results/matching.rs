//! Which result answers which call.

use std::collections::{HashMap, HashSet, VecDeque};

use super::{History, parse::Given, tool_groups};
use crate::{error::Error, text::Text};

/// A message names so many ids; the rest is a number.
const NAMED: usize = 20;

/// The calls at the end of a history that wait for an answer, in order.
#[derive(Default)]
pub(super) struct Open<'a> {
    calls: Vec<(&'a Text, &'a Text)>,
    ids: HashSet<&'a Text>,
    names: HashSet<&'a Text>,
}

impl<'a> Open<'a> {
    pub(super) fn of(history: &'a (impl History + ?Sized)) -> Self {
        let Some(pending) = tool_groups::clean(history).pending else {
            return Self::default();
        };
        let at = pending.unit.records.start;
        let open = pending.open_calls.iter();
        let calls: Vec<_> = open.map(|&call| history.call(at, call)).collect();
        Self {
            ids: calls.iter().map(|&(id, _)| id).collect(),
            names: calls.iter().map(|&(_, name)| name).collect(),
            calls,
        }
    }

    pub(super) fn may_be_answered_by(&self, result: &Given) -> bool {
        match (&result.id, &result.name) {
            (Some(id), _) => self.ids.contains(id),
            (None, Some(name)) => self.names.contains(name),
            (None, None) => false,
        }
    }
}

/// The ids of the calls that the results answer, in the order of the results: by id, and where a result has none by the name
/// of its tool, in order, among the calls that no id names.
pub(super) fn match_results(
    given: &[Given],
    open: &Open<'_>,
    history: &(impl History + ?Sized),
) -> Result<Vec<Text>, Error> {
    let mut by_id: HashMap<&Text, VecDeque<usize>> = HashMap::new();
    for (call, (id, _)) in open.calls.iter().enumerate() {
        by_id.entry(id).or_default().push_back(call);
    }
    let mut faults = Faults::default();
    let mut matched: Vec<Option<usize>> = vec![None; given.len()];
    for (result, slot) in given.iter().zip(&mut matched) {
        let Some(id) = &result.id else { continue };
        match by_id.get_mut(id) {
            Some(calls) => match calls.pop_front() {
                Some(call) => *slot = Some(call),
                None => faults.repeated.push(id.to_plain()),
            },
            None => faults.unmatched.push(result),
        }
    }
    let mut left: Vec<usize> = by_id.into_values().flatten().collect();
    left.sort_unstable();
    let mut by_name: HashMap<&Text, VecDeque<usize>> = HashMap::new();
    for call in left {
        if let Some((_, name)) = open.calls.get(call) {
            by_name.entry(name).or_default().push_back(call);
        }
    }
    for (result, slot) in given.iter().zip(&mut matched) {
        if result.id.is_some() {
            continue;
        }
        let calls = result.name.as_ref().and_then(|name| by_name.get_mut(name));
        match calls.and_then(VecDeque::pop_front) {
            Some(call) => *slot = Some(call),
            None => faults.unmatched.push(result),
        }
    }
    let mut unanswered: Vec<usize> = by_name.into_values().flatten().collect();
    unanswered.sort_unstable();
    let id_of = |call: usize| open.calls.get(call).map(|&(id, _)| id);
    faults.unanswered = unanswered
        .into_iter()
        .filter_map(id_of)
        .map(Text::to_plain)
        .collect();
    if faults.is_empty() {
        Ok(matched
            .into_iter()
            .flatten()
            .filter_map(id_of)
            .cloned()
            .collect())
    } else {
        Err(faults.tell(history))
    }
}

/// What is wrong with a list of results.
#[derive(Default)]
pub(super) struct Faults<'a> {
    unmatched: Vec<&'a Given>,
    repeated: Vec<String>,
    unanswered: Vec<String>,
}

impl<'a> Faults<'a> {
    /// Results none of which answers an open call.
    pub(super) fn of_unmatched(given: &'a [Given], history: &(impl History + ?Sized)) -> Error {
        let faults = Self {
            unmatched: given.iter().collect(),
            ..Self::default()
        };
        faults.tell(history)
    }

    fn is_empty(&self) -> bool {
        self.unmatched.is_empty() && self.repeated.is_empty() && self.unanswered.is_empty()
    }

    fn tell(self, history: &(impl History + ?Sized)) -> Error {
        let stored = stored_ids(history);
        let (mut closed, mut unknown) = (Vec::new(), Vec::new());
        for result in self.unmatched {
            match (&result.id, &result.name) {
                (Some(id), _) if stored.contains(id) => closed.push(id.to_plain()),
                (Some(id), _) => unknown.push(id.to_plain()),
                (None, Some(name)) => unknown.push(format!("(no id, tool {})", name.to_plain())),
                (None, None) => unknown.push("(no id, no tool name)".to_owned()),
            }
        }
        let parts = [
            ("no longer open", closed),
            ("unknown", unknown),
            ("given more than once", self.repeated),
            ("left unanswered", self.unanswered),
        ];
        let told = parts.into_iter().filter(|(_, ids)| !ids.is_empty());
        let told: Vec<String> = told
            .map(|(what, ids)| format!("{what}: {}", list(&ids)))
            .collect();
        Error::ToolResults(format!(
            "tool results do not answer the open calls ({})",
            told.join("; ")
        ))
    }
}

fn stored_ids(history: &(impl History + ?Sized)) -> HashSet<&Text> {
    let calls = |at| (0..history.call_count(at)).map(move |call| history.call(at, call).0);
    (0..history.len()).flat_map(calls).collect()
}

fn list(ids: &[String]) -> String {
    let named: Vec<String> = ids
        .iter()
        .take(NAMED)
        .map(|id| crate::text::excerpt(id))
        .collect();
    match ids.len().saturating_sub(NAMED) {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}
