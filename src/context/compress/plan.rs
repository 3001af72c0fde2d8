//! The plan of one turn.

mod size;

use std::ops::Range;

use self::size::SummarySize;
use super::{Conversation, Input, Overhead, Step, Summary};
use crate::{
    context::{
        History,
        assemble::{self, Fixed, Part},
        budget::{PromptSize, Ratio, ToolsWeight, float},
        tool_groups::{self, Cleaned},
    },
    error::{Error, Result},
    text::Text,
};

/// The part of the window at which a prompt is made smaller, and the most that a compressor is given at once.
const THRESHOLD: f64 = 0.8;

/// The part of the window that is in use afterwards: about two fifths, a little less because the next turns only add.
const TARGET: f64 = 0.36;

/// Where fixed parts leave less than that, this part of the room between them and the threshold is used.
const ROOM_KEPT: f64 = 0.25;

/// A step of a compression is never smaller, so that a tiny window needs one call, not one for each message.
const MIN_STEP_TOKENS: f64 = 1_000.0;

/// What a first summary is expected to take, at most and as a part of the window.
const EXPECTED_SUMMARY: (f64, f64) = (1_000.0, 0.05);

/// What a plan found out of a history, for that of a later turn.
#[derive(Debug)]
pub struct Known {
    cleaned: Cleaned,
    base: u64,
    exact: bool,
    /// How many of its first records are still the same.
    intact: usize,
}

impl Known {
    /// The first `records` are still the same, and perhaps some more; what lies behind is new.
    pub fn keep(&mut self, records: usize) {
        self.intact = self.intact.min(records);
    }
}

/// The plan of one turn, and what becomes of it. Owns all it needs.
#[derive(Debug)]
pub struct Planner {
    window: f64,
    adapter: u64,
    tools: ToolsWeight,
    fixed: Fixed,
    fixed_weight: u64,
    compressor: Overhead,
    new_weight: u64,
    new_end: u64,
    base: u64,
    exact: bool,
    records: usize,
    cleaned: Cleaned,
    /// The records of the calls being answered.
    answered: Option<(Range<usize>, u64)>,
    conversation: Conversation,
    summary: SummarySize,
    ratio: Ratio,
    /// Whether the summary was made in this turn.
    folded: bool,
    /// Units before this one are in the summary.
    covered: usize,
    /// Units before this one are to go there.
    goal: usize,
}

impl Planner {
    /// Takes in what the turn has; fails only where `base` and the summary of `conversation` do not meet.
    pub fn new<H: History + ?Sized>(
        input: &Input<'_, H>,
        conversation: &Conversation,
    ) -> Result<Self> {
        Self::further(input, conversation, &mut None)
    }

    /// The same with what an earlier turn found out, which is taken where it is of use.
    pub fn further<H: History + ?Sized>(
        input: &Input<'_, H>,
        conversation: &Conversation,
        known: &mut Option<Known>,
    ) -> Result<Self> {
        let exact = input.history.weights_are_exact();
        let cleaned = match known.take_if(|known| known.base == input.base && known.exact == exact)
        {
            Some(known) => tool_groups::clean_further(known.cleaned, input.history, known.intact),
            None => tool_groups::clean(input.history),
        };
        let mut conversation = conversation.clone();
        let covered = conversation
            .summary
            .as_ref()
            .and_then(|summary| covered_units(&cleaned, input, summary));
        if covered.is_none() {
            if input.base > 0 {
                return Err(Error::Internal(format!(
                    "the history begins after {} records that no summary covers",
                    input.base
                )));
            }
            conversation.summary = None;
        }
        let pending = cleaned.pending.as_ref().filter(|_| input.answers_pending);
        let answered = pending.map(|pending| (pending.unit.records.clone(), pending.unit.weight));
        let window = float(input.window_tokens);
        let covered = covered.unwrap_or(0);
        let mut planner = Self {
            window,
            adapter: input.adapter,
            tools: input.tools,
            fixed: input.fixed.clone(),
            fixed_weight: input.fixed.weight() + u64::from(input.tools.tokens),
            compressor: input.compressor,
            new_weight: u64::from(input.new_tokens),
            new_end: input.base + input.history.len() as u64 + u64::from(input.new_count),
            base: input.base,
            exact,
            records: input.history.len(),
            ratio: conversation.calibration.ratio(input.adapter, window),
            cleaned,
            answered,
            summary: SummarySize::of(&conversation),
            conversation,
            folded: false,
            covered,
            goal: covered,
        };
        planner.aim();
        Ok(planner)
    }

