//! All or nothing, and who sees what when.

use super::{Shared, append, cache, contents, meta, put_cache, text};
use crate::{
    error::Result,
    meta::{SessionFilter, TopologyNode},
    storage::{Slot, Write},
    text::Json,
};

pub async fn a_list_that_fails_changes_nothing(storage: Shared) {
    storage
        .apply(vec![append("s", "1"), insight("old")])
        .await
        .unwrap();
    let error = storage.apply(failing()).await.unwrap_err();
    assert_eq!(error.code(), Some("invalid_shape"), "{error}");
    assert!(error.to_string().contains("compressedCount"), "{error}");
    assert_eq!(contents(&*storage, "s").await, ["1"]);
    assert_eq!(
        storage.get_insight(&text("s")).await.unwrap(),
        Some(text("old"))
    );
    assert_eq!(storage.get_session(&text("s")).await.unwrap(), None);
    storage.apply(vec![append("s", "2")]).await.unwrap();
    assert_eq!(contents(&*storage, "s").await, ["1", "2"]);
}

pub async fn a_transaction_reads_its_own_writes_and_others_see_them_after_the_commit(
    storage: Shared,
) {
    storage
        .apply(vec![append("s", "1"), insight("old")])
        .await
        .unwrap();
    let id = text("s");
    let transaction = storage.begin().await.unwrap();
    assert_eq!(contents(&*transaction, "s").await, ["1"]);
    let node = TopologyNode {
        id: text("s"),
        parent_id: None,
        label: text("n"),
    };
    let writes = vec![
        Write::PutSession(meta("s")),
        append("s", "2"),
        insight("new"),
        Write::PutMemory {
            id: id.clone(),
            content: text("m"),
        },
        Write::PutSystemPrompt {
            id: id.clone(),
            content: text("p"),
        },
        Write::PutNode(node.clone()),
        Write::PutGlobal {
            key: id.clone(),
            value: Json::parse("1").unwrap(),
        },
        put_cache("s", cache(1, &text("f"))),
    ];
    transaction.apply(writes).await.unwrap();

    assert_eq!(contents(&*transaction, "s").await, ["1", "2"]);
    assert_eq!(transaction.get_session(&id).await.unwrap(), Some(meta("s")));
    assert_eq!(
        transaction.get_insight(&id).await.unwrap(),
        Some(text("new"))
    );
    assert_eq!(transaction.get_memory(&id).await.unwrap(), Some(text("m")));
    assert_eq!(
        transaction.get_system_prompt(&id).await.unwrap(),
        Some(text("p"))
    );
    assert_eq!(transaction.get_node(&id).await.unwrap(), Some(node.clone()));
    assert_eq!(transaction.get_children(None).await.unwrap(), [node]);
    assert_eq!(transaction.get_all_session_l2s().await.unwrap().len(), 1);
    let any = SessionFilter::default();
    assert_eq!(transaction.list_sessions(&any).await.unwrap().len(), 1);
    assert_eq!(
        transaction.list_session_digests(&any).await.unwrap().len(),
        1
    );
    assert!(transaction.get_global(&id).await.unwrap().is_some());
    assert!(
        transaction
            .get_compression_cache(&id)
            .await
            .unwrap()
            .is_some()
    );

    assert_eq!(contents(&*storage, "s").await, ["1"]);
    assert_eq!(
        storage.load(&id, Slot::Insight).await.unwrap().slot,
        Some(text("old"))
    );
    assert_eq!(storage.get_session(&id).await.unwrap(), None);
    assert_eq!(storage.get_children(None).await.unwrap(), []);
    assert_eq!(storage.get_global(&id).await.unwrap(), None);

    transaction.commit().await.unwrap();
    assert_eq!(contents(&*storage, "s").await, ["1", "2"]);
    assert_eq!(
        storage.load(&id, Slot::Insight).await.unwrap().slot,
        Some(text("new"))
    );
    assert_eq!(storage.get_session(&id).await.unwrap(), Some(meta("s")));
    assert_eq!(storage.get_children(None).await.unwrap().len(), 1);
}

pub async fn a_rolled_back_transaction_leaves_nothing(storage: Shared) {
    storage.apply(vec![append("s", "1")]).await.unwrap();
    let transaction = storage.begin().await.unwrap();
    let trim = Write::TrimRecords {
        id: text("s"),
        keep_recent: 0,
    };
    let delete = Write::DeleteSession { id: text("s") };
    transaction
        .apply(vec![append("s", "2"), append("new", "1"), trim])
        .await
        .unwrap();
    transaction.apply(vec![delete]).await.unwrap();
    assert!(contents(&*transaction, "s").await.is_empty());
    transaction.rollback().await.unwrap();
    assert_eq!(contents(&*storage, "s").await, ["1"]);
    assert!(contents(&*storage, "new").await.is_empty());
}

