//! Sessions: put, list, filter, digest, delete.

use super::{Shared, append, contents, message, meta, put_cache, text};
use crate::{
    message::Role,
    meta::{ChildL2Summary, Kind, SessionDigest, SessionFilter, SessionMeta, Status, TopologyNode},
    storage::{Slot, Write},
    text::{Json, Text},
};

pub async fn an_empty_storage_answers_with_nothing(storage: Shared) {
    let id = text("s");
    let any = SessionFilter::default();
    assert_eq!(storage.get_session(&id).await.unwrap(), None);
    assert_eq!(storage.list_sessions(&any).await.unwrap(), []);
    assert!(contents(&*storage, "s").await.is_empty());
    assert_eq!(storage.get_system_prompt(&id).await.unwrap(), None);
    assert_eq!(storage.get_insight(&id).await.unwrap(), None);
    assert_eq!(storage.get_memory(&id).await.unwrap(), None);
    assert_eq!(storage.get_all_session_l2s().await.unwrap(), []);
    assert_eq!(storage.list_session_digests(&any).await.unwrap(), []);
    assert_eq!(storage.get_node(&id).await.unwrap(), None);
    assert_eq!(storage.get_children(None).await.unwrap(), []);
    assert_eq!(storage.get_children(Some(&id)).await.unwrap(), []);
    assert_eq!(storage.get_global(&id).await.unwrap(), None);
    assert_eq!(storage.get_compression_cache(&id).await.unwrap(), None);
    let loaded = storage.load(&id, Slot::Insight).await.unwrap();
    assert_eq!((loaded.system_prompt, loaded.slot), (None, None));
    assert!(loaded.records.is_empty() && loaded.cache.is_none());
    let nothing = [
        Write::ClearInsight { id: id.clone() },
        Write::ClearInsightIf {
            id: id.clone(),
            content: text("x"),
        },
        Write::TrimRecords {
            id: id.clone(),
            keep_recent: 0,
        },
        Write::RemoveNode { id: id.clone() },
        Write::DeleteSession { id: id.clone() },
    ];
    storage.apply(nothing.to_vec()).await.unwrap();
    storage.apply(Vec::new()).await.unwrap();
    assert_eq!(storage.get_insight(&id).await.unwrap(), None);
}

