//! Tokens by script, in one pass.
//!
//! Rates follow what byte-pair tokenisers do (checked against `o200k_base`, November 2026): about one token for a Han,
//! kana or Hangul character and for each UTF-16 unit of an emoji, one for two characters of other scripts, digits (and half a
//! one more for each number) and punctuation, one for 1.4 characters of base64 and hashes, one for four letters and blanks of English prose.

/// Costs are counted in 1/28 of a token, in which all rates are whole.
const TOKEN: u64 = 28;
const LETTER: u64 = TOKEN / 4;
const HALF: u64 = TOKEN / 2;
/// Numbers are short, and each begins a token of its own: without that, tables and logs would seem smaller than they are.
const NUMBER: u64 = TOKEN / 2;
/// 1.4 characters a token.
const DENSE: u64 = 20;

/// Shorter runs of letters and digits are words, whatever they look like.
const DENSE_MIN: usize = 8;
/// No word is so long, whatever it looks like.
const DENSE_SURE: usize = 48;

const BLOCK: usize = 64;

/// A text that is the inside of a JSON literal: an escape counts as the one unit it stands for.
pub(super) fn escaped(text: &str) -> u32 {
    bytes(text, true, Blocks::default())
}

/// A text that is sent as it stands.
pub(super) fn plain(text: &str) -> u32 {
    bytes(text, false, Blocks::default())
}

#[cfg(test)]
pub(super) fn plain_without_blocks(text: &str) -> u32 {
    bytes(text, false, Blocks { singly: usize::MAX })
}

pub(super) fn utf16(units: &[u16]) -> u32 {
    let mut cost = 0;
    let mut rest = units;
    let mut blocks = Blocks::default();
    while let Some(&unit) = rest.first() {
        let (taken_cost, taken) = if let Some(block) = blocks.next(rest, false) {
            block
        } else if is_alphanumeric(unit) {
            run(rest)
        } else {
            match char::from_u32(u32::from(unit)) {
                Some(c) => (char_cost(c), 1),
                None => match char::decode_utf16(rest.iter().copied()).next() {
                    Some(Ok(pair)) => (char_cost(pair), 2),
                    _ => (TOKEN, 1), // half a pair
                },
            }
        };
        cost += taken_cost;
        blocks.pass(taken);
        rest = rest.get(taken..).unwrap_or_default();
    }
    tokens(cost)
}

fn bytes(text: &str, escapes: bool, mut blocks: Blocks) -> u32 {
    let mut cost = 0;
    let mut rest = text;
    while let Some(&byte) = rest.as_bytes().first() {
        let (taken_cost, taken) = if let Some(block) = blocks.next(rest.as_bytes(), escapes) {
            block
        } else if is_alphanumeric(byte) {
            run(rest.as_bytes())
        } else if byte == b'\\' && escapes {
            escape(rest)
        } else {
            let c = rest.chars().next().unwrap_or_default();
            (char_cost(c), c.len_utf8())
        };
        cost += taken_cost;
        blocks.pass(taken);
        rest = rest.get(taken..).unwrap_or_default();
    }
    tokens(cost)
}

/// Tries blocks where they may fit: after one that did not, the units of its length are taken one by one.
#[derive(Default)]
struct Blocks {
    singly: usize,
}

impl Blocks {
    fn next(&mut self, units: &[impl Unit], escapes: bool) -> Option<(u64, usize)> {
        if self.singly > 0 {
            return None;
        }
        let block = plain_block(units, escapes);
        if block.is_none() {
            self.singly = BLOCK;
        }
        block
    }

    fn pass(&mut self, taken: usize) {
        self.singly = self.singly.saturating_sub(taken);
    }
}

/// Cost and length of the escape at the start of `text`.
fn escape(text: &str) -> (u64, usize) {
    match text.as_bytes().get(1) {
        Some(b'u') => (TOKEN, 6), // a control character or half a surrogate pair
        Some(b'n') => (char_cost('\n'), 2),
        Some(b'r') => (char_cost('\r'), 2),
        Some(b't') => (char_cost('\t'), 2),
        Some(b'b' | b'f') => (TOKEN, 2),
        _ => (HALF, 2),
    }
}

fn tokens(cost: u64) -> u32 {
    u32::try_from(cost.div_ceil(TOKEN)).unwrap_or(u32::MAX)
}

fn char_cost(c: char) -> u64 {
    match u32::from(c) {
        // blanks and ASCII letters
        0x09 | 0x20 | 0x41..=0x5a | 0x61..=0x7a => LETTER,
        // line ends, ASCII punctuation and digits
        0x0a | 0x0d | 0x21..=0x40 | 0x5b..=0x60 | 0x7b..=0x7e => HALF,
        // control characters
        0..=0x1f | 0x7f..=0x9f
        // Hangul jamo; joiners and selectors of emoji sequences; technical signs, symbols, dingbats, arrows
        | 0x1100..=0x11ff | 0x200d | 0x2300..=0x23ff | 0x2600..=0x27bf | 0x2b00..=0x2bff | 0xfe0f
        // radicals; kana, bopomofo, compatibility jamo, kanbun; Han; Hangul
        | 0x2e80..=0x2fdf | 0x3040..=0x31ff | 0x3400..=0x4dbf | 0x4e00..=0x9fff
        | 0xa960..=0xa97f | 0xac00..=0xd7ff | 0xf900..=0xfaff | 0xff66..=0xffdc => TOKEN,
        // emoji and rarer Han, two UTF-16 units each
        0x1_0000.. => 2 * TOKEN,
        _ => HALF,
    }
}

