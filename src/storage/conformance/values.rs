//! Values that storages like to mangle.

use super::{Shared, contents, meta, text};
use crate::{
    message::Message,
    meta::{SessionFilter, SessionMeta, TopologyNode},
    storage::{CompressionCache, ListRecords, Slot, Write},
    text::{Json, Text},
};

fn texts() -> Vec<Text> {
    let mut texts: Vec<_> = [
        "",
        " ",
        "NUL \0 in the middle",
        "\0",
        "emoji 🎉👩‍👩‍👧",
        "日本語 ﷽ e\u{301}",
        "line\r\nfeed\ttab \u{7f} \u{1}\u{1f} \u{2028}",
        "quotes \" ' ` \\ $1 ? :x @y",
        "\\u0000 and \\ud800 as typed",
        "%_ LIKE ../../etc/passwd; DROP TABLE records;--",
        "__proto__",
        "\u{feff}bom \u{fffd}\u{ffff}",
    ]
    .map(text)
    .to_vec();
    texts.push(Text::from_utf16(&[0xd800]));
    texts.push(Text::from_utf16(&[0xdc00, 0x61, 0xdbff]));
    texts.push(text(&"long id of ten kilobytes 🎉 ".repeat(350)));
    texts
}

pub async fn texts_of_every_kind_come_back_unchanged(storage: Shared) {
    for value in texts() {
        let id = text("s");
        let session = SessionMeta {
            label: value.clone(),
            tags: vec![value.clone()],
            ..meta("s")
        };
        let made = CompressionCache {
            summary: value.clone(),
            compressed_count: 1,
            fingerprint: value.clone(),
        };
        let node = TopologyNode {
            id: id.clone(),
            parent_id: Some(value.clone()),
            label: value.clone(),
        };
        let record = Message::parse(&format!(
            r#"{{"x":"{0}","role":"tool","content":"{0}","toolCallId":"{0}"}}"#,
            value.escaped()
        ))
        .unwrap();
        let content = value.clone();
        let writes = vec![
            Write::DeleteSession { id: id.clone() },
            Write::PutSession(session.clone()),
            Write::PutSystemPrompt {
                id: id.clone(),
                content: content.clone(),
            },
            Write::PutInsight {
                id: id.clone(),
                content: content.clone(),
            },
            Write::PutMemory {
                id: id.clone(),
                content,
            },
            Write::AppendRecord {
                id: id.clone(),
                record: record.clone(),
            },
            Write::PutNode(node.clone()),
        ];
        storage.apply(writes).await.unwrap();
        let expected = Some(value.clone());
        assert_eq!(storage.get_session(&id).await.unwrap(), Some(session));
        assert_eq!(storage.get_system_prompt(&id).await.unwrap(), expected);
        assert_eq!(storage.get_insight(&id).await.unwrap(), expected);
        assert_eq!(storage.get_memory(&id).await.unwrap(), expected);
        assert_eq!(storage.get_node(&id).await.unwrap(), Some(node.clone()));
        assert_eq!(storage.get_children(Some(&value)).await.unwrap(), [node]);
        let loaded = storage.load(&id, Slot::Memory).await.unwrap();
        assert_eq!(
            (loaded.system_prompt, loaded.slot),
            (expected.clone(), expected)
        );
        assert_eq!(loaded.records[0].json(), record.json());
        assert_eq!(loaded.records[0].tool_call_id(), Some(&value));
        let tagged = SessionFilter {
            tags: Some(vec![value.clone()]),
            ..SessionFilter::default()
        };
        assert_eq!(storage.list_sessions(&tagged).await.unwrap().len(), 1);
        let write = Write::PutCompressionCache {
            id: id.clone(),
            cache: made.clone(),
        };
        storage.apply(vec![write]).await.unwrap();
        let kept = storage.get_compression_cache(&id).await.unwrap().unwrap();
        assert_eq!(kept.summary, value);
        if !value.is_empty() {
            assert_eq!(kept, made);
        }
        let clear = Write::ClearInsightIf {
            id: id.clone(),
            content: value,
        };
        storage.apply(vec![clear]).await.unwrap();
        assert_eq!(storage.get_insight(&id).await.unwrap(), None);
    }
}

