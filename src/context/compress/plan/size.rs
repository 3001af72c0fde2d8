//! How large the prompt of a plan is.

use super::{Conversation, Planner};
use crate::context::{
    assemble::system_weight,
    budget::{PromptKey, float, key_of},
};

/// The estimated tokens of a whole prompt.
#[derive(Debug, Clone, Copy)]
pub(super) struct Size {
    pub likely: f64,
    pub cautious: f64,
}

/// The summary, measured once.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct SummarySize {
    pub weight: u64,
    pub key: u64,
}

impl SummarySize {
    pub(super) fn of(conversation: &Conversation) -> Self {
        let text = conversation.summary.as_ref().map(|summary| &summary.text);
        text.map_or_else(Self::default, |text| Self {
            weight: system_weight(text),
            key: key_of(text),
        })
    }
}

impl Planner {
    /// The size of the prompt if units from `from` on are shown.
    pub(super) fn size(&self, from: usize) -> Size {
        let estimate = self.estimate(from);
        let measured = self.conversation.calibration.base_of(self.key());
        let measured = measured.filter(|base| self.repeated(from, base.end) == base.estimate);
        let (known, new) = measured.map_or((0.0, estimate), |base| {
            (base.tokens, estimate - base.estimate)
        });
        Size {
            likely: known + self.ratio.likely * float(new),
            cautious: known + self.ratio.cautious * float(new),
        }
    }

    /// The estimate of the part of the prompt that lies before raw record `end`.
    pub(super) fn repeated(&self, from: usize, end: u64) -> u64 {
        let end = usize::try_from(end.saturating_sub(self.base)).unwrap_or(usize::MAX);
        let units = &self.cleaned.units;
        let before = units.partition_point(|unit| unit.records.end <= end);
        self.head() + self.cleaned.weight(from..before.max(from))
    }

    /// The uncorrected estimate of the prompt.
    pub(super) fn estimate(&self, from: usize) -> u64 {
        let shown = self.cleaned.weight(from..self.cleaned.units.len());
        self.head() + self.input_weight() + shown
    }

    /// What stands before the history.
    pub(super) fn head(&self) -> u64 {
        self.fixed_weight + self.summary.weight
    }

    /// New messages, and the calls that they answer.
    pub(super) fn input_weight(&self) -> u64 {
        self.new_weight + self.answered.as_ref().map_or(0, |&(_, weight)| weight)
    }

    pub(super) fn key(&self) -> PromptKey {
        PromptKey {
            adapter: self.adapter,
            tools: self.tools.key,
            head: key_of((self.fixed.key(), self.summary.key)),
            start: self
                .conversation
                .summary
                .as_ref()
                .map_or(0, |summary| summary.compressed_count),
        }
    }
}
