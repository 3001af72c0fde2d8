//! What the provider's own counts say about the estimate.

/// A ratio learned from counts is kept within these bounds.
const RATIO: (f64, f64) = (0.5, 4.0);

/// A count below this part of the estimate is a fault of the server, not a measure.
const BELIEVED: f64 = 0.25;

/// A count above this many estimates is believed only while it is below the window: servers put hidden prompts before
/// small ones, but a sum over all calls so far is no measure of one prompt.
const EXCESS: f64 = 8.0;

/// What a small prompt costs besides its text says little about larger ones: this part of the window is
/// taken as counted rightly when a ratio is learned.
const PRIOR: f64 = 1.0 / 64.0;

/// What a prompt was made of, as far as it matters for its size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::context) struct PromptKey {
    pub adapter: u64,
    pub tools: u64,
    /// The literal messages before the history, the summary included.
    pub head: u64,
    /// The number of raw records before the first that was sent.
    pub start: u64,
}

/// The estimated size of a prompt.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::context) struct PromptSize {
    pub key: PromptKey,
    /// The raw records it covers once its turn is stored, counted from the very first.
    pub end: u64,
    /// The estimate of all of it, uncorrected.
    pub estimate: u64,
    /// Whether the estimate was made from contents, not from lengths alone.
    pub exact: bool,
}

/// What was learned from the last believed count of a session's adapter.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Calibration(Option<Measured>);

#[derive(Debug, Clone, Copy, PartialEq)]
struct Measured {
    size: PromptSize,
    tokens: f64,
}

/// Tokens for one estimated token.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::context) struct Ratio {
    /// The best guess.
    pub likely: f64,
    /// At least 1, and as high as the last count was: what must not pass the window.
    pub cautious: f64,
}

impl Calibration {
    /// Takes the provider's count of a prompt whose turn was stored; an incredible one changes nothing.
    #[must_use]
    pub(in crate::context) fn learn(self, size: PromptSize, tokens: f64, window: f64) -> Self {
        let estimate = float(size.estimate);
        let believed = tokens.is_finite()
            && tokens > 0.0
            && tokens >= estimate * BELIEVED
            && (tokens <= estimate * EXCESS || tokens <= window);
        if size.exact && believed {
            Self(Some(Measured { size, tokens }))
        } else {
            self
        }
    }

    #[must_use]
    pub(in crate::context) fn ratio(&self, adapter: u64, window: f64) -> Ratio {
        let Some(last) = self.0.filter(|last| last.size.key.adapter == adapter) else {
            return Ratio {
                likely: 1.0,
                cautious: 1.0,
            };
        };
        let estimate = float(last.size.estimate);
        let prior = window.min(1e9) * PRIOR;
        Ratio {
            likely: ((last.tokens + prior) / (estimate + prior)).clamp(RATIO.0, RATIO.1),
            cautious: (last.tokens / estimate.max(1.0)).clamp(1.0, RATIO.1),
        }
    }

    /// The last measured prompt, where one of this `key` may extend it.
    #[must_use]
    pub(in crate::context) fn base_of(&self, key: PromptKey) -> Option<Base> {
        let last = self.0.filter(|last| last.size.key == key)?;
        Some(Base {
            end: last.size.end,
            estimate: last.size.estimate,
            tokens: last.tokens,
        })
    }
}

/// A measured prompt that a new one extends if it repeats all of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::context) struct Base {
    /// The raw records it covers, counted from the very first.
    pub end: u64,
    /// What it was estimated at. A repetition of other weight is not the same prompt.
    pub estimate: u64,
    /// What it was counted as.
    pub tokens: f64,
}

#[expect(
    clippy::cast_precision_loss,
    reason = "token counts are far below 2^52, and sizes are compared with slack"
)]
pub(in crate::context) fn float(tokens: u64) -> f64 {
    tokens as f64
}
