//! A session as the planner sees it, from the outside: turns on a store, a provider that counts in its own way, and
//! what must hold of every prompt and of every compression.

#![expect(clippy::unwrap_used, reason = "a property fails by panicking")]

use std::{cell::RefCell, collections::HashMap};

use super::{Conversation, Input, Planner, Step, Summary};
use crate::{
    context::{
        assemble::{Fixed, Part},
        budget::{self, ToolsWeight},
        sample::said,
        tool_groups,
    },
    message::{Message, Role},
    text::Text,
};

/// How many tokens a provider counts for a message.
pub(super) type Count = Box<dyn Fn(&Message) -> f64>;

pub(super) struct Session {
    pub window: u64,
    pub fixed: Fixed,
    pub records: Vec<Message>,
    pub conversation: Conversation,
    pub count: Count,
    pub reports_usage: bool,
    /// Whether only the records after the summary are loaded, as native storages do.
    pub loads_tail: bool,
    /// What a compressor answers to a call of so many messages.
    pub summarise: Box<dyn Fn(usize) -> String>,
    pub seen: Seen,
    /// The raw records that went to the compressor, by their place in storage.
    folded: HashMap<usize, u32>,
    /// Counts of records, by where their text lies; records live as long as this does.
    counts: RefCell<HashMap<usize, f64>>,
    previous: Vec<Message>,
}

/// What happened so far.
#[derive(Debug, Default, Clone, PartialEq)]
pub(super) struct Seen {
    pub prompts: u32,
    pub over_window: u32,
    pub worst_prompt: f64,
    pub compress_calls: u32,
    pub worst_input: f64,
    pub tokens: f64,
    pub repeated_tokens: f64,
    pub folded_twice: u32,
    pub gaps: u32,
    /// Of the last turn.
    pub last_prompt: f64,
    pub last_folds: u32,
    /// Whether the last prompt began with all of the one before.
    pub extended: bool,
}

impl Session {
    pub(super) fn new(window: u64, count: Count) -> Self {
        Self {
            window,
            fixed: Fixed::session(
                Some(&Text::from("You are a careful assistant.")),
                &Text::from("long"),
                None,
            ),
            records: Vec::new(),
            conversation: Conversation::default(),
            count,
            reports_usage: true,
            loads_tail: false,
            summarise: Box::new(|n| format!("[summary of {n}]")),
            seen: Seen::default(),
            folded: HashMap::new(),
            counts: RefCell::default(),
            previous: Vec::new(),
        }
    }

    /// One turn: `new` is said, `answer` comes back. Fails where a rule of every turn is broken.
    pub(super) fn turn(&mut self, new: Vec<Message>, answer: Message) -> Result<(), String> {
        let covered = self.covered();
        let base = if self.loads_tail { covered } else { 0 };
        let loaded = self.records.get(base..).unwrap_or_default().to_vec();
        let answers_pending = new.iter().all(|message| message.role() == Role::Tool);
        let input = Input {
            window_tokens: self.window,
            adapter: 1,
            tools: ToolsWeight::default(),
            fixed: &self.fixed,
            history: loaded.as_slice(),
            base: base as u64,
            new_tokens: new.iter().map(budget::weigh).sum(),
            new_count: u32::try_from(new.len()).unwrap(),
            answers_pending,
            compressor: super::Overhead::default(),
        };
        let mut planner =
            Planner::new(&input, &self.conversation).map_err(|error| error.to_string())?;
        self.seen.last_folds = 0;
        let parts = loop {
            match planner.step() {
                Step::Weigh => return Err("exact weights were asked for".to_owned()),
                Step::Prompt(parts) => break parts,
                Step::Fold(parts) => {
                    let given = self.fold(&parts, base, planner.conversation().summary.as_ref())?;
                    let summary = (self.summarise)(given);
                    planner
                        .finish(Text::from(summary))
                        .map_err(|error| error.to_string())?;
                }
            }
            if self.seen.last_folds as usize > loaded.len() {
                return Err("the planner loops".to_owned());
            }
        };
        self.conversation = planner.conversation().clone();
        self.check_coverage(&parts, base, answers_pending)?;
        let prompt = resolve(&parts, &loaded, &new);
        let tokens = self.receive(&prompt);
        self.conversation = planner.observe(self.reports_usage.then_some(tokens));
        self.records.extend(new);
        self.records.push(answer);
        Ok(())
    }

