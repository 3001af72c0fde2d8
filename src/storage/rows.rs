//! What the databases keep as text, and back.
//!
//! A text is kept as the inside of its JSON literal ([`Text::escaped`]), so that a NUL and half a surrogate pair survive;
//! a session's meta, a node and a record are kept as JSON. Rows may have been edited by other hands: what is not
//! of that form is refused by the names of its table and column.

use serde_json::value::RawValue;

use crate::{
    error::Result,
    error::{Error, StorageCode, StorageError},
    message::Message,
    meta::{ChildL2Summary, SessionDigest, SessionFilter, SessionMeta, TopologyNode},
    text::{Json, Text, excerpt},
};

/// A column that does not hold what it should.
pub(super) fn invalid(column: &str, problem: impl std::fmt::Display) -> Error {
    Error::Storage(StorageError::new(
        StorageCode::InvalidShape,
        format!("{column}: {problem}"),
    ))
}

pub(super) fn text(column: &str, stored: &str) -> Result<Text> {
    let plain = |byte: u8| byte >= 0x20 && byte != b'"' && byte != b'\\';
    if stored.bytes().all(plain) {
        return Ok(Text::from_escaped(stored));
    }
    let literal = format!("\"{stored}\"");
    serde_json::from_str::<&RawValue>(&literal)
        .ok()
        .and_then(|raw| Text::from_json(raw.get()))
        .ok_or_else(|| {
            let got = excerpt(stored);
            invalid(
                column,
                format_args!("expected the inside of a JSON string, got {got}"),
            )
        })
}

pub(super) fn optional_text(column: &str, stored: Option<&str>) -> Result<Option<Text>> {
    stored.map(|stored| text(column, stored)).transpose()
}

pub(super) fn json(column: &str, stored: &str) -> Result<Json> {
    Json::parse(stored).map_err(|problem| invalid(column, problem))
}

pub(super) fn message(stored: &str) -> Result<Message> {
    Message::parse(stored).map_err(|problem| invalid("records.message", problem))
}

pub(super) fn meta(stored: &str) -> Result<SessionMeta> {
    serde_json::from_str(stored).map_err(|problem| invalid("metas.meta", problem))
}

pub(super) fn node(stored: &str) -> Result<TopologyNode> {
    serde_json::from_str(stored).map_err(|problem| invalid("nodes.node", problem))
}

/// A meta or a node as the text that [`meta`] and [`node`] read.
pub(super) fn to_json(value: &impl serde::Serialize) -> Result<String> {
    serde_json::to_string(value).map_err(|error| Error::Internal(error.to_string()))
}

pub(super) fn digest(
    meta: SessionMeta,
    memory: Option<&str>,
    insight: Option<&str>,
) -> Result<SessionDigest> {
    Ok(SessionDigest {
        id: meta.id,
        label: meta.label,
        status: meta.status,
        memory: optional_text("slots.content", memory)?,
        insight: optional_text("slots.content", insight)?,
    })
}

pub(super) fn l2(meta: SessionMeta, memory: &str) -> Result<ChildL2Summary> {
    Ok(ChildL2Summary {
        session_id: meta.id,
        label: meta.label,
        l2: text("slots.content", memory)?,
    })
}

/// Which of the sessions pass; a database has looked at status and role already.
pub(super) fn accepts(filter: &SessionFilter, meta: &SessionMeta) -> bool {
    filter.status.is_none_or(|status| status == meta.status)
        && filter.role.is_none_or(|role| role == meta.role)
        && (filter.tags.iter().flatten()).all(|tag| meta.tags.contains(tag))
}

/// The fingerprint of a history at a revision (see [`super::CompressionCache`]).
pub(super) fn fingerprint(
    history: impl std::fmt::Display,
    revision: impl std::fmt::Display,
) -> Text {
    Text::from(format!("{history}.{revision}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_of_other_hands_is_read_where_it_is_the_inside_of_a_literal() {
        for (stored, expected) in [
            ("plain 日本", Some("plain 日本")),
            ("a\\u0000\\\"\\ud800", Some("a\\u0000\\\"\\ud800")),
            ("\\u65e5\\/", Some("日/")),
            ("raw \" quote", None),
            ("raw \n line", None),
            ("\\x", None),
            ("\\", None),
            ("a\",\"b", None),
        ] {
            let read = text("slots.content", stored).ok();
            assert_eq!(read.as_ref().map(Text::escaped), expected, "{stored}");
        }
    }

    #[test]
    fn what_is_not_of_its_form_is_refused_by_table_and_column() {
        for (error, column) in [
            (message("{}").unwrap_err(), "records.message: role: "),
            (meta("[]").unwrap_err(), "metas.meta: "),
            (node("{").unwrap_err(), "nodes.node: "),
            (json("globals.value", "nul").unwrap_err(), "globals.value: "),
            (text("slots.content", "\"").unwrap_err(), "slots.content: "),
        ] {
            assert_eq!(error.code(), Some("invalid_shape"));
            assert!(error.to_string().starts_with(column), "{error}");
        }
    }
}