pub async fn a_dropped_transaction_leaves_nothing_and_makes_room(storage: Shared) {
    for _ in 0..3 {
        let transaction = storage.begin().await.unwrap();
        transaction.apply(vec![append("s", "lost")]).await.unwrap();
        drop(transaction);
    }
    storage.apply(vec![append("s", "1")]).await.unwrap();
    let transaction = storage.begin().await.unwrap();
    transaction.apply(vec![append("s", "2")]).await.unwrap();
    transaction.commit().await.unwrap();
    assert_eq!(contents(&*storage, "s").await, ["1", "2"]);
}

pub async fn a_failed_list_inside_a_transaction_changes_nothing_of_it(storage: Shared) {
    let transaction = storage.begin().await.unwrap();
    transaction
        .apply(vec![append("s", "1"), insight("i")])
        .await
        .unwrap();
    transaction.apply(failing()).await.unwrap_err();
    assert_eq!(contents(&*transaction, "s").await, ["1"]);
    transaction.apply(vec![append("s", "2")]).await.unwrap();
    transaction.commit().await.unwrap();
    assert_eq!(contents(&*storage, "s").await, ["1", "2"]);
    assert_eq!(
        storage.get_insight(&text("s")).await.unwrap(),
        Some(text("i"))
    );
}

pub async fn a_write_from_outside_comes_after_the_transaction(storage: Shared) {
    let transaction = storage.begin().await.unwrap();
    transaction.apply(vec![append("s", "1")]).await.unwrap();
    let inside = async {
        tokio::task::yield_now().await;
        transaction.apply(vec![append("s", "2")]).await?;
        transaction.commit().await
    };
    let other = async {
        let other = storage.begin().await?;
        other.apply(vec![append("s", "3")]).await?;
        other.commit().await
    };
    let outside = async { storage.apply(vec![append("s", "4")]).await };
    let (inside, other, outside): (Result<()>, Result<()>, Result<()>) =
        tokio::join!(inside, other, outside);
    inside.unwrap();
    other.unwrap();
    outside.unwrap();
    let mut all = contents(&*storage, "s").await;
    assert_eq!(all[..2], ["1", "2"]);
    all.sort();
    assert_eq!(all, ["1", "2", "3", "4"]);
}

pub async fn concurrent_turns_never_interleave(storage: Shared) {
    let writers: Vec<_> = (0..16)
        .map(|writer| {
            let storage = storage.clone();
            tokio::spawn(async move {
                for turn in 0..8 {
                    let content = format!("{writer}.{turn}");
                    storage
                        .apply(vec![append("s", &content), append("s", &content)])
                        .await?;
                }
                Result::<()>::Ok(())
            })
        })
        .collect();
    for writer in writers {
        writer.await.unwrap().unwrap();
    }
    let all = contents(&*storage, "s").await;
    assert_eq!(all.len(), 256);
    assert!(all.chunks(2).all(|turn| turn[0] == turn[1]), "{all:?}");
    for writer in 0..16 {
        let own: Vec<_> = all
            .iter()
            .filter(|c| c.starts_with(&format!("{writer}.")))
            .collect();
        assert!(own.is_sorted(), "{own:?}");
    }
}

pub async fn a_closed_storage_refuses_by_name(storage: Shared) {
    storage.apply(vec![append("s", "1")]).await.unwrap();
    let open = storage.begin().await.unwrap();
    storage.close().await.unwrap();
    storage.close().await.unwrap();
    let id = text("s");
    let failures = [
        storage.get_insight(&id).await.err(),
        storage.apply(vec![append("s", "2")]).await.err(),
        storage.load(&id, Slot::Insight).await.err(),
        storage.begin().await.err(),
        open.get_insight(&id).await.err(),
        open.commit().await.err(),
    ];
    for failure in failures {
        assert_eq!(failure.unwrap().code(), Some("closed"));
    }
}

fn insight(content: &str) -> Write {
    Write::PutInsight {
        id: text("s"),
        content: text(content),
    }
}

/// A list whose last write no storage takes.
fn failing() -> Vec<Write> {
    vec![
        Write::PutSession(meta("s")),
        append("s", "never"),
        insight("never"),
        put_cache("s", cache(1 << 53, &text("f"))),
    ]
}