    /// Drops the oldest records, and with them what was known of them.
    pub(super) fn trim(&mut self, keep: usize) {
        let gone = self.records.len().saturating_sub(keep);
        if gone > 0 {
            self.records.drain(..gone);
            self.folded.clear();
            self.counts.borrow_mut().clear();
            self.previous.clear();
            self.conversation.summary = None;
        }
    }

    pub(super) fn covered(&self) -> usize {
        self.conversation.summary.as_ref().map_or(0, |summary| {
            usize::try_from(summary.compressed_count).unwrap()
        })
    }

    #[cfg(test)]
    pub(super) fn cacheable(&self) -> f64 {
        self.seen.repeated_tokens / self.seen.tokens
    }

    fn total(&self, messages: &[Message]) -> f64 {
        let mut counts = self.counts.borrow_mut();
        let count = |message: &Message| match message.role() {
            Role::System => (self.count)(message),
            _ => *counts
                .entry(message.json().as_ptr() as usize)
                .or_insert_with(|| (self.count)(message)),
        };
        messages.iter().map(count).sum()
    }

    fn fold(
        &mut self,
        parts: &[Part],
        base: usize,
        before: Option<&Summary>,
    ) -> Result<usize, String> {
        let first = parts.first().ok_or("nothing to summarise")?;
        let summary = before.map(|summary| Part::System(summary.text.clone()));
        if summary.as_ref().is_some_and(|summary| summary != first) {
            return Err("the summary so far does not come first".to_owned());
        }
        for part in parts {
            if let Part::Records(range) = part {
                for at in range.clone() {
                    let times = self.folded.entry(base + at).or_default();
                    *times += 1;
                    self.seen.folded_twice += u32::from(*times == 2);
                }
            }
        }
        let loaded = self.records.get(base..).unwrap_or_default();
        let input = resolve(parts, loaded, &[]);
        self.seen.compress_calls += 1;
        self.seen.last_folds += 1;
        let share = self.total(&input) / window_float(self.window);
        self.seen.worst_input = self.seen.worst_input.max(share);
        Ok(input.len())
    }

    /// Every valid record is in the summary or in the prompt, once.
    fn check_coverage(&mut self, parts: &[Part], base: usize, pending: bool) -> Result<(), String> {
        let cleaned = tool_groups::clean(self.records.as_slice());
        let mut valid: Vec<usize> = cleaned.ranges().into_iter().flatten().collect();
        if let Some(group) = cleaned.pending.as_ref().filter(|_| pending) {
            valid.extend(
                cleaned
                    .valid(group.unit.records.clone())
                    .into_iter()
                    .flatten(),
            );
        }
        let covered = self.covered();
        let expected: Vec<usize> = valid.iter().copied().filter(|&at| at >= covered).collect();
        let shown: Vec<usize> = parts
            .iter()
            .filter_map(|part| match part {
                Part::Records(range) => Some(range.clone()),
                _ => None,
            })
            .flatten()
            .map(|at| base + at)
            .collect();
        if shown != expected {
            return Err(format!("shown {shown:?}, expected {expected:?}"));
        }
        let missed = valid
            .iter()
            .filter(|&&at| at < covered && !self.folded.contains_key(&at));
        self.seen.gaps += u32::try_from(missed.count()).unwrap();
        Ok(())
    }

    fn receive(&mut self, prompt: &[Message]) -> f64 {
        let same = prompt
            .iter()
            .zip(&self.previous)
            .take_while(|(a, b)| a == b)
            .count();
        let tokens = self.total(prompt);
        self.seen.extended = same == self.previous.len();
        self.seen.repeated_tokens += self.total(prompt.get(..same).unwrap_or_default());
        self.seen.tokens += tokens;
        self.seen.prompts += 1;
        self.seen.last_prompt = tokens;
        self.seen.over_window += u32::from(tokens > window_float(self.window));
        self.seen.worst_prompt = self
            .seen
            .worst_prompt
            .max(tokens / window_float(self.window));
        self.previous = prompt.to_vec();
        tokens
    }
}

#[expect(clippy::cast_precision_loss, reason = "windows of tests are small")]
pub(super) fn window_float(window: u64) -> f64 {
    window as f64
}

fn resolve(parts: &[Part], loaded: &[Message], new: &[Message]) -> Vec<Message> {
    let mut messages = Vec::new();
    for part in parts {
        match part {
            Part::System(text) => messages.push(said(Role::System, &text.to_plain())),
            Part::Records(range) => messages.extend_from_slice(loaded.get(range.clone()).unwrap()),
            Part::New => messages.extend_from_slice(new),
        }
    }
    messages
}