    /// What a later turn can go on from.
    #[must_use]
    pub fn into_known(self) -> Known {
        Known {
            cleaned: self.cleaned,
            base: self.base,
            exact: self.exact,
            intact: self.records,
        }
    }

    /// What to do now; the same until [`Self::finish`] is called.
    #[must_use]
    pub fn step(&self) -> Step {
        if self.goal <= self.covered {
            return Step::Prompt(self.prompt());
        }
        if !self.exact {
            return Step::Weigh;
        }
        let summary = self.summary_text().cloned().map(Part::System);
        let records = self.records_of(self.covered..self.step_end());
        let records = records.into_iter().map(Part::Records);
        Step::Fold(summary.into_iter().chain(records).collect())
    }

    /// Puts the compressor's answer to the last [`Step::Fold`] in the place of what it was given.
    /// A blank answer is an [`Error::InvalidArgument`] and changes nothing.
    pub fn finish(&mut self, summary: Text) -> Result<()> {
        if is_blank(&summary) {
            return Err(Error::InvalidArgument(
                "compressFn: expected a non-empty string, got an empty one".to_owned(),
            ));
        }
        let end = self.step_end();
        let Some(last) = end.checked_sub(1).and_then(|at| self.cleaned.units.get(at)) else {
            return Err(Error::Internal("a summary of nothing".to_owned()));
        };
        self.conversation.summary = Some(Summary {
            text: summary,
            compressed_count: self.base + last.records.end as u64,
        });
        self.summary = SummarySize::of(&self.conversation);
        self.covered = end;
        self.folded = true;
        if self.goal <= self.covered {
            self.aim();
        }
        Ok(())
    }

    /// The summary, if it was made in this turn: what to store with the commit.
    #[must_use]
    pub fn new_summary(&self) -> Option<&Summary> {
        self.conversation.summary.as_ref().filter(|_| self.folded)
    }

    /// What the handle should remember even if the turn fails now: a summary covers stored records only.
    #[must_use]
    pub fn conversation(&self) -> &Conversation {
        &self.conversation
    }

    /// What the handle should remember once the turn is stored; `prompt_tokens` as the provider counted them.
    #[must_use]
    pub fn observe(&self, prompt_tokens: Option<f64>) -> Conversation {
        let size = PromptSize {
            key: self.key(),
            end: self.new_end,
            estimate: self.estimate(self.covered),
            exact: self.exact,
        };
        let calibration = self.conversation.calibration;
        Conversation {
            summary: self.conversation.summary.clone(),
            calibration: prompt_tokens.map_or(calibration, |tokens| {
                calibration.learn(size, tokens, self.window)
            }),
        }
    }

    /// The estimated tokens of the prompt, corrected by past counts.
    #[must_use]
    pub fn prompt_tokens(&self) -> f64 {
        self.size(self.covered).likely
    }

