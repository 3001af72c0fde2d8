//! What holds of a file that other hands have edited.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::missing_panics_doc,
    clippy::panic,
    reason = "a property fails by panicking"
)]

use std::{io::Cursor, sync::LazyLock};

use rusqlite::{Connection, types::Value};

use super::{queries, schema, writes};
use crate::{
    choices::Choices,
    error::{Error, Result},
    message::{Message, MessageBuilder, Role},
    meta::{SessionFilter, SessionMeta, Status},
    storage::{CompressionCache, ListRecords, Slot, Write},
    text::{Json, Text, properties as values},
};

/// More edits and writes in a row reach nothing more.
const MOST_STEPS: usize = 16;

/// Rows of any content are read as what they say, or refused as a `StorageError`; a list that fails leaves all as it was.
pub fn rows(data: &[u8]) {
    let mut choices = Choices::new(data);
    let mut connection = filled();
    for _ in 0..MOST_STEPS {
        if choices.is_over() {
            break;
        }
        if choices.flag() {
            edit(&connection, &mut choices);
        } else {
            write(&mut connection, &mut choices);
        }
        read(&mut connection, &mut choices);
    }
}

/// A file of any bytes is read or refused.
pub fn bytes(data: &[u8]) {
    static IMAGE: LazyLock<Vec<u8>> =
        LazyLock::new(|| filled().serialize("main").unwrap().to_vec());
    let mut choices = Choices::new(data);
    let mut image = IMAGE.clone();
    while !choices.is_over() {
        let at = choices.below(usize::from(u16::MAX)) % image.len();
        image[at] = choices.byte();
    }
    let mut connection = Connection::open_in_memory().unwrap();
    let length = image.len();
    if connection
        .deserialize_read_exact("main", Cursor::new(image), length, false)
        .is_ok()
        && schema::migrate(&mut connection).is_ok()
    {
        read(&mut connection, &mut choices);
        write(&mut connection, &mut choices);
        read(&mut connection, &mut choices);
    }
}

fn id() -> Text {
    Text::from("s")
}

fn append(content: &str) -> Write {
    Write::AppendRecord {
        id: id(),
        record: MessageBuilder::new(Role::User, Text::from(content)).build(),
    }
}

fn meta(id: &Text) -> SessionMeta {
    let json = format!(
        "{{\"id\":\"{}\",\"label\":\"l\",\"createdAt\":\"\",\"updatedAt\":\"\"}}",
        id.escaped()
    );
    serde_json::from_str(&json).unwrap()
}

