//! What holds of any conversation: whole and broken tool groups, all scripts and sizes, counts that differ from the
//! estimate, trims between turns.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::missing_panics_doc,
    clippy::panic,
    reason = "a property fails by panicking"
)]

use super::{
    Conversation, Input, Overhead, Planner,
    harness::{Session, window_float},
};
use crate::{
    choices::Choices,
    context::{
        assemble::Fixed,
        budget,
        sample::{self, answered, called, said},
        tool_groups,
    },
    message::{Message, Role},
    text::Text,
};

#[derive(Debug, Clone)]
enum Event {
    /// A user says something, the model answers or calls tools.
    Say(String, String, usize),
    /// The open calls are answered, if there are any.
    Answer(String, String, usize),
    /// Other hands write a record.
    Write(Message),
    Trim(usize),
    /// An insight is there for the next turn.
    Insight,
    /// The provider reports no usage from here on, or does again.
    Usage(bool),
}

const PIECES: [&str; 7] = [
    "the committee asked for more ",
    "委员会审阅了季度数据，",
    "const x = f(a[0], {b: 1});\n",
    "\"id\":1042,",
    "Zm9vYmFyYmF6cXV4MTIzNDU2Nzg5MGFi",
    "🎉👩‍👩‍👧",
    "дом стоит на горе ",
];

fn content(choices: &mut Choices<'_>) -> String {
    let piece = choices.pick(&PIECES);
    let times = match choices.byte() {
        times @ 0..=223 => usize::from(times % 14),
        more => usize::from(more - 223) * 8,
    };
    piece.repeat(times)
}

fn event(choices: &mut Choices<'_>) -> Event {
    match choices.below(16) {
        0..8 => Event::Say(content(choices), content(choices), choices.below(3)),
        8..12 => Event::Answer(content(choices), content(choices), choices.below(3)),
        12 => Event::Write(match choices.below(4) {
            0 => answered("w", "ok"),
            1 => called("", &["w"]),
            2 => said(Role::User, &content(choices)),
            _ => said(Role::System, "note"),
        }),
        13 => Event::Trim(choices.below(30)),
        14 => Event::Insight,
        _ => Event::Usage(choices.flag()),
    }
}

fn answer(content: &str, calls: usize, turn: usize) -> Message {
    let ids: Vec<String> = (0..calls).map(|call| format!("c{turn}_{call}")).collect();
    if ids.is_empty() {
        said(Role::Assistant, content)
    } else {
        called(content, &ids)
    }
}

fn open_calls(records: &[Message]) -> Vec<Text> {
    let Some(pending) = tool_groups::clean(records).pending else {
        return Vec::new();
    };
    let calls = records[pending.unit.records.start].tool_calls();
    let open = pending.open_calls.iter();
    open.map(|&call| calls[call].id.clone()).collect()
}

fn fixed(insight: Option<&str>) -> Fixed {
    let insight = insight.map(Text::from);
    Fixed::session(
        Some(&Text::from("Be kind.")),
        &Text::from("label"),
        insight.as_ref(),
    )
}

/// One turn, and what must hold after it.
fn turn(session: &mut Session, new: Vec<Message>, answer: Message, ratio: f64) {
    let measured = session.conversation.calibration != budget::Calibration::default();
    let summary = session.conversation.summary.clone();
    let pending = tool_groups::clean(session.records.as_slice()).pending;
    let answers = new.iter().all(|message| message.role() == Role::Tool);
    let answered = pending
        .filter(|_| answers)
        .map_or(0, |pending| pending.unit.weight);
    let input = new
        .iter()
        .map(|message| f64::from(budget::weigh(message)))
        .sum::<f64>()
        + f64::from(u32::try_from(answered).unwrap());
    if let Err(broken) = session.turn(new, answer) {
        panic!("{broken}");
    }
    let seen = session.seen.clone();
    assert_eq!((seen.folded_twice, seen.gaps), (0, 0));
    if seen.last_folds == 0 {
        assert_eq!(
            session.conversation.summary, summary,
            "kept until the next compression"
        );
    }
    // The window is kept wherever prompt, summary and input leave room, once the provider's counts are known,
    // or where they are not above the estimate.
    let head = session.fixed.weight()
        + session
            .conversation
            .summary
            .as_ref()
            .map_or(0, |s| u64::from(budget::weigh_text(&s.text)) + 4);
    let window = window_float(session.window);
    if (measured || ratio <= 1.0) && ratio * (window_float(head) + input) <= window {
        assert!(
            seen.last_prompt <= window,
            "{} of {}",
            seen.last_prompt,
            window
        );
    }
}

/// Between 0.5 and 4.
fn ratio(choices: &mut Choices<'_>) -> f64 {
    0.5 + 3.5 * f64::from(choices.byte()) / 255.0
}

