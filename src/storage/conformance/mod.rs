//! What every storage promises, as tests that run against any of them.
//!
//! `storage_conformance!(open())` makes one test of each case, in the module where it stands. The expression is evaluated
//! in each, in an async function, to an empty storage (a [`Shared`]) and something that is kept until the test has ended.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::missing_panics_doc,
    reason = "a case fails by panicking"
)]

pub mod cache;
pub mod forest;
pub mod records;
pub mod sessions;
pub mod slots;
pub mod transactions;
pub mod values;

use std::sync::Arc;

use crate::{
    message::{Message, MessageBuilder, Role},
    meta::{Kind, SessionMeta, Status, empty_object},
    storage::{CompressionCache, ListRecords, Storage, Store, Write},
    text::Text,
};

/// A storage as the cases take it.
pub type Shared = Arc<dyn Storage>;

#[macro_export]
macro_rules! storage_conformance {
    ($open:expr) => {
        $crate::storage_conformance! { $open;
            sessions {
                an_empty_storage_answers_with_nothing,
                a_session_reads_back_as_it_was_put,
                a_session_put_again_is_replaced_and_keeps_its_place_and_records,
                sessions_are_filtered_by_status_role_and_every_tag,
                digests_show_memory_and_insight_of_the_sessions_that_pass,
                l2s_are_those_of_active_standard_sessions_with_a_memory,
                a_deleted_session_leaves_nothing_and_others_stay,
            }
            slots {
                slots_are_replaced_and_kept_apart_without_a_session,
                an_empty_text_is_not_an_absent_one,
                an_insight_is_cleared_only_while_it_is_the_expected_one,
                globals_are_replaced_and_kept_apart_from_sessions,
            }
            records {
                records_keep_their_order_and_their_session,
                records_are_selected_by_role_then_offset_then_limit_or_last,
                a_trim_keeps_the_newest,
                a_long_list_of_records_is_one_write,
            }
            forest {
                nodes_are_listed_under_their_parent_in_the_order_they_were_put,
                a_node_put_again_keeps_its_place_and_may_move,
                a_removed_node_leaves_its_children_where_they_were,
            }
            cache {
                a_cache_reads_back_as_it_was_put,
                a_load_gives_the_slots_of_its_kind,
                a_load_begins_after_what_a_valid_cache_covers,
                a_cache_made_elsewhere_is_kept_but_not_used,
                a_cache_is_extended_step_by_step,
                a_trim_that_removes_drops_the_cache,
                a_cache_made_before_a_trim_is_not_used,
                a_cache_of_a_deleted_session_is_not_used_for_the_next_of_its_name,
            }
            transactions {
                a_list_that_fails_changes_nothing,
                a_transaction_reads_its_own_writes_and_others_see_them_after_the_commit,
                a_rolled_back_transaction_leaves_nothing,
                a_dropped_transaction_leaves_nothing_and_makes_room,
                a_failed_list_inside_a_transaction_changes_nothing_of_it,
                a_write_from_outside_comes_after_the_transaction,
                concurrent_turns_never_interleave,
                a_closed_storage_refuses_by_name,
            }
            values {
                texts_of_every_kind_come_back_unchanged,
                ids_of_every_kind_are_kept_apart,
                json_comes_back_as_it_was_written,
                ten_megabytes_come_back,
            }
        }
    };
    ($open:expr; $($group:ident { $($case:ident,)+ })+) => {
        $($(
            #[tokio::test]
            async fn $case() {
                let (storage, _guard) = $open;
                $crate::storage::conformance::$group::$case(storage).await;
            }
        )+)+
    };
}

fn text(plain: &str) -> Text {
    Text::from(plain)
}

fn meta(id: &str) -> SessionMeta {
    SessionMeta {
        id: text(id),
        label: text(&format!("label of {id}")),
        role: Kind::Standard,
        status: Status::Active,
        tags: Vec::new(),
        metadata: empty_object(),
        created_at: text("2026-01-02T03:04:05.678Z"),
        updated_at: text("2026-01-02T03:04:05.679Z"),
    }
}

fn message(role: Role, content: &str) -> Message {
    MessageBuilder::new(role, text(content)).build()
}

fn append(id: &str, content: &str) -> Write {
    Write::AppendRecord {
        id: text(id),
        record: message(Role::User, content),
    }
}

fn cache(count: u64, fingerprint: &Text) -> CompressionCache {
    CompressionCache {
        summary: text(&format!("summary of {count}")),
        compressed_count: count,
        fingerprint: fingerprint.clone(),
    }
}

fn put_cache(id: &str, cache: CompressionCache) -> Write {
    Write::PutCompressionCache {
        id: text(id),
        cache,
    }
}

async fn contents(store: &(impl Store + ?Sized), id: &str) -> Vec<String> {
    selected(store, id, &ListRecords::default()).await
}

async fn selected(store: &(impl Store + ?Sized), id: &str, options: &ListRecords) -> Vec<String> {
    plain(&store.list_records(&text(id), options).await.unwrap())
}

fn plain(records: &[Message]) -> Vec<String> {
    records.iter().map(|r| r.content().to_plain()).collect()
}
