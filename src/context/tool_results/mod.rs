//! What a caller answers to tool calls.
//!
//! Results come as an object, or as the string that `@stello-ai/core` sends, `{"toolResults":[…]}`. A string that answers
//! no stored call is what a user typed: no text can pass itself off as the result of a call.

mod matching;
mod parse;

use std::collections::HashSet;

use self::{
    matching::{Faults, Open, match_results},
    parse::{Given, parse_list},
};
use super::{History, tool_groups};
use crate::{
    error::{Error, Result},
    message::{Message, MessageBuilder, Role},
    text::Text,
};

/// What the text of a turn turned out to be.
#[derive(Debug, Clone, PartialEq)]
pub enum Reading {
    /// What a user said, to be sent as it is.
    UserText,
    /// The answers to every open call, as `tool` messages in the given order.
    Results(Vec<Message>),
    /// Results for calls that the loaded part of the history does not know: read again with all of it.
    NeedsOlder,
}

/// Reads the text of a turn.
///
/// `complete` says that `history` begins with the first stored record; only where it is false can
/// [`Reading::NeedsOlder`] come. Results for calls that were answered or superseded, and results that do not answer
/// every open call exactly once, are an [`Error::ToolResults`].
pub fn read_text(
    text: &Text,
    history: &(impl History + ?Sized),
    complete: bool,
    timestamp: Option<&Text>,
) -> Result<Reading> {
    // Not every text is worth parsing.
    if !text.escaped().contains("toolResults") {
        return Ok(Reading::UserText);
    }
    let plain = text.to_plain();
    let Ok(given) = parse_list(&plain) else {
        return Ok(Reading::UserText);
    };
    if given.is_empty() {
        return Ok(Reading::UserText);
    }
    let open = Open::of(history);
    if given.iter().any(|result| open.may_be_answered_by(result)) {
        return answer(&given, &open, history, timestamp).map(Reading::Results);
    }
    if names_stored(&given, history) {
        return Err(Faults::of_unmatched(&given, history));
    }
    Ok(if complete {
        Reading::UserText
    } else {
        Reading::NeedsOlder
    })
}

/// Reads results given as an object, as the JSON text of `{ toolResults: [...] }`.
///
/// An empty list or a wrong shape is an [`Error::InvalidArgument`], anything but one answer to each open call an
/// [`Error::ToolResults`].
pub fn read_object(
    json: &str,
    history: &(impl History + ?Sized),
    timestamp: Option<&Text>,
) -> Result<Vec<Message>> {
    let given = parse_list(json).map_err(Error::InvalidArgument)?;
    if given.is_empty() {
        return Err(Error::InvalidArgument(
            "toolResults: expected at least one result, got an empty array".to_owned(),
        ));
    }
    answer(&given, &Open::of(history), history, timestamp)
}

fn answer(
    given: &[Given],
    open: &Open<'_>,
    history: &(impl History + ?Sized),
    timestamp: Option<&Text>,
) -> Result<Vec<Message>> {
    let ids = match_results(given, open, history)?;
    let messages = given.iter().zip(ids).map(|(result, id)| {
        let builder = MessageBuilder::new(Role::Tool, result.content.clone())
            .tool_call_id(id)
            .is_error(!result.success);
        match timestamp {
            Some(timestamp) => builder.timestamp(timestamp.clone()),
            None => builder,
        }
        .build()
    });
    Ok(messages.collect())
}

/// Whether a result names a call that the history knows, by id or, without one, by the name of its tool.
fn names_stored(given: &[Given], history: &(impl History + ?Sized)) -> bool {
    let ids: HashSet<&Text> = given
        .iter()
        .filter_map(|result| result.id.as_ref())
        .collect();
    let without_id = given.iter().filter(|result| result.id.is_none());
    let names: HashSet<&Text> = without_id
        .filter_map(|result| result.name.as_ref())
        .collect();
    (0..history.len()).any(|at| {
        (0..history.call_count(at)).any(|call| {
            let (id, name) = history.call(at, call);
            ids.contains(id) || names.contains(name)
        })
    })
}

#[cfg(any(test, feature = "properties"))]
pub mod properties;
#[cfg(test)]
mod tests;
