use proptest::prelude::*;

use super::*;
use crate::{
    context::sample::{answered, called, said},
    message::Message,
};

/// One letter a record: `u`ser, `s`ystem, `a`ssistant; `Axy` an assistant that calls x and y, `x` in lower case after
/// a dot the answer to it.
fn history(script: &str) -> Vec<Message> {
    script
        .split_whitespace()
        .map(|word| match word.split_at(1) {
            ("u", _) => said(Role::User, word),
            ("s", _) => said(Role::System, word),
            ("a", _) => said(Role::Assistant, word),
            ("A", calls) => called(
                "",
                &calls.chars().map(|c| c.to_string()).collect::<Vec<_>>(),
            ),
            (_, id) => answered(id, "ok"),
        })
        .collect()
}

fn kept(script: &str) -> Vec<usize> {
    let history = history(script);
    clean(history.as_slice())
        .ranges()
        .into_iter()
        .flatten()
        .collect()
}

#[test]
fn a_group_stays_when_every_call_is_answered_right_after() {
    assert_eq!(kept("u Axy .x .y a u"), [0, 1, 2, 3, 4, 5]);
    assert_eq!(kept("u Axy .y .x a"), [0, 1, 2, 3, 4]);
}

#[test]
fn an_unanswered_group_goes_with_its_answers() {
    assert_eq!(kept("u Axy .x u a"), [0, 3, 4]);
    assert_eq!(kept("u Ax u .x a"), [0, 2, 4]);
    assert_eq!(kept("u Ax Axy .x a"), [0, 4]);
    assert_eq!(kept("u Ax Ay .x .y a"), [0, 2, 4, 5]);
}

#[test]
fn a_tool_message_without_a_call_right_before_goes() {
    assert_eq!(kept(".x u a .x u"), [1, 2, 4]);
    assert_eq!(kept("Ax .z .x u"), [0, 2, 3]);
}

#[test]
fn a_second_answer_to_the_same_call_goes() {
    assert_eq!(kept("Axy .x .x .y .y u"), [0, 1, 3, 5]);
}

#[test]
fn ids_may_repeat_across_and_within_assistants() {
    assert_eq!(kept("Ax .x Ax .x u"), [0, 1, 2, 3, 4]);
    assert_eq!(kept("Axx .x .x u"), [0, 1, 2, 3]);
    assert_eq!(kept("Axx .x u"), [2]);
}

#[test]
fn system_records_of_a_history_stay() {
    assert_eq!(kept("s u s a"), [0, 1, 2, 3]);
}

#[test]
fn a_group_is_one_unit_and_the_last_unanswered_one_is_pending() {
    let history = history("u Axy .y .z .x .x a Axyx .x");
    let cleaned = clean(history.as_slice());
    let records: Vec<_> = cleaned
        .units
        .iter()
        .map(|unit| unit.records.clone())
        .collect();
    assert_eq!(records, [0..1, 1..5, 6..7]);
    assert_eq!(cleaned.dropped, [3, 5]);
    let pending = cleaned.pending.clone().unwrap();
    assert_eq!(
        (pending.unit.records, pending.open_calls),
        (7..9, vec![1, 2])
    );
    assert_eq!(cleaned.ranges(), [0..3, 4..5, 6..7]);
}

#[test]
fn an_assistant_whose_calls_were_passed_over_is_not_pending() {
    let history = history("Ax u");
    assert_eq!(clean(history.as_slice()).pending, None);
}

#[test]
fn one_assistant_with_many_calls_makes_no_later_one_dear() {
    let ids: Vec<String> = (0..200_000).map(|call| format!("c{call}")).collect();
    let mut history = vec![called("", &ids), said(Role::User, "never mind")];
    for _ in 0..40_000 {
        history.extend([called("", &["x"]), answered("x", "ok")]);
    }
    let kept = clean(history.as_slice()).ranges();
    assert_eq!(kept.into_iter().flatten().count(), 80_001);
}

proptest! {
    #[test]
    fn going_on_finds_what_beginning_anew_finds(
        before in "([usa] |A[xy]{1,2} |\\.[xyz] ){0,12}",
        after in "([usa] |A[xy]{1,2} |\\.[xyz] ){0,12}",
        intact in 0..40_usize,
    ) {
        let (before, after) = (history(&before), history(&after));
        let intact = intact.min(before.len());
        let now: Vec<Message> = before.iter().take(intact).chain(&after).cloned().collect();
        let further = clean_further(clean(before.as_slice()), now.as_slice(), intact);
        prop_assert_eq!(&further, &clean(now.as_slice()));
        let weights = further.units.iter().map(|unit| unit.weight);
        prop_assert_eq!(further.weight(0..further.units.len()), weights.sum::<u64>());
    }
}