pub async fn ids_of_every_kind_are_kept_apart(storage: Shared) {
    let mut ids = texts();
    ids.push(Text::from(format!(
        "{}!",
        "long id of ten kilobytes 🎉 ".repeat(350)
    )));
    for id in &ids {
        let node = TopologyNode {
            id: id.clone(),
            parent_id: None,
            label: id.clone(),
        };
        let session = SessionMeta {
            id: id.clone(),
            ..meta("x")
        };
        let record = super::message(crate::message::Role::User, &id.to_plain());
        let writes = vec![
            Write::PutSession(session),
            Write::AppendRecord {
                id: id.clone(),
                record,
            },
            Write::PutInsight {
                id: id.clone(),
                content: id.clone(),
            },
            Write::PutMemory {
                id: id.clone(),
                content: id.clone(),
            },
            Write::PutNode(node),
            Write::PutGlobal {
                key: id.clone(),
                value: Json::from_trusted(&format!("\"{}\"", id.escaped())),
            },
        ];
        storage.apply(writes).await.unwrap();
    }
    for id in &ids {
        assert_eq!(&storage.get_session(id).await.unwrap().unwrap().id, id);
        assert_eq!(storage.get_insight(id).await.unwrap().as_ref(), Some(id));
        assert_eq!(&storage.get_node(id).await.unwrap().unwrap().id, id);
        let global = storage.get_global(id).await.unwrap().unwrap();
        assert_eq!(Text::from_json(&global).as_ref(), Some(id));
        assert_eq!(
            storage
                .list_records(id, &ListRecords::default())
                .await
                .unwrap()
                .len(),
            1
        );
    }
    let listed = storage
        .list_sessions(&SessionFilter::default())
        .await
        .unwrap();
    assert_eq!(listed.into_iter().map(|s| s.id).collect::<Vec<_>>(), ids);
    let l2s = storage.get_all_session_l2s().await.unwrap();
    assert!(
        l2s.iter()
            .zip(&ids)
            .all(|(l2, id)| l2.session_id == *id && l2.l2 == *id)
    );
    let roots = storage.get_children(None).await.unwrap();
    assert_eq!(roots.into_iter().map(|n| n.id).collect::<Vec<_>>(), ids);
    for id in &ids {
        storage
            .apply(vec![Write::DeleteSession { id: id.clone() }])
            .await
            .unwrap();
    }
    assert_eq!(
        storage
            .list_sessions(&SessionFilter::default())
            .await
            .unwrap(),
        []
    );
}

pub async fn json_comes_back_as_it_was_written(storage: Shared) {
    let values = [
        r#"{"z":1,"a":2,"10":3,"2":4}"#,
        r#"{"__proto__":{"polluted":true},"constructor":1}"#,
        r#"{"big":1e400,"exact":9223372036854775808,"small":-0,"long":0.1000000000000000055}"#,
        r#"{"text":"\u0000\ud800 \"\\","empty":"","nested":[[[{}]],null,true]}"#,
        "{}",
    ];
    let id = text("s");
    for value in values {
        let metadata = Json::parse(value).unwrap();
        let json = format!(
            r#"{{"content":"","role":"assistant","toolCalls":[{{"id":"c","name":"f","input":{value}}}],"extra":{value}}}"#
        );
        let record = Message::parse(&json).unwrap();
        let writes = vec![
            Write::PutSession(SessionMeta {
                metadata: metadata.clone(),
                ..meta("s")
            }),
            Write::TrimRecords {
                id: id.clone(),
                keep_recent: 0,
            },
            Write::AppendRecord {
                id: id.clone(),
                record,
            },
            Write::PutGlobal {
                key: id.clone(),
                value: metadata.clone(),
            },
        ];
        storage.apply(writes).await.unwrap();
        assert_eq!(
            &*storage.get_session(&id).await.unwrap().unwrap().metadata,
            value
        );
        assert_eq!(storage.get_global(&id).await.unwrap(), Some(metadata));
        let records = storage
            .list_records(&id, &ListRecords::default())
            .await
            .unwrap();
        assert_eq!(records[0].json(), json);
        assert_eq!(&*records[0].tool_calls()[0].input, value);
    }
}

pub async fn ten_megabytes_come_back(storage: Shared) {
    let big = "十 MB\n".repeat(1 << 20);
    let id = text("s");
    let writes = vec![
        Write::PutMemory {
            id: id.clone(),
            content: text(&big),
        },
        super::append("s", &big),
        super::append("s", "after"),
    ];
    storage.apply(writes).await.unwrap();
    assert_eq!(storage.get_memory(&id).await.unwrap(), Some(text(&big)));
    let records = contents(&*storage, "s").await;
    assert!(records[0] == big && records[1] == "after");
}
