//! Pieces of request bodies, kept for the next request of the same conversation.
//!
//! Between two turns a conversation only grows at its end, so most of a body was sent before. The texts of its
//! messages lie all over the memory; a piece of a body lies in one place, and sending it again costs no more than its bytes.
//! A piece is sent again only where it was made of the very same messages: not equal ones, the same.

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicUsize, Ordering},
};

use bytes::Bytes;

use super::Messages;
use crate::message::{Message, Role};

/// How many bytes all conversations of the process keep together, at most.
const MOST: usize = 256 * 1024 * 1024;

/// And how many they keep.
static KEPT: AtomicUsize = AtomicUsize::new(0);

/// What is kept of one conversation.
#[derive(Debug, Default)]
pub struct Fragments(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    /// Tells how the messages were written.
    form: u8,
    pieces: Vec<Piece>,
}

#[derive(Debug)]
struct Piece {
    /// What it was made of.
    texts: Vec<Arc<str>>,
    /// What came after it: there the next message begins, and not inside of another.
    followed_by: Arc<str>,
    bytes: Bytes,
}

impl Drop for Piece {
    fn drop(&mut self) {
        KEPT.fetch_sub(self.bytes.len(), Ordering::Relaxed);
    }
}

/// The pieces of a body that need not be made again, one right after the other.
#[derive(Debug, Default)]
pub(super) struct Ready {
    /// The message that the first of them begins with, and those that they end before.
    start: usize,
    pieces: Vec<(usize, Bytes)>,
}

impl Ready {
    /// The piece that begins with message `at`, and the message after it.
    pub(super) fn piece(&self, at: usize) -> Option<(Bytes, usize)> {
        let before = self.pieces.partition_point(|&(end, _)| end <= at);
        let start = match before.checked_sub(1) {
            None => self.start,
            Some(last) => self.pieces.get(last)?.0,
        };
        let (end, bytes) = self.pieces.get(before)?;
        (start == at).then(|| (bytes.clone(), *end))
    }

    /// From which message to which they go, and how many bytes that is; `None` where there are none.
    pub(super) fn span(&self) -> Option<(usize, usize, usize)> {
        let &(end, _) = self.pieces.last()?;
        let length = self.pieces.iter().map(|(_, bytes)| bytes.len()).sum();
        Some((self.start, end, length))
    }
}

/// Where pieces begin: at an answer of the model, which is a message of its own in every protocol, whatever stands before
/// it, and which is never the first.
pub(super) fn begins(message: &Message) -> bool {
    message.role() == Role::Assistant && (!message.is_blank() || !message.tool_calls().is_empty())
}

impl Fragments {
    /// What there is of `messages` in this form; what does not fit them any more is forgotten. Nothing beyond the message `limit`
    /// is of use.
    pub(super) fn ready(&self, form: u8, messages: &Messages, limit: Option<usize>) -> Ready {
        let mut kept = self.lock();
        let mut ready = Ready::default();
        if kept.form != form {
            *kept = Kept {
                form,
                pieces: Vec::new(),
            };
        }
        let mut all = messages.iter().enumerate().skip(1);
        let Some((start, first)) = all.find(|(_, message)| begins(message)) else {
            return ready;
        };
        ready.start = start;
        let mut texts = std::iter::once(first)
            .chain(all.map(|(_, message)| message))
            .map(Message::shared_json)
            .peekable();
        let mut end = start;
        let fitting = kept.pieces.iter().take_while(|piece| {
            let same = piece
                .texts
                .iter()
                .all(|text| texts.next_if(|next| Arc::ptr_eq(next, text)).is_some());
            let follows = texts
                .peek()
                .is_some_and(|next| Arc::ptr_eq(next, &piece.followed_by));
            end += piece.texts.len();
            let fits = same && follows;
            if fits && limit.is_none_or(|limit| end <= limit) {
                ready.pieces.push((end, piece.bytes.clone()));
            }
            fits
        });
        let fitting = fitting.count();
        kept.pieces.truncate(fitting);
        ready
    }

    /// Keeps the piece that was made of the messages from `at` to `next`.
    pub(super) fn keep(
        &self,
        form: u8,
        messages: &Messages,
        at: usize,
        next: usize,
        bytes: &Bytes,
    ) {
        let mut texts: Vec<Arc<str>> = messages
            .from(at)
            .take(next - at + 1)
            .map(|message| message.shared_json().clone())
            .collect();
        let Some(followed_by) = texts.pop().filter(|_| texts.len() == next - at) else {
            return;
        };
        let mut kept = self.lock();
        let goes_on = match (kept.pieces.last(), texts.first()) {
            (Some(last), Some(first)) => Arc::ptr_eq(&last.followed_by, first),
            (None, Some(_)) => true,
            _ => false,
        };
        let room = KEPT.load(Ordering::Relaxed).saturating_add(bytes.len()) <= MOST;
        if kept.form == form && goes_on && room {
            KEPT.fetch_add(bytes.len(), Ordering::Relaxed);
            kept.pieces.push(Piece {
                texts,
                followed_by,
                bytes: bytes.clone(),
            });
        }
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
