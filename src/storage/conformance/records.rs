//! Records: order, selection, trims.

use super::{Shared, append, contents, message, selected, text};
use crate::{
    message::Role,
    storage::{ListRecords, Slot, Write},
};

pub async fn records_keep_their_order_and_their_session(storage: Shared) {
    for n in 0..5 {
        let writes = vec![
            append("a", &format!("a{n}")),
            append("b", &format!("b{n}")),
            append("a", &format!("a{n}'")),
        ];
        storage.apply(writes).await.unwrap();
    }
    let a: Vec<_> = (0..5)
        .flat_map(|n| [format!("a{n}"), format!("a{n}'")])
        .collect();
    let b: Vec<_> = (0..5).map(|n| format!("b{n}")).collect();
    assert_eq!(contents(&*storage, "a").await, a);
    assert_eq!(contents(&*storage, "b").await, b);
}

pub async fn records_are_selected_by_role_then_offset_then_limit_or_last(storage: Shared) {
    let roles = [Role::System, Role::User, Role::Assistant, Role::Tool];
    let all: Vec<_> = (0..10).map(|n| (roles[n % 4], n.to_string())).collect();
    let writes = all.iter().map(|(role, content)| Write::AppendRecord {
        id: text("s"),
        record: message(*role, content),
    });
    storage.apply(writes.collect()).await.unwrap();
    let numbers = [
        None,
        Some(0),
        Some(1),
        Some(2),
        Some(9),
        Some(10),
        Some(11),
        Some(u64::MAX),
    ];
    for role in [None, Some(Role::User), Some(Role::Tool)] {
        let passing: Vec<_> = all
            .iter()
            .filter(|(r, _)| role.is_none_or(|role| role == *r))
            .map(|(_, content)| content.clone())
            .collect();
        for offset in numbers {
            for limit in numbers {
                let options = ListRecords {
                    role,
                    offset,
                    limit,
                    last: None,
                };
                let count = |n: Option<u64>, absent| usize::try_from(n.unwrap_or(absent)).unwrap();
                let expected: Vec<_> = passing
                    .iter()
                    .skip(count(offset, 0))
                    .take(count(limit, u64::MAX))
                    .cloned()
                    .collect();
                assert_eq!(
                    selected(&*storage, "s", &options).await,
                    expected,
                    "{options:?}"
                );
            }
        }
        for last in numbers.into_iter().flatten() {
            let options = ListRecords {
                role,
                last: Some(last),
                ..ListRecords::default()
            };
            let gone = passing.len().saturating_sub(usize::try_from(last).unwrap());
            assert_eq!(
                selected(&*storage, "s", &options).await,
                passing[gone..],
                "{options:?}"
            );
        }
    }
}

pub async fn a_trim_keeps_the_newest(storage: Shared) {
    let trim = |keep_recent| Write::TrimRecords {
        id: text("s"),
        keep_recent,
    };
    for content in ["1", "2", "3", "4", "5"] {
        storage
            .apply(vec![append("s", content), append("other", content)])
            .await
            .unwrap();
    }
    for (keep, left) in [(u64::MAX, 5), (6, 5), (5, 5), (3, 3), (3, 3)] {
        storage.apply(vec![trim(keep)]).await.unwrap();
        assert_eq!(contents(&*storage, "s").await.len(), left, "{keep}");
    }
    assert_eq!(contents(&*storage, "s").await, ["3", "4", "5"]);
    storage
        .apply(vec![append("s", "6"), trim(2), append("s", "7")])
        .await
        .unwrap();
    assert_eq!(contents(&*storage, "s").await, ["5", "6", "7"]);
    storage.apply(vec![trim(0)]).await.unwrap();
    assert!(contents(&*storage, "s").await.is_empty());
    storage.apply(vec![append("s", "8")]).await.unwrap();
    assert_eq!(contents(&*storage, "s").await, ["8"]);
    assert_eq!(contents(&*storage, "other").await.len(), 5);
}

pub async fn a_long_list_of_records_is_one_write(storage: Shared) {
    let all: Vec<_> = (0..3_000).map(|n| n.to_string()).collect();
    storage
        .apply(all.iter().map(|n| append("s", n)).collect())
        .await
        .unwrap();
    assert_eq!(contents(&*storage, "s").await, all);
    let loaded = storage.load(&text("s"), Slot::Insight).await.unwrap();
    assert_eq!(super::plain(&loaded.records), all);
}
