//! What a turn loads, and the compression cache in it.

use super::{Shared, append, cache, plain, put_cache, text};
use crate::storage::{Loaded, Slot, Write};

pub async fn a_cache_reads_back_as_it_was_put(storage: Shared) {
    let first = cache(7, &text("made elsewhere \0 🎉"));
    storage
        .apply(vec![put_cache("s", first.clone())])
        .await
        .unwrap();
    assert_eq!(read(&storage).await, Some(first));
    let second = cache(0, &text("x"));
    storage
        .apply(vec![put_cache("s", second.clone())])
        .await
        .unwrap();
    assert_eq!(read(&storage).await, Some(second));
}

pub async fn a_load_gives_the_slots_of_its_kind(storage: Shared) {
    let id = text("s");
    let writes = vec![
        Write::PutSystemPrompt {
            id: id.clone(),
            content: text("p"),
        },
        Write::PutInsight {
            id: id.clone(),
            content: text("i"),
        },
        Write::PutMemory {
            id: id.clone(),
            content: text("m"),
        },
    ];
    storage.apply(writes).await.unwrap();
    for (slot, content) in [(Slot::Insight, "i"), (Slot::Memory, "m")] {
        let loaded = storage.load(&id, slot).await.unwrap();
        assert_eq!(loaded.system_prompt, Some(text("p")));
        assert_eq!(loaded.slot, Some(text(content)));
        assert!(loaded.records.is_empty());
    }
}

pub async fn a_load_begins_after_what_a_valid_cache_covers(storage: Shared) {
    records(&storage, &["1", "2", "3", "4"]).await;
    let before = load(&storage).await;
    assert_eq!(before.records.len(), 4);
    let made = cache(3, &before.fingerprint);
    storage
        .apply(vec![append("s", "5"), put_cache("s", made.clone())])
        .await
        .unwrap();
    records(&storage, &["6"]).await;
    let loaded = load(&storage).await;
    assert_eq!(plain(&loaded.records), ["4", "5", "6"]);
    assert_eq!(loaded.cache, Some(made));
    assert_eq!(loaded.fingerprint, before.fingerprint);

    let whole = cache(6, &loaded.fingerprint);
    storage.apply(vec![put_cache("s", whole)]).await.unwrap();
    assert!(load(&storage).await.records.is_empty());
    records(&storage, &["7"]).await;
    assert_eq!(plain(&load(&storage).await.records), ["7"]);
    let blank = cache(2, &text(""));
    storage.apply(vec![put_cache("s", blank)]).await.unwrap();
    assert_eq!(
        plain(&load(&storage).await.records),
        ["3", "4", "5", "6", "7"]
    );
}

pub async fn a_cache_made_elsewhere_is_kept_but_not_used(storage: Shared) {
    records(&storage, &["1", "2"]).await;
    let fingerprint = load(&storage).await.fingerprint;
    for wrong in [
        cache(1, &text("elsewhere")),
        cache(3, &fingerprint),
        cache(0, &fingerprint),
    ] {
        storage
            .apply(vec![put_cache("s", wrong.clone())])
            .await
            .unwrap();
        let loaded = load(&storage).await;
        assert_eq!((loaded.cache, loaded.records.len()), (None, 2), "{wrong:?}");
        assert_eq!(read(&storage).await, Some(wrong));
    }
}

pub async fn a_cache_is_extended_step_by_step(storage: Shared) {
    let all: Vec<_> = (0..40).map(|n| n.to_string()).collect();
    for (step, turn) in all.chunks(4).enumerate() {
        let fingerprint = load(&storage).await.fingerprint;
        let covered = u64::try_from(step * 4).unwrap();
        let mut writes: Vec<_> = turn.iter().map(|n| append("s", n)).collect();
        writes.push(put_cache("s", cache(covered, &fingerprint)));
        storage.apply(writes).await.unwrap();
        let loaded = load(&storage).await;
        assert_eq!(plain(&loaded.records), turn);
        assert_eq!(loaded.cache.is_some(), step > 0);
    }
    let back = cache(10, &load(&storage).await.fingerprint);
    storage.apply(vec![put_cache("s", back)]).await.unwrap();
    assert_eq!(plain(&load(&storage).await.records), all[10..]);
}

pub async fn a_trim_that_removes_drops_the_cache(storage: Shared) {
    records(&storage, &["1", "2", "3"]).await;
    let made = cache(2, &load(&storage).await.fingerprint);
    let elsewhere = cache(2, &text("elsewhere"));
    for kept in [made, elsewhere] {
        records(&storage, &["4"]).await;
        storage
            .apply(vec![put_cache("s", kept.clone()), trim(9)])
            .await
            .unwrap();
        assert_eq!(read(&storage).await, Some(kept));
        storage.apply(vec![trim(3)]).await.unwrap();
        assert_eq!(read(&storage).await, None);
        assert_eq!(load(&storage).await.records.len(), 3);
    }
}

pub async fn a_cache_made_before_a_trim_is_not_used(storage: Shared) {
    records(&storage, &["1", "2", "3", "4"]).await;
    let made = cache(2, &load(&storage).await.fingerprint);
    storage.apply(vec![trim(3)]).await.unwrap();
    storage
        .apply(vec![append("s", "5"), put_cache("s", made)])
        .await
        .unwrap();
    let loaded = load(&storage).await;
    assert_eq!(plain(&loaded.records), ["2", "3", "4", "5"]);
    assert_eq!(loaded.cache, None);
    let anew = cache(2, &loaded.fingerprint);
    storage.apply(vec![put_cache("s", anew)]).await.unwrap();
    assert_eq!(plain(&load(&storage).await.records), ["4", "5"]);
}

pub async fn a_cache_of_a_deleted_session_is_not_used_for_the_next_of_its_name(storage: Shared) {
    records(&storage, &["1", "2"]).await;
    let made = cache(1, &load(&storage).await.fingerprint);
    storage
        .apply(vec![Write::DeleteSession { id: text("s") }])
        .await
        .unwrap();
    records(&storage, &["3", "4"]).await;
    storage.apply(vec![put_cache("s", made)]).await.unwrap();
    assert_eq!(plain(&load(&storage).await.records), ["3", "4"]);
}

fn trim(keep_recent: u64) -> Write {
    Write::TrimRecords {
        id: text("s"),
        keep_recent,
    }
}

async fn records(storage: &Shared, contents: &[&str]) {
    storage
        .apply(contents.iter().map(|c| append("s", c)).collect())
        .await
        .unwrap();
}

async fn load(storage: &Shared) -> Loaded {
    storage.load(&text("s"), Slot::Insight).await.unwrap()
}

async fn read(storage: &Shared) -> Option<crate::storage::CompressionCache> {
    storage.get_compression_cache(&text("s")).await.unwrap()
}