pub async fn a_session_reads_back_as_it_was_put(storage: Shared) {
    let session = SessionMeta {
        label: text(""),
        role: Kind::Main,
        status: Status::Archived,
        tags: vec![text("b"), text("a"), text("b"), text("")],
        metadata: Json::parse(r#"{"z":1,"a":{"n":null}}"#).unwrap(),
        ..meta("s")
    };
    put(&storage, &session).await;
    assert_eq!(
        storage.get_session(&text("s")).await.unwrap(),
        Some(session)
    );
    assert_eq!(storage.get_session(&text("S")).await.unwrap(), None);
}

pub async fn a_session_put_again_is_replaced_and_keeps_its_place_and_records(storage: Shared) {
    storage.apply(vec![append("early", "kept")]).await.unwrap();
    for id in ["b", "a", "early"] {
        put(&storage, &meta(id)).await;
    }
    let renamed = SessionMeta {
        label: text("renamed"),
        ..meta("b")
    };
    put(&storage, &renamed).await;
    assert_eq!(
        listed(&storage, &SessionFilter::default()).await,
        ["b", "a", "early"]
    );
    assert_eq!(
        storage.get_session(&text("b")).await.unwrap(),
        Some(renamed)
    );
    assert_eq!(contents(&*storage, "early").await, ["kept"]);
}

pub async fn sessions_are_filtered_by_status_role_and_every_tag(storage: Shared) {
    let sessions = [
        ("plain", Kind::Standard, Status::Active, vec![]),
        ("main", Kind::Main, Status::Active, vec!["x"]),
        ("old", Kind::Standard, Status::Archived, vec!["x", "y"]),
        (
            "both",
            Kind::Standard,
            Status::Active,
            vec!["y", "x", "x\"%_"],
        ),
    ];
    for (id, role, status, tags) in sessions {
        let tags = tags.into_iter().map(text).collect();
        put(
            &storage,
            &SessionMeta {
                role,
                status,
                tags,
                ..meta(id)
            },
        )
        .await;
    }
    let tagged = |tags: &[&str]| Some(tags.iter().map(|tag| text(tag)).collect::<Vec<_>>());
    let cases: [(_, _, Option<Vec<Text>>, &[&str]); 9] = [
        (None, None, None, &["plain", "main", "old", "both"]),
        (Some(Status::Active), None, None, &["plain", "main", "both"]),
        (None, Some(Kind::Standard), None, &["plain", "old", "both"]),
        (Some(Status::Archived), Some(Kind::Main), None, &[]),
        (None, None, tagged(&[]), &["plain", "main", "old", "both"]),
        (None, None, tagged(&["x"]), &["main", "old", "both"]),
        (None, None, tagged(&["x", "y"]), &["old", "both"]),
        (
            Some(Status::Active),
            Some(Kind::Standard),
            tagged(&["x\"%_"]),
            &["both"],
        ),
        (None, None, tagged(&["X"]), &[]),
    ];
    for (status, role, tags, expected) in cases {
        let filter = SessionFilter { status, role, tags };
        assert_eq!(listed(&storage, &filter).await, expected, "{filter:?}");
    }
}

pub async fn digests_show_memory_and_insight_of_the_sessions_that_pass(storage: Shared) {
    for (id, status) in [
        ("a", Status::Active),
        ("b", Status::Archived),
        ("c", Status::Active),
    ] {
        put(&storage, &SessionMeta { status, ..meta(id) }).await;
    }
    let writes = vec![
        memory("a", "memory of a"),
        insight("c", "insight of c"),
        memory("without a session", "m"),
    ];
    storage.apply(writes).await.unwrap();
    let active = SessionFilter {
        status: Some(Status::Active),
        ..SessionFilter::default()
    };
    let digest = |id: &str, memory: Option<&str>, insight: Option<&str>| SessionDigest {
        id: text(id),
        label: meta(id).label,
        status: Status::Active,
        memory: memory.map(text),
        insight: insight.map(text),
    };
    assert_eq!(
        storage.list_session_digests(&active).await.unwrap(),
        [
            digest("a", Some("memory of a"), None),
            digest("c", None, Some("insight of c")),
        ]
    );
    let all = storage
        .list_session_digests(&SessionFilter::default())
        .await;
    let ids: Vec<_> = all.unwrap().into_iter().map(|d| d.id.to_plain()).collect();
    assert_eq!(ids, ["a", "b", "c"]);
}

pub async fn l2s_are_those_of_active_standard_sessions_with_a_memory(storage: Shared) {
    let sessions = [
        ("z", Kind::Standard, Status::Active),
        ("main", Kind::Main, Status::Active),
        ("old", Kind::Standard, Status::Archived),
        ("empty", Kind::Standard, Status::Active),
        ("a", Kind::Standard, Status::Active),
    ];
    for (id, role, status) in sessions {
        put(
            &storage,
            &SessionMeta {
                role,
                status,
                ..meta(id)
            },
        )
        .await;
    }
    for id in ["a", "z", "main", "old", "nobody"] {
        storage.apply(vec![memory(id, "m")]).await.unwrap();
    }
    let l2 = |id: &str| ChildL2Summary {
        session_id: text(id),
        label: meta(id).label,
        l2: text("m"),
    };
    assert_eq!(
        storage.get_all_session_l2s().await.unwrap(),
        [l2("z"), l2("a")]
    );
}

pub async fn a_deleted_session_leaves_nothing_and_others_stay(storage: Shared) {
    for id in ["gone", "kept"] {
        let node = TopologyNode {
            id: text(id),
            parent_id: None,
            label: text(id),
        };
        let writes = vec![
            Write::PutSession(meta(id)),
            Write::PutSystemPrompt {
                id: text(id),
                content: text("p"),
            },
            insight(id, "i"),
            memory(id, "m"),
            append(id, "r"),
            put_cache(id, super::cache(1, &text(""))),
            Write::PutNode(node),
        ];
        storage.apply(writes).await.unwrap();
    }
    let delete = Write::DeleteSession { id: text("gone") };
    storage.apply(vec![delete]).await.unwrap();
    let id = text("gone");
    assert_eq!(storage.get_session(&id).await.unwrap(), None);
    assert!(contents(&*storage, "gone").await.is_empty());
    assert_eq!(storage.get_system_prompt(&id).await.unwrap(), None);
    assert_eq!(storage.get_insight(&id).await.unwrap(), None);
    assert_eq!(storage.get_memory(&id).await.unwrap(), None);
    assert_eq!(storage.get_compression_cache(&id).await.unwrap(), None);
    assert_eq!(storage.get_node(&id).await.unwrap(), None);
    assert_eq!(listed(&storage, &SessionFilter::default()).await, ["kept"]);
    assert_eq!(storage.get_children(None).await.unwrap().len(), 1);
    assert_eq!(contents(&*storage, "kept").await, ["r"]);
    assert_eq!(
        storage.get_memory(&text("kept")).await.unwrap(),
        Some(text("m"))
    );

    let again = vec![
        Write::DeleteSession { id: text("kept") },
        Write::PutSession(meta("gone")),
        Write::AppendRecord {
            id: text("gone"),
            record: message(Role::Assistant, "new"),
        },
        Write::PutSession(meta("kept")),
    ];
    storage.apply(again).await.unwrap();
    assert_eq!(contents(&*storage, "gone").await, ["new"]);
    assert_eq!(
        listed(&storage, &SessionFilter::default()).await,
        ["gone", "kept"]
    );
}

async fn put(storage: &Shared, session: &SessionMeta) {
    let write = Write::PutSession(session.clone());
    storage.apply(vec![write]).await.unwrap();
}

async fn listed(storage: &Shared, filter: &SessionFilter) -> Vec<String> {
    let sessions = storage.list_sessions(filter).await.unwrap();
    sessions.into_iter().map(|s| s.id.to_plain()).collect()
}

fn memory(id: &str, content: &str) -> Write {
    Write::PutMemory {
        id: text(id),
        content: text(content),
    }
}

fn insight(id: &str, content: &str) -> Write {
    Write::PutInsight {
        id: text(id),
        content: text(content),
    }
}