    /// Decides which units leave now; none where the prompt is small enough or nothing is left to leave.
    fn aim(&mut self) {
        let total = self.size(self.covered);
        // Measured by lengths alone, a prompt can only seem too large.
        if total.likely < self.trigger() && total.cautious < self.window {
            return;
        }
        let head = self.ratio.likely * float(self.head());
        let rest = self.ratio.likely * float(self.input_weight());
        let expected = match self.summary_text() {
            Some(_) => 0.0,
            None => EXPECTED_SUMMARY.0.min(EXPECTED_SUMMARY.1 * self.window),
        };
        let mut size = head + rest + expected;
        let room = (self.trigger() - size).max(0.0);
        let target = (TARGET * self.window).max(size + ROOM_KEPT * room);
        let cautious = |size: f64| size / self.ratio.likely * self.ratio.cautious < self.window;
        let mut goal = self.cleaned.units.len();
        // The oldest unit leaves in any case: what had to become smaller does.
        for unit in self.cleaned.units.iter().skip(self.covered + 1).rev() {
            size += self.ratio.likely * float(unit.weight);
            if size > target || !cautious(size) {
                break;
            }
            goal -= 1;
        }
        self.goal = goal;
    }

    /// Where the fixed parts alone pass the threshold, history stays until the window itself calls.
    fn trigger(&self) -> f64 {
        let head = self.ratio.likely * float(self.head());
        let threshold = THRESHOLD * self.window;
        if head < threshold {
            threshold
        } else {
            head + THRESHOLD * (self.window - head).max(0.0)
        }
    }

    /// The end of the units that go to the compressor next.
    fn step_end(&self) -> usize {
        let ratio = self.ratio.cautious;
        let summary = ratio * float(self.summary.weight);
        let request = f64::from(self.compressor.request_tokens);
        let limit = (THRESHOLD * self.window - request - summary).max(MIN_STEP_TOKENS);
        let leaving = self.cleaned.units.iter().take(self.goal).skip(self.covered);
        let mut step = 0.0;
        let fitting = leaving
            .take_while(|unit| {
                let frames = u64::from(self.compressor.message_tokens) * unit.records.len() as u64;
                step += ratio * float(unit.weight + frames);
                step <= limit
            })
            .count();
        // What is too large for a step goes alone.
        (self.covered + fitting.max(1)).min(self.goal)
    }

    fn prompt(&self) -> Vec<Part> {
        let units = self.records_of(self.covered..self.cleaned.units.len());
        let answered = self.answered.iter();
        let answered = answered.flat_map(|(records, _)| self.cleaned.valid(records.clone()));
        let records = joined(units.into_iter().chain(answered));
        assemble::prompt(&self.fixed, self.summary_text(), records)
    }

    /// The valid records of some units.
    fn records_of(&self, units: Range<usize>) -> Vec<Range<usize>> {
        let units = self.cleaned.units.get(units).unwrap_or_default();
        match (units.first(), units.last()) {
            (Some(first), Some(last)) => self.cleaned.valid(first.records.start..last.records.end),
            _ => Vec::new(),
        }
    }

    fn summary_text(&self) -> Option<&Text> {
        self.conversation
            .summary
            .as_ref()
            .map(|summary| &summary.text)
    }
}

/// How many units a summary covers; `None` where it does not end between two of them.
fn covered_units<H: History + ?Sized>(
    cleaned: &Cleaned,
    input: &Input<'_, H>,
    summary: &Summary,
) -> Option<usize> {
    let end = summary.compressed_count.checked_sub(input.base)?;
    let end = usize::try_from(end).ok()?;
    let covered = cleaned
        .units
        .partition_point(|unit| unit.records.end <= end);
    let pending = cleaned.pending.as_ref().map(|pending| &pending.unit);
    let next = cleaned.units.get(covered).or(pending);
    let meets = next.map_or(end <= input.history.len(), |unit| unit.records.start >= end);
    meets.then_some(covered)
}

/// Puts ranges together that touch.
fn joined(ranges: impl Iterator<Item = Range<usize>>) -> Vec<Range<usize>> {
    let mut joined: Vec<Range<usize>> = Vec::new();
    for range in ranges {
        match joined.last_mut() {
            Some(last) if last.end == range.start => last.end = range.end,
            _ => joined.push(range),
        }
    }
    joined
}

fn is_blank(text: &Text) -> bool {
    text.to_plain().trim().is_empty()
}