fn counting(window: u64, ratio: f64) -> Session {
    let count = move |message: &Message| f64::from(budget::weigh(message)) * ratio;
    Session::new(window, Box::new(count))
}

/// Summary and tail cover every valid message once, and the window is kept.
pub fn conversation(data: &[u8]) {
    let mut choices = Choices::new(data);
    let ratio = ratio(&mut choices);
    let mut session = counting(choices.pick(&[200, 2_000, 8_000]), ratio);
    session.loads_tail = choices.flag();
    session.fixed = fixed(None);
    let words = match choices.byte() {
        words @ 0..=199 => usize::from(words % 40) + 1,
        more => usize::from(more - 199) * 7,
    };
    session.summarise = Box::new(move |_| "so far ".repeat(words));
    let mut at = 0;
    while !choices.is_over() && at < 40 {
        at += 1;
        match event(&mut choices) {
            Event::Say(user, model, calls) => {
                let user = vec![said(Role::User, &user)];
                turn(&mut session, user, answer(&model, calls, at), ratio);
                session.fixed = fixed(None);
            }
            Event::Answer(result, model, calls) => {
                let open = open_calls(session.records.get(session.covered()..).unwrap_or_default());
                if open.is_empty() {
                    continue;
                }
                let new = open
                    .iter()
                    .map(|id| answered(&id.to_plain(), &result))
                    .collect();
                turn(&mut session, new, answer(&model, calls, at), ratio);
                session.fixed = fixed(None);
            }
            Event::Write(record) => session.records.push(record),
            Event::Trim(keep) => session.trim(keep),
            Event::Insight => session.fixed = fixed(Some("an insight")),
            Event::Usage(reports) => session.reports_usage = reports,
        }
    }
}

/// Between two compressions each prompt begins with the one before.
pub fn prefix(data: &[u8]) {
    let mut choices = Choices::new(data);
    let ratio = ratio(&mut choices);
    let mut session = counting(choices.pick(&[2_000, 8_000]), ratio);
    for _ in 0..30 {
        if choices.is_over() {
            break;
        }
        let (user, model) = (content(&mut choices), content(&mut choices));
        let answer = said(Role::Assistant, &model);
        turn(&mut session, vec![said(Role::User, &user)], answer, ratio);
        assert!(session.seen.last_folds > 0 || session.seen.extended);
    }
}

/// Of any history and any numbers there is one plan, or an error.
pub fn plan(data: &[u8]) {
    let mut choices = Choices::new(data);
    let number = |choices: &mut Choices<'_>| choices.number().unsigned_abs();
    let narrow = |choices: &mut Choices<'_>| u32::try_from(choices.number()).unwrap_or(u32::MAX);
    let conversation = Conversation {
        summary: choices.flag().then(|| super::Summary {
            text: choices.text(),
            compressed_count: number(&mut choices),
        }),
        ..Conversation::default()
    };
    let (window_tokens, base) = (number(&mut choices), number(&mut choices));
    let tools = budget::ToolsWeight {
        tokens: narrow(&mut choices),
        key: 1,
    };
    let (new_tokens, new_count, answers_pending) =
        (narrow(&mut choices), narrow(&mut choices), choices.flag());
    let compressor = Overhead {
        request_tokens: narrow(&mut choices),
        message_tokens: narrow(&mut choices),
    };
    let history = sample::history(&mut choices, 60);
    let fixed = fixed(None);
    let input = Input {
        window_tokens,
        adapter: 1,
        tools,
        fixed: &fixed,
        history: history.as_slice(),
        base,
        new_tokens,
        new_count,
        answers_pending,
        compressor,
    };
    let Ok(mut planner) = Planner::new(&input, &conversation) else {
        return;
    };
    assert_eq!(
        Planner::new(&input, &conversation).unwrap().step(),
        planner.step()
    );
    for _ in 0..=history.len() {
        let super::Step::Fold(_) = planner.step() else {
            assert!(planner.prompt_tokens().is_finite());
            let _ = planner.observe(Some(window_float(window_tokens)));
            return;
        };
        planner.finish(Text::from("so far")).unwrap();
    }
    panic!("the planner loops");
}

#[cfg(test)]
mod tests {
    use crate::choices::hold;

    #[test]
    fn summary_and_tail_cover_every_valid_message_once_and_the_window_is_kept() {
        hold("conversation", super::conversation);
    }

    #[test]
    fn between_compressions_each_prompt_begins_with_the_one_before() {
        hold("prefix", super::prefix);
    }

    #[test]
    fn any_numbers_make_one_plan_or_an_error() {
        hold("plan", super::plan);
    }
}
