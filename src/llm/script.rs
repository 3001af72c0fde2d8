//! How a body is written: the messages of a prompt between what stands before and after them.

use std::sync::Arc;

use bytes::Bytes;

use super::{
    Messages,
    fragments::{self, Fragments, Ready},
    http::{self, Outgoing},
};
use crate::text::{Length, Output};

/// How long a piece is at least, but for the first and the last: few enough bytes to be still in the processor's cache when
/// they are sent, and enough to make the way there worth it.
pub(super) const PIECE: usize = 64 * 1024;

/// What a protocol makes of messages. All that it writes depends on nothing but these.
pub(super) trait Form: Send + Sync + 'static {
    /// Another one for what writes the same messages otherwise.
    fn number(&self) -> u8;

    /// Writes the messages from `at` on, each but the first with a comma before it, until `enough` says of a message that it
    /// is to be left for later; answers that one.
    fn push<O: Output>(
        &self,
        messages: &Messages,
        at: usize,
        out: &mut O,
        enough: impl FnMut(&O, usize) -> bool,
    ) -> Option<usize>;

    /// The message from which on the next prompt may write it otherwise; `None` for none.
    fn limit(&self) -> Option<usize> {
        None
    }
}

/// A body: `head`, the messages, `tail`.
pub(super) fn body(
    form: impl Form,
    head: String,
    messages: &Messages,
    fragments: Option<&Arc<Fragments>>,
    tail: String,
) -> Outgoing {
    let ready = fragments.map(|kept| kept.ready(form.number(), messages, form.limit()));
    let script = Script {
        form,
        head,
        messages: messages.clone(),
        fragments: fragments.cloned(),
        ready: ready.unwrap_or_default(),
        tail,
    };
    let length = http::Script::length(&script);
    if length > PIECE {
        let script = Arc::new(script);
        return Outgoing::Long { length, script };
    }
    let mut text = String::with_capacity(length);
    script.push(0, &mut text, |_, _| false);
    Outgoing::from(text)
}

struct Script<F> {
    form: F,
    head: String,
    messages: Messages,
    fragments: Option<Arc<Fragments>>,
    ready: Ready,
    tail: String,
}

impl<F: Form> Script<F> {
    fn push<O: Output>(
        &self,
        at: usize,
        out: &mut O,
        enough: impl FnMut(&O, usize) -> bool,
    ) -> Option<usize> {
        if at == 0 {
            out.push_str(&self.head);
        }
        let next = self.form.push(&self.messages, at, out, enough);
        if next.is_none() {
            out.push_str(&self.tail);
        }
        next
    }

    /// The first piece ends where pieces begin that are kept.
    fn first_end(&self) -> Option<usize> {
        let mut messages = self.messages.iter().enumerate().skip(1);
        let (at, _) = messages.find(|(_, message)| fragments::begins(message))?;
        self.fragments.is_some().then_some(at)
    }
}

impl<F: Form> http::Script for Script<F> {
    fn length(&self) -> usize {
        let mut length = Length::default();
        match self.ready.span() {
            None => {
                self.push(0, &mut length, |_, _| false);
            }
            Some((start, end, between)) => {
                self.push(0, &mut length, |_, next| next >= start);
                length.0 += between;
                self.push(end, &mut length, |_, _| false);
            }
        }
        length.0
    }

    fn piece(&self, at: usize) -> (Bytes, Option<usize>) {
        if let Some((bytes, next)) = self.ready.piece(at) {
            return (bytes, Some(next));
        }
        let mut out = String::with_capacity(PIECE + PIECE / 8);
        let first_end = self.first_end();
        let next = self.push(at, &mut out, |out, next| match first_end {
            Some(end) if at < end => next >= end,
            _ => out.len() >= PIECE,
        });
        let bytes = Bytes::from(out);
        let lasts = first_end.is_some_and(|end| at >= end);
        let lasting = next.filter(|&next| self.form.limit().is_none_or(|limit| next <= limit));
        if let (Some(kept), Some(next), true) = (&self.fragments, lasting, lasts) {
            kept.keep(self.form.number(), &self.messages, at, next, &bytes);
        }
        (bytes, next)
    }
}
