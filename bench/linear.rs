//! One shape of input at one size: `linear SHAPE SIZE`; without arguments the names of all shapes.
//!
//! `bench/linear.mjs` counts the instructions of each at two sizes, one ten times the other.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a measurement that fails is none"
)]
#![expect(
    clippy::semicolon_if_nothing_returned,
    reason = "a shape is one expression"
)]

use std::{hint::black_box, iter::repeat_n};

use stello_session::{
    context::{
        assemble::Fixed,
        budget::{self, ToolsWeight},
        compress::{Conversation, Input, Overhead, Planner, Step},
        compressor, tool_groups, tool_results,
    },
    llm::{Chunk, Joiner, ToolCallDelta, properties::read},
    message::{Message, MessageBuilder, Role, ToolCall},
    text::{Json, Text, TextBuilder},
};

type Shape = (&'static str, fn(usize));

const SHAPES: &[Shape] = &[
    ("sse: comment lines", |n| stream(":\n".repeat(n / 2), 64)),
    ("sse: CR, LF and CRLF mixed", |n| {
        stream("\r\n\r\n\n\r".repeat(n / 6), 7)
    }),
    ("sse: one event in small pieces", |n| {
        stream(event(&"x".repeat(n)), 16)
    }),
    ("sse: data lines of one event", |n| {
        stream("data:\n".repeat(n / 6), 64)
    }),
    ("sse: bytes that are not UTF-8", |n| {
        stream_of(&vec![0xf0; n], 3)
    }),
    ("stream: events", |n| stream(event("x").repeat(n / 100), 64)),
    ("stream: white space before it", |n| {
        stream(" ".repeat(n), 16)
    }),
    ("stream: tool calls", |n| {
        stream((0..n / 100).map(|at| call(at, "{}")).collect(), 1_024)
    }),
    ("stream: deltas of one call", |n| {
        stream((0..n / 100).map(|_| call(0, "\\\\")).collect(), 1_024)
    }),
    ("answer: nested arguments", |n| {
        let nested = format!("{{\\\"a\\\":{}{}}}", "[".repeat(n / 2), "]".repeat(n / 2));
        stream(call(0, &nested), 1_024);
    }),
    ("answer: nested document", |n| {
        stream(
            format!("{{\"choices\":{}{}}}", "[".repeat(n / 2), "]".repeat(n / 2)),
            1_024,
        )
    }),
    ("answer: error text", |n| {
        stream(
            format!("{{\"error\":{{\"message\":\"{}\"}}}}", "x".repeat(n)),
            1_024,
        )
    }),
    ("joiner: named fragments that end in a brace", |n| {
        join(repeat_n((Some("f"), "[{}"), 1).chain(repeat_n((Some("f"), "{}"), n / 10)))
    }),
    ("joiner: a brace too many", |n| {
        join(repeat_n((Some("f"), "{x}"), n / 10))
    }),
    ("joiner: names without arguments", |n| {
        join(repeat_n((Some("f"), "[}"), 1).chain(repeat_n((Some("f"), ""), n / 10)))
    }),
    ("joiner: calls under one index", |n| {
        join(repeat_n((Some("f"), "{}"), n / 10))
    }),
    ("joiner: backslashes one by one", |n| {
        join(repeat_n((None, "\\"), n / 10))
    }),
    ("text: backslashes one by one", |n| {
        let mut text = TextBuilder::default();
        (0..n).for_each(|_| text.push(&Text::from("\\")));
        black_box(text.finish());
    }),
    ("text: halves of surrogate pairs one by one", |n| {
        let mut text = TextBuilder::default();
        (0..n).for_each(|at| {
            text.push(&Text::from_utf16(&[if at % 3 == 0 {
                0xd83c
            } else {
                0xdf89
            }]))
        });
        black_box(text.finish().to_utf16());
    }),
    ("message: one long unbroken line", |n| {
        black_box(budget::weigh(&said(Role::User, &"aB1".repeat(n / 3))));
    }),
    ("message: escapes", |n| {
        let json = format!(
            "{{\"role\":\"user\",\"content\":\"{}\"}}",
            "\\ud83c\\/\\\\".repeat(n / 10)
        );
        black_box(budget::weigh(&Message::parse(&json).unwrap()));
    }),
    ("message: nested tool input", |n| {
        let json = format!(
            "{{\"role\":\"assistant\",\"content\":\"\",\"toolCalls\":[{{\"id\":\"a\",\"name\":\"f\",\"input\":[{}{}]}}]}}",
            "[".repeat(n / 2),
            "]".repeat(n / 2)
        );
        black_box(budget::weigh(&Message::parse(&json).unwrap()));
    }),
    ("history: tiny messages and tool groups", |n| {
        plan(&groups(n / 100, 1), 8_000)
    }),
    (
        "history: one assistant with many calls, then many with one",
        |n| plan(&[groups(1, n / 100), groups(n / 100, 1)].concat(), u64::MAX),
    ),
    ("history: calls that share an id", |n| {
        let ids = vec!["x"; n / 100];
        let answers = ids.iter().map(|id| answered(id));
        let history: Vec<_> = [called(&ids)].into_iter().chain(answers).collect();
        plan(&history, u64::MAX);
    }),
    ("history: answers without a call", |n| {
        plan(&vec![answered("x"); n / 100], u64::MAX)
    }),
    ("history: calls without an answer", |n| {
        plan(&vec![called(&["x"]); n / 100], u64::MAX)
    }),
    ("compression: a long history in steps", |n| {
        plan(&vec![said(Role::User, &"word ".repeat(40)); n / 100], 2_000)
    }),
    ("compression: the frame of tags", |n| {
        black_box(compressor::request(
            None,
            &[said(Role::User, &"<</ /".repeat(n / 5))],
            8_000,
        ));
    }),
    ("compression: an answer of broken tags", |n| {
        black_box(compressor::without_thinking(&Text::from(
            "<think></think".repeat(n / 14),
        )));
    }),
    ("tool results: many", |n| {
        let ids: Vec<String> = (0..n / 100).map(|at| format!("c{at}")).collect();
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        let given: Vec<_> = ids
            .iter()
            .map(|id| format!("{{\"toolCallId\":\"{id}\",\"success\":true}}"))
            .collect();
        results(&given.join(","), &[called(&ids)]);
    }),
    ("tool results: none of them known", |n| {
        results(
            &vec!["{\"toolCallId\":\"z\"}"; n / 20].join(","),
            &groups(n / 100, 1),
        )
    }),
    ("tool results: nested data", |n| {
        let data = format!("[{}{}]", "[".repeat(n / 2), "]".repeat(n / 2));
        results(
            &format!("{{\"toolCallId\":\"x\",\"success\":true,\"data\":{data}}}"),
            &[called(&["x"])],
        );
    }),
];

fn main() {
    let mut arguments = std::env::args().skip(1);
    let (Some(name), Some(size)) = (arguments.next(), arguments.next()) else {
        for (name, _) in SHAPES {
            println!("{name}");
        }
        return;
    };
    let shape = SHAPES.iter().find(|(known, _)| *known == name);
    let Some((_, run)) = shape else {
        panic!("{name} is no shape");
    };
    run(size.parse().unwrap());
}

#[expect(clippy::needless_pass_by_value, reason = "bodies are made for this")]
fn stream(body: String, piece: usize) {
    stream_of(body.as_bytes(), piece);
}

fn stream_of(body: &[u8], piece: usize) {
    let _ = black_box(read(body.chunks(piece).map(<[u8]>::to_vec).collect()));
}

fn event(content: &str) -> String {
    format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{content}\"}}}}]}}\n\n")
}

