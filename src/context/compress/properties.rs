//! What holds of any conversation: whole and broken tool groups, all scripts and sizes, counts that differ from the
//! estimate, trims between turns.

use proptest::prelude::*;

use super::harness::{Session, window_float};
use crate::{
    context::{
        assemble::Fixed,
        budget,
        sample::{answered, called, said},
        tool_groups,
    },
    message::{Message, Role},
    text::Text,
};

#[derive(Debug, Clone)]
enum Event {
    /// A user says something, the model answers or calls tools.
    Say(String, String, u8),
    /// The open calls are answered, if there are any.
    Answer(String, String, u8),
    /// Other hands write a record.
    Write(Message),
    Trim(usize),
    /// An insight is there for the next turn.
    Insight,
    /// The provider reports no usage from here on, or does again.
    Usage(bool),
}

fn any_content() -> impl Strategy<Value = String> {
    let alphabet = prop::sample::select(vec![
        "the committee asked for more ",
        "委员会审阅了季度数据，",
        "const x = f(a[0], {b: 1});\n",
        "\"id\":1042,",
        "Zm9vYmFyYmF6cXV4MTIzNDU2Nzg5MGFi",
        "🎉👩‍👩‍👧",
        "дом стоит на горе ",
    ]);
    (alphabet, prop_oneof![8 => 0..40_usize, 1 => 0..600_usize])
        .prop_map(|(piece, times)| piece.repeat(times))
}

fn any_event() -> impl Strategy<Value = Event> {
    let broken = prop_oneof![
        Just(answered("w", "ok")),
        Just(called("", &["w"])),
        any_content().prop_map(|content| said(Role::User, &content)),
        Just(said(Role::System, "note")),
    ];
    prop_oneof![
        8 => (any_content(), any_content(), 0..3_u8).prop_map(|(a, b, n)| Event::Say(a, b, n)),
        4 => (any_content(), any_content(), 0..3_u8).prop_map(|(a, b, n)| Event::Answer(a, b, n)),
        1 => broken.prop_map(Event::Write),
        1 => (0..30_usize).prop_map(Event::Trim),
        1 => Just(Event::Insight),
        1 => any::<bool>().prop_map(Event::Usage),
    ]
}

fn answer(content: &str, calls: u8, turn: usize) -> Message {
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
    pending
        .open_calls
        .iter()
        .map(|&call| calls[call].id.clone())
        .collect()
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
fn turn(
    session: &mut Session,
    new: Vec<Message>,
    answer: Message,
    ratio: f64,
) -> Result<(), TestCaseError> {
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
    session.turn(new, answer).map_err(TestCaseError::fail)?;
    let seen = session.seen.clone();
    prop_assert_eq!((seen.folded_twice, seen.gaps), (0, 0));
    if seen.last_folds == 0 {
        prop_assert_eq!(
            &session.conversation.summary,
            &summary,
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
        prop_assert!(
            seen.last_prompt <= window,
            "{} of {}",
            seen.last_prompt,
            window
        );
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn summary_and_tail_cover_every_valid_message_once_and_the_window_is_kept(
        events in prop::collection::vec(any_event(), 1..60),
        window in prop_oneof![Just(200_u64), Just(2_000), Just(8_000)],
        ratio in 0.5..4.0_f64,
        loads_tail: bool,
        summary_words in prop_oneof![4 => 1..40_usize, 1 => 1..400_usize],
    ) {
        let count = move |message: &Message| f64::from(budget::weigh(message)) * ratio;
        let mut session = Session::new(window, Box::new(count));
        session.loads_tail = loads_tail;
        session.fixed = fixed(None);
        session.summarise = Box::new(move |_| "so far ".repeat(summary_words));
        for (at, event) in events.into_iter().enumerate() {
            match event {
                Event::Say(user, model, calls) => {
                    turn(&mut session, vec![said(Role::User, &user)], answer(&model, calls, at), ratio)?;
                    session.fixed = fixed(None);
                }
                Event::Answer(result, model, calls) => {
                    let open = open_calls(session.records.get(session.covered()..).unwrap_or_default());
                    if open.is_empty() {
                        continue;
                    }
                    let new = open.iter().map(|id| answered(&id.to_plain(), &result)).collect();
                    turn(&mut session, new, answer(&model, calls, at), ratio)?;
                    session.fixed = fixed(None);
                }
                Event::Write(record) => session.records.push(record),
                Event::Trim(keep) => session.trim(keep),
                Event::Insight => session.fixed = fixed(Some("an insight")),
                Event::Usage(reports) => session.reports_usage = reports,
            }
        }
    }

    #[test]
    fn between_compressions_each_prompt_begins_with_the_one_before(
        turns in prop::collection::vec((any_content(), any_content()), 2..60),
        window in prop_oneof![Just(2_000_u64), Just(8_000)],
        ratio in 0.5..4.0_f64,
    ) {
        let count = move |message: &Message| f64::from(budget::weigh(message)) * ratio;
        let mut session = Session::new(window, Box::new(count));
        for (user, model) in turns {
            session.turn(vec![said(Role::User, &user)], said(Role::Assistant, &model)).map_err(TestCaseError::fail)?;
            prop_assert!(session.seen.last_folds > 0 || session.seen.extended);
        }
    }

    #[test]
    fn planning_twice_gives_the_same_plan(
        history in tool_groups::tests::any_history(40),
        window in 100..3_000_u64,
        pending: bool,
    ) {
        let fixed = fixed(None);
        let input = super::Input {
            window_tokens: window,
            adapter: 1,
            tools: budget::ToolsWeight::default(),
            fixed: &fixed,
            history: history.as_slice(),
            base: 0,
            new_tokens: 20,
            new_count: 1,
            answers_pending: pending,
            compressor: super::Overhead::default(),
        };
        let plan = || super::Planner::new(&input, &super::Conversation::default()).unwrap();
        prop_assert_eq!(plan().step(), plan().step());
    }
}