/// One unit of a text, UTF-8 or UTF-16. Compared in its own width and without branches, so that a compiler puts as many
/// into a vector as fit.
trait Unit: Copy + PartialEq {
    fn is_within(self, from: u8, to: u8) -> bool;
}

impl Unit for u8 {
    fn is_within(self, from: u8, to: u8) -> bool {
        self.wrapping_sub(from) <= to - from
    }
}

impl Unit for u16 {
    fn is_within(self, from: u8, to: u8) -> bool {
        self.wrapping_sub(Self::from(from)) <= Self::from(to - from)
    }
}

fn is(unit: impl Unit, byte: u8) -> bool {
    unit.is_within(byte, byte)
}

fn is_digit(unit: impl Unit) -> bool {
    unit.is_within(b'0', b'9')
}

fn is_lower(unit: impl Unit) -> bool {
    unit.is_within(b'a', b'z')
}

fn is_upper(unit: impl Unit) -> bool {
    unit.is_within(b'A', b'Z')
}

fn is_alphanumeric(unit: impl Unit) -> bool {
    is_digit(unit) | is_lower(unit) | is_upper(unit)
}

fn run_length(units: &[impl Unit]) -> usize {
    units
        .iter()
        .position(|&unit| !is_alphanumeric(unit))
        .unwrap_or(units.len())
}

/// Between letters and digits, and from a small to a capital letter: common in base64 and hashes, rare in words and names.
fn is_turn(before: impl Unit, after: impl Unit) -> bool {
    (is_digit(before) != is_digit(after)) | (is_lower(before) & is_upper(after))
}

/// Cost and length of the run of ASCII letters and digits at the start of `units`.
fn run(units: &[impl Unit]) -> (u64, usize) {
    let length = run_length(units);
    (run_cost(units.get(..length).unwrap_or_default()), length)
}

fn run_cost(run: &[impl Unit]) -> u64 {
    let base = |unit| if is_digit(unit) { HALF } else { LETTER };
    let pairs = || run.iter().zip(run.iter().skip(1));
    let dense = run.len() >= DENSE_MIN
        && (run.len() >= DENSE_SURE
            || pairs().filter(|&(&a, &b)| is_turn(a, b)).count() * 4 >= run.len());
    if dense {
        // A character said again and again is cheap in any tokeniser.
        let repeats = pairs().filter(|(a, b)| a == b).map(|(a, _)| base(*a));
        let (repeated, cost) = repeats.fold((0, 0), |(n, cost), next| (n + 1, cost + next));
        DENSE * (run.len() as u64 - repeated) + cost
    } else {
        run.iter().map(|&unit| base(unit)).sum::<u64>() + NUMBER * numbers_in(run)
    }
}

/// How many groups of digits there are.
fn numbers_in(units: &[impl Unit]) -> u64 {
    let first = units.first().is_some_and(|&unit| is_digit(unit));
    let pairs = units.iter().zip(units.iter().skip(1));
    let later = pairs.filter(|&(&before, &unit)| !is_digit(before) && is_digit(unit));
    u64::from(first) + later.count() as u64
}

/// Cost and length of a stretch of plain ASCII without dense runs, found without branches; it ends after a blank or a sign,
/// so that no run is cut. `None` where the start of `units` is not of that kind.
fn plain_block<T: Unit>(units: &[T], escapes: bool) -> Option<(u64, usize)> {
    let block: &[T; BLOCK] = units.first_chunk()?;
    let successors: &[T; BLOCK] = units.get(1..)?.first_chunk()?;
    // Sums of a block fit a byte; sums of bytes over two arrays of a known length are what a compiler makes vectors of.
    let (mut odd, mut cheap, mut turns, mut numbers) = (0_u8, 0_u8, 0_u8, 0_u8);
    for (&unit, &next) in block.iter().zip(successors) {
        odd += u8::from(is_odd(unit, escapes));
        cheap += u8::from(is_cheap(unit));
        turns += u8::from(is_turn(unit, next) & is_alphanumeric(unit) & is_alphanumeric(next));
        numbers += u8::from(!is_digit(unit) & is_digit(next));
    }
    if odd > 0 || turns > 1 {
        return None;
    }
    let end = block.iter().rposition(|&unit| !is_alphanumeric(unit))? + 1;
    let (kept, back) = block.split_at_checked(end)?;
    if back.len() >= DENSE_SURE || !breaks_often(kept) {
        return None;
    }
    let back_cheap = back.iter().filter(|&&unit| is_cheap(unit)).count() as u64;
    let cheap = u64::from(cheap) - back_cheap;
    let first_number = u64::from(block.first().is_some_and(|&unit| is_digit(unit)));
    // What is kept ends with no digit, so a number at the start of the rest is one of those that begin there.
    let numbers_back = numbers_in(units.get(end..=BLOCK)?);
    let cost = cheap * LETTER
        + (kept.len() as u64 - cheap) * HALF
        + (u64::from(numbers) + first_number - numbers_back) * NUMBER;
    Some((cost, end))
}

/// Whether no run can be as long as [`DENSE_SURE`]: each third of a block ends one.
fn breaks_often(units: &[impl Unit]) -> bool {
    units
        .chunks(DENSE_SURE / 2)
        .all(|chunk| chunk.iter().any(|&unit| !is_alphanumeric(unit)))
}

/// What the cheap rates of ASCII do not fit: other scripts, control characters, escapes.
fn is_odd(unit: impl Unit, escapes: bool) -> bool {
    let plain = unit.is_within(b' ', b'~') | unit.is_within(b'\t', b'\n') | is(unit, b'\r');
    !plain | (escapes & is(unit, b'\\'))
}

fn is_cheap(unit: impl Unit) -> bool {
    is_lower(unit) | is_upper(unit) | is(unit, b' ') | is(unit, b'\t')
}
