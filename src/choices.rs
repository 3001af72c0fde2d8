//! Decisions taken from bytes, so that one property serves a fuzzer, the corpus it has left and random cases.

use crate::text::Text;

/// Reads bytes as decisions; past their end every decision is the first one.
#[derive(Debug)]
pub struct Choices<'a> {
    bytes: &'a [u8],
}

impl<'a> Choices<'a> {
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    #[must_use]
    pub fn is_over(&self) -> bool {
        self.bytes.is_empty()
    }

    pub fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.bytes.split_first() else {
            return 0;
        };
        self.bytes = rest;
        *first
    }

    pub fn flag(&mut self) -> bool {
        self.byte() & 1 == 1
    }

    /// A number below `end`, which is not 0.
    pub fn below(&mut self, end: usize) -> usize {
        let number = if end > 256 {
            usize::from(self.byte()) << 8 | usize::from(self.byte())
        } else {
            usize::from(self.byte())
        };
        number % end.max(1)
    }

    /// Any number; mostly a small one, or one at an edge.
    pub fn number(&mut self) -> i64 {
        let edges = [
            i64::MIN,
            i64::MAX,
            -1,
            1 << 31,
            1 << 32,
            1 << 53,
            -(1 << 31),
        ];
        match self.byte() {
            byte @ 0..=191 => i64::from(byte % 8),
            byte => {
                let edge = edges.get(usize::from(byte % 8)).copied();
                edge.unwrap_or_else(|| (0..8).fold(0, |n, _| n << 8 | i64::from(self.byte())))
            }
        }
    }

    /// One of `given`, which are not none.
    pub fn pick<T: Copy + Default>(&mut self, given: &[T]) -> T {
        let at = self.below(given.len());
        given.get(at).copied().unwrap_or_default()
    }

    /// Bytes as many as the next one says.
    pub fn bytes(&mut self) -> &'a [u8] {
        let length = usize::from(self.byte()).min(self.bytes.len());
        let (taken, rest) = self.bytes.split_at(length);
        self.bytes = rest;
        taken
    }

    /// Anything that JavaScript takes for a string, halves of surrogate pairs included.
    pub fn units(&mut self) -> Vec<u16> {
        let high = [0, 0, 0, 0x4e, 0xd8, 0xdc, 0x20, 0xff];
        let unit = |pair: &[u8]| match *pair {
            [low, at] => u16::from(low) | high.get(usize::from(at % 8)).map_or(0, |h| h << 8),
            [low] => u16::from(low),
            _ => 0,
        };
        self.bytes().chunks(2).map(unit).collect()
    }

    pub fn text(&mut self) -> Text {
        Text::from_utf16(&self.units())
    }

    /// All that is left.
    #[must_use]
    pub fn rest(self) -> &'a [u8] {
        self.bytes
    }
}

/// `whole` in pieces, whose lengths repeat `lengths`.
#[must_use]
pub fn cut(whole: &[u8], lengths: &[u8]) -> Vec<Vec<u8>> {
    let mut pieces = Vec::new();
    let mut rest = whole;
    let mut lengths = lengths.iter().cycle();
    while !rest.is_empty() {
        let length = lengths
            .next()
            .map_or(usize::MAX, |&length| usize::from(length) + 1);
        let (piece, after) = rest.split_at(length.min(rest.len()));
        pieces.push(piece.to_vec());
        rest = after;
    }
    pieces
}

/// Holds `property` against the corpus `fuzz/corpus/NAME`, against two halves of its files put together, and against any bytes.
#[cfg(test)]
pub(crate) fn hold(name: &str, property: fn(&[u8])) {
    use proptest::{collection::vec, prelude::*, sample::select, test_runner::TestRunner};

    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fuzz/corpus")
        .join(name);
    let files = std::fs::read_dir(&folder).unwrap();
    let mut files: Vec<_> = files.map(|file| file.unwrap().path()).collect();
    files.sort();
    let mut corpus = Vec::new();
    for file in files {
        println!("{}", file.display());
        corpus.push(std::fs::read(&file).unwrap());
        property(corpus.last().unwrap());
    }
    let one = select(corpus);
    let two = (
        one.clone(),
        any::<prop::sample::Index>(),
        one,
        any::<prop::sample::Index>(),
    );
    let halves = two.prop_map(|(first, end, second, start)| {
        let first = &first[..end.index(first.len() + 1)];
        [first, &second[start.index(second.len() + 1)..]].concat()
    });
    let input = prop_oneof![3 => vec(any::<u8>(), 0..1_500), 2 => halves];
    let config = ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let held = TestRunner::new(config).run(&input, |bytes| {
        property(&bytes);
        Ok(())
    });
    held.unwrap();
}
