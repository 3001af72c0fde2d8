//! Long conversations: how often they are summarised, how much of each prompt a cache can serve.

use super::harness::{Count, Session};
use crate::{
    context::{
        budget::{self, MESSAGE_TOKENS},
        sample::said,
    },
    message::{Message, Role},
};

const EN: &str = "The committee reviewed the quarterly figures and asked for a breakdown by region before the next meeting; \
several members raised doubts about shipping costs. ";
const ZH: &str = "委员会审阅了季度数据，并要求在下次会议之前按地区给出明细；几位成员对运输成本提出了疑问，希望尽快得到书面答复。";
const CODE: &str = "async function load(path) {\n    const text = await readFile(path, 'utf8');\n    return JSON.parse(text)?.items ?? [];\n}\n";
const JSON: &str = r#"{"id":1042,"name":"widget","price":{"amount":"19.90","currency":"EUR"},"tags":["new","blue"],"stock":null}"#;
const BASE64: &str = "iVBORw0KGgoAAAANSUhEUgAAAAUAAAAFCAYAAACNbyblAAAAHElEQVQI12P4//8/w38GIAXDIBKE0DHxgljNBAAO9TXL0Y4OHwAAAABJRU5ErkJggg==";

#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    English,
    Chinese,
    Mixed,
}

fn text(kind: Kind, turn: usize, who: &str) -> String {
    let body = match (kind, turn % 5) {
        (Kind::English, _) | (Kind::Mixed, 0) => EN.repeat(4),
        (Kind::Chinese, _) | (Kind::Mixed, 1) => ZH.repeat(4),
        (Kind::Mixed, 2) => CODE.repeat(4),
        (Kind::Mixed, 3) => JSON.repeat(4),
        (Kind::Mixed, _) => BASE64.repeat(4),
    };
    format!("[{who}{turn}] {body}")
}

/// What `o200k_base` counts for texts of these kinds, as parts of the estimate (measured in November 2026).
fn counted(message: &Message) -> f64 {
    let content = message.content().to_plain();
    let ratios = [
        ("committee", 0.66),
        ("委员会", 0.74),
        ("readFile", 0.81),
        ("widget", 0.91),
        ("iVBOR", 0.99),
    ];
    let known = ratios.iter().find(|(mark, _)| content.contains(mark));
    let ratio = known.map_or(0.9, |(_, ratio)| *ratio);
    f64::from(budget::weigh(message) - MESSAGE_TOKENS) * ratio + f64::from(MESSAGE_TOKENS)
}

fn converse(kind: Kind, turns: usize, window: u64, usage: bool, count: Count) -> Session {
    let mut session = Session::new(window, count);
    session.reports_usage = usage;
    let base = if kind == Kind::Chinese { ZH } else { EN };
    session.summarise = Box::new(move |n| format!("[summary of {n}] {}", base.repeat(3)));
    for turn in 0..turns {
        let user = said(Role::User, &text(kind, turn, "u"));
        let answer = said(Role::Assistant, &text(kind, turn, "a"));
        session.turn(vec![user], answer).unwrap();
    }
    session
}

#[test]
fn a_long_conversation_keeps_its_window_and_is_rarely_summarised() {
    for (turns, window, most_with_usage, most_without) in [
        (200, 8_000, 20, 28),
        (500, 32_000, 12, 18),
        (1_000, 200_000, 4, 6),
    ] {
        for kind in [Kind::English, Kind::Chinese, Kind::Mixed] {
            for (usage, calls, cacheable) in
                [(true, most_with_usage, 0.85), (false, most_without, 0.80)]
            {
                let session = converse(kind, turns, window, usage, Box::new(counted));
                let seen = &session.seen;
                let case = format!(
                    "{kind:?} {turns}/{window} usage {usage}: {seen:?}, {:.3}",
                    session.cacheable()
                );
                println!("{case}");
                assert_eq!(
                    (seen.over_window, seen.folded_twice, seen.gaps),
                    (0, 0, 0),
                    "{case}"
                );
                assert!(seen.worst_input <= 0.85, "{case}");
                assert!(seen.compress_calls <= calls, "{case}");
                assert!(session.cacheable() >= cacheable, "{case}");
            }
        }
    }
}