/// Two sessions with everything that can be kept of one.
fn filled() -> Connection {
    let mut connection = Connection::open_in_memory().unwrap();
    schema::migrate(&mut connection).unwrap();
    let other = Text::from("other");
    let list = [
        Write::PutSession(meta(&id())),
        Write::PutSession(meta(&other)),
        Write::PutInsight {
            id: id(),
            content: Text::from("i"),
        },
        Write::PutMemory {
            id: id(),
            content: Text::from("m"),
        },
        Write::PutSystemPrompt {
            id: id(),
            content: Text::from("p"),
        },
        append("1"),
        append("2"),
        append("3"),
        Write::AppendRecord {
            id: other,
            record: MessageBuilder::new(Role::User, Text::from("another's")).build(),
        },
        Write::PutGlobal {
            key: id(),
            value: Json::from_trusted("{}"),
        },
        Write::PutNode(serde_json::from_str(r#"{"id":"s","parentId":null,"label":"l"}"#).unwrap()),
        Write::PutCompressionCache {
            id: id(),
            cache: cache(2, ""),
        },
    ];
    writes::apply(&connection, &list).unwrap();
    connection
}

fn cache(compressed_count: u64, fingerprint: &str) -> CompressionCache {
    CompressionCache {
        summary: Text::from("summary"),
        compressed_count,
        fingerprint: Text::from(fingerprint),
    }
}

const COLUMNS: [(&str, &str); 22] = [
    ("sessions", "number"),
    ("sessions", "id"),
    ("sessions", "next_seq"),
    ("sessions", "revision"),
    ("metas", "place"),
    ("metas", "session"),
    ("metas", "status"),
    ("metas", "role"),
    ("metas", "meta"),
    ("slots", "session"),
    ("slots", "content"),
    ("records", "key"),
    ("records", "role"),
    ("records", "message"),
    ("caches", "session"),
    ("caches", "summary"),
    ("caches", "compressed_count"),
    ("caches", "fingerprint"),
    ("caches", "last_seq"),
    ("nodes", "parent"),
    ("nodes", "node"),
    ("globals", "value"),
];

/// What other hands do; SQLite itself refuses some of it.
fn edit(connection: &Connection, choices: &mut Choices<'_>) {
    let (table, column) = choices.pick(&COLUMNS);
    let texts = [
        "",
        "1.0",
        "1.2",
        "s",
        "active",
        "main",
        "null",
        "[]",
        "{\"role\":\"tool\",\"content\":\"\\u0041\\/\",\"toolCallId\":\"\\u0061\"}",
        "{\"role\":\"assistant\",\"content\":\"\",\"toolCalls\":[{\"id\":\"a\",\"name\":\"f\",\"input\":[]}]}",
        "{\"id\":\"s\",\"label\":\"\\u0041\",\"parentId\":\"\\/\",\"createdAt\":\"\",\"updatedAt\":\"\",\"tags\":null}",
        "\\ud83c\\udf89",
    ];
    let value = match choices.below(5) {
        0 => Value::Null,
        1 => Value::Integer(choices.number()),
        2 => Value::Text(choices.pick(&texts).to_owned()),
        3 => Value::Text(String::from_utf8_lossy(choices.bytes()).into_owned()),
        _ => Value::Blob(choices.bytes().to_vec()),
    };
    // Bytes become a text that is not UTF-8.
    let given = if matches!(value, Value::Blob(_)) {
        "CAST(?1 AS TEXT)"
    } else {
        "?1"
    };
    let which = choices.pick(&[
        "",
        " ORDER BY rowid LIMIT 1",
        " ORDER BY rowid DESC LIMIT 1",
    ]);
    let which = if table == "globals" || which.is_empty() {
        String::new()
    } else {
        format!(" WHERE rowid IN (SELECT rowid FROM {table}{which})")
    };
    let _ = connection.execute(
        &format!("UPDATE {table} SET {column} = {given}{which}"),
        [value],
    );
}

/// One list of writes, all of it or nothing.
fn write(connection: &mut Connection, choices: &mut Choices<'_>) {
    let count = choices.number();
    let write = match choices.below(9) {
        0 => Write::TrimRecords {
            id: id(),
            keep_recent: count.unsigned_abs(),
        },
        1 => Write::PutCompressionCache {
            id: id(),
            cache: cache(count.unsigned_abs(), choices.pick(&["", "1.0", "x"])),
        },
        2 => Write::PutSession(meta(&id())),
        3 => Write::PutInsight {
            id: id(),
            content: choices.text(),
        },
        4 => Write::ClearInsightIf {
            id: id(),
            content: Text::from("i"),
        },
        5 => Write::DeleteSession { id: id() },
        6 => Write::PutNode(
            serde_json::from_str(r#"{"id":"s","parentId":"\ud83c","label":"l"}"#).unwrap(),
        ),
        7 => Write::PutGlobal {
            key: id(),
            value: Json::from_trusted("[1]"),
        },
        _ => append("more"),
    };
    let before = connection.serialize("main").unwrap().to_vec();
    let transaction = connection.transaction().unwrap();
    let list = [append("first"), write, append("last")];
    if refused(writes::apply(&transaction, &list)).is_some() {
        transaction.commit().unwrap();
        return;
    }
    transaction.rollback().unwrap();
    assert!(
        connection.serialize("main").unwrap()[..] == before,
        "a failed list leaves nothing"
    );
}

fn read(connection: &mut Connection, choices: &mut Choices<'_>) {
    let filter = SessionFilter {
        status: choices.pick(&[None, Some(Status::Active)]),
        ..SessionFilter::default()
    };
    let (limit, offset) = (
        choices.number().unsigned_abs(),
        choices.number().unsigned_abs(),
    );
    let options = ListRecords {
        role: choices.pick(&[None, Some(Some(Role::User))]).flatten(),
        limit: choices.flag().then_some(limit),
        offset: choices.flag().then_some(offset),
        last: choices.flag().then_some(limit),
    };
    let metas = refused(queries::sessions(connection, &filter)).unwrap_or_default();
    let one = refused(queries::session(connection, &id())).flatten();
    for meta in metas.iter().chain(&one) {
        [&meta.id, &meta.label]
            .into_iter()
            .chain(&meta.tags)
            .for_each(values::check);
    }
    for digest in refused(queries::digests(connection, &filter)).unwrap_or_default() {
        digest
            .memory
            .iter()
            .chain(&digest.insight)
            .for_each(values::check);
    }
    for child in refused(queries::l2s(connection)).unwrap_or_default() {
        values::check(&child.l2);
    }
    for node in [refused(queries::node(connection, &id())).flatten()]
        .into_iter()
        .flatten()
    {
        node.parent_id
            .iter()
            .chain([&node.id, &node.label])
            .for_each(values::check);
    }
    refused(queries::children(connection, None));
    refused(queries::global(connection, &id()));
    for name in ["insight", "memory", "system_prompt"] {
        refused(queries::slot(connection, &id(), name))
            .flatten()
            .iter()
            .for_each(values::check);
    }
    refused(queries::cache(connection, &id()));
    messages(&refused(queries::records(connection, &id(), &options)).unwrap_or_default());
    for slot in [Slot::Insight, Slot::Memory] {
        let Some(loaded) = refused(queries::load(connection, &id(), slot)) else {
            continue;
        };
        messages(&loaded.records);
        if let Some(cache) = loaded.cache {
            values::check(&cache.summary);
            assert_eq!(cache.fingerprint, loaded.fingerprint);
        }
    }
}

fn messages(records: &[Message]) {
    for record in records {
        values::message(record, record.json());
    }
}

fn refused<T>(outcome: Result<T>) -> Option<T> {
    match outcome {
        Ok(value) => Some(value),
        Err(Error::Storage(_)) => None,
        Err(other) => panic!("{other:?}"),
    }
}

#[cfg(test)]
mod tests {
    use crate::choices::hold;

    #[test]
    fn rows_that_other_hands_edited_are_read_as_what_they_say_or_refused() {
        hold("rows", super::rows);
    }

    #[test]
    fn a_file_of_any_bytes_is_read_or_refused() {
        hold("bytes", super::bytes);
    }
}