fn call(at: usize, arguments: &str) -> String {
    format!(
        "data: {{\"choices\":[{{\"delta\":{{\"tool_calls\":[{{\"index\":{at},\"function\":{{\"name\":\"f\",\"arguments\":\"{arguments}\"}}}}]}}}}]}}\n\n"
    )
}

fn join(fragments: impl Iterator<Item = (Option<&'static str>, &'static str)>) {
    let mut joiner = Joiner::new("linear");
    for (name, input) in fragments {
        let mut chunk = Chunk {
            tool_call_deltas: vec![ToolCallDelta {
                index: Some(0),
                id: None,
                name: name.map(Text::from),
                input: Some(Text::from(input)).filter(|input| !input.is_empty()),
            }],
            ..Chunk::default()
        };
        joiner.push_and_number(&mut chunk);
    }
    let _ = black_box(joiner.finish());
}

fn said(role: Role, content: &str) -> Message {
    MessageBuilder::new(role, Text::from(content)).build()
}

fn called(ids: &[&str]) -> Message {
    let calls = ids.iter().map(|id| ToolCall {
        id: Text::from(*id),
        name: Text::from("f"),
        input: Json::from_trusted("{}"),
    });
    MessageBuilder::new(Role::Assistant, Text::default())
        .tool_calls(calls.collect())
        .build()
}

fn answered(id: &str) -> Message {
    MessageBuilder::new(Role::Tool, Text::default())
        .tool_call_id(Text::from(id))
        .build()
}

/// `groups` assistants with `calls` calls each, all answered.
fn groups(groups: usize, calls: usize) -> Vec<Message> {
    let ids: Vec<String> = (0..calls).map(|at| format!("c{at}")).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let group: Vec<_> = [called(&ids)]
        .into_iter()
        .chain(ids.iter().map(|id| answered(id)))
        .collect();
    repeat_n(group, groups).flatten().collect()
}

fn plan(history: &[Message], window_tokens: u64) {
    let fixed = Fixed::session(Some(&Text::from("P")), &Text::from("L"), None);
    let input = Input {
        window_tokens,
        adapter: 1,
        tools: ToolsWeight::default(),
        fixed: &fixed,
        history,
        base: 0,
        new_tokens: 10,
        new_count: 1,
        answers_pending: false,
        compressor: Overhead::default(),
    };
    black_box(tool_groups::clean(history).ranges());
    let mut planner = Planner::new(&input, &Conversation::default()).unwrap();
    while let Step::Fold(parts) = planner.step() {
        black_box(parts);
        planner.finish(Text::from("so far")).unwrap();
    }
    black_box(planner.step());
}

fn results(given: &str, history: &[Message]) {
    let text = Text::from(format!("{{\"toolResults\":[{given}]}}"));
    let _ = black_box(tool_results::read_text(&text, history, true, None));
}
