use super::{
    harness::{Session, window_float},
    *,
};
use crate::{
    context::{
        History,
        budget::{self, MESSAGE_TOKENS},
        sample::{answered, called, said},
    },
    error::Error,
    message::{Message, Role},
};

/// `n` messages of `tokens` each, by turns of user and assistant.
fn talk(n: usize, tokens: usize) -> Vec<Message> {
    let roles = [Role::User, Role::Assistant].into_iter().cycle();
    let filler = "go on with it ".repeat(tokens);
    let length = (tokens - MESSAGE_TOKENS as usize) * 4;
    roles
        .take(n)
        .map(|role| said(role, &filler[..length]))
        .collect()
}

fn input<'a>(history: &'a [Message], fixed: &'a Fixed, window: u64) -> Input<'a, [Message]> {
    Input {
        window_tokens: window,
        adapter: 1,
        tools: ToolsWeight::default(),
        fixed,
        history,
        base: 0,
        new_tokens: 10,
        new_count: 1,
        answers_pending: false,
        compressor: super::Overhead::default(),
    }
}

fn prompt_of(planner: &Planner) -> Vec<Part> {
    match planner.step() {
        Step::Prompt(parts) => parts,
        other => panic!("expected a prompt, got {other:?}"),
    }
}

fn fold_of(planner: &Planner) -> Vec<Part> {
    match planner.step() {
        Step::Fold(parts) => parts,
        other => panic!("expected a fold, got {other:?}"),
    }
}

#[test]
fn a_prompt_below_four_fifths_of_the_window_is_sent_whole() {
    let (history, fixed) = (talk(70, 10), Fixed::default());
    let planner = Planner::new(&input(&history, &fixed, 1_000), &Conversation::default()).unwrap();
    assert_eq!(prompt_of(&planner), [Part::Records(0..70), Part::New]);
    assert_eq!(planner.new_summary(), None);
}

#[test]
fn at_four_fifths_the_oldest_leave_and_two_fifths_remain() {
    let (history, fixed) = (talk(790, 10), Fixed::main(Some(&Text::from("P")), None));
    let mut planner =
        Planner::new(&input(&history, &fixed, 10_000), &Conversation::default()).unwrap();
    assert!(matches!(planner.step(), Step::Prompt(_)));
    let history = talk(800, 10);
    planner = Planner::new(&input(&history, &fixed, 10_000), &Conversation::default()).unwrap();
    // 3 600 less prompt, input and the summary to come: 308 messages remain.
    let [Part::Records(leaving)] = &fold_of(&planner)[..] else {
        panic!()
    };
    assert_eq!(leaving, &(0..492));
    planner.finish(Text::from("S")).unwrap();
    let expected = [
        Part::System(Text::from("P")),
        Part::System(Text::from("S")),
        Part::Records(492..800),
        Part::New,
    ];
    assert_eq!(prompt_of(&planner), expected);
    assert_eq!(planner.new_summary().unwrap().compressed_count, 492);
    assert_eq!(
        planner.conversation().summary.as_ref(),
        planner.new_summary()
    );
}

#[test]
fn the_next_compression_takes_the_summary_and_what_now_leaves() {
    let (history, fixed) = (talk(1_300, 10), Fixed::default());
    let summary = Summary {
        text: Text::from("S1"),
        compressed_count: 450,
    };
    let conversation = Conversation {
        summary: Some(summary),
        ..Conversation::default()
    };
    let planner = Planner::new(&input(&history, &fixed, 10_000), &conversation).unwrap();
    let parts = fold_of(&planner);
    assert_eq!(parts.first(), Some(&Part::System(Text::from("S1"))));
    let Some(Part::Records(leaving)) = parts.get(1) else {
        panic!()
    };
    assert_eq!((leaving.start, parts.len()), (450, 2));
    assert!((930..=950).contains(&leaving.end), "{leaving:?}");
}

#[test]
fn a_loaded_tail_is_planned_like_the_whole() {
    let (history, fixed) = (talk(1_300, 10), Fixed::default());
    let conversation = Conversation {
        summary: Some(Summary {
            text: Text::from("S1"),
            compressed_count: 450,
        }),
        ..Conversation::default()
    };
    let mut whole = Planner::new(&input(&history, &fixed, 10_000), &conversation).unwrap();
    let tail = Input {
        base: 450,
        ..input(&history[450..], &fixed, 10_000)
    };
    let mut tail = Planner::new(&tail, &conversation).unwrap();
    for planner in [&mut whole, &mut tail] {
        planner.finish(Text::from("S2")).unwrap();
    }
    assert_eq!(whole.new_summary(), tail.new_summary());
}

#[test]
fn a_tail_without_its_summary_is_refused() {
    let (history, fixed) = (talk(4, 10), Fixed::default());
    let tail = Input {
        base: 450,
        ..input(&history, &fixed, 10_000)
    };
    let problem = Planner::new(&tail, &Conversation::default()).unwrap_err();
    assert!(matches!(problem, Error::Internal(_)));
}

#[test]
fn a_summary_that_does_not_meet_the_history_is_dropped() {
    let mut history = talk(4, 10);
    history.extend([
        called("", &["c"]),
        answered("c", "ok"),
        said(Role::User, "u"),
    ]);
    let fixed = Fixed::default();
    for (count, kept) in [(4, true), (5, false), (6, true), (7, true), (8, false)] {
        let conversation = Conversation {
            summary: Some(Summary {
                text: Text::from("S"),
                compressed_count: count,
            }),
            ..Conversation::default()
        };
        let planner = Planner::new(&input(&history, &fixed, 10_000), &conversation).unwrap();
        assert_eq!(planner.conversation().summary.is_some(), kept, "{count}");
    }
}

#[test]
fn a_blank_summary_changes_nothing() {
    let (history, fixed) = (talk(800, 10), Fixed::default());
    let mut planner =
        Planner::new(&input(&history, &fixed, 10_000), &Conversation::default()).unwrap();
    let before = fold_of(&planner);
    for blank in ["", " \n"] {
        let problem = planner.finish(Text::from(blank)).unwrap_err();
        assert!(matches!(problem, Error::InvalidArgument(_)));
    }
    assert_eq!((fold_of(&planner), planner.new_summary()), (before, None));
}

#[test]
fn a_long_history_is_folded_in_steps() {
    let mut session = Session::new(8_000, Box::new(|message| f64::from(budget::weigh(message))));
    session.records = talk(4_000, 100);
    session.summarise = Box::new(|_| "the summary ".repeat(100));
    session
        .turn(vec![said(Role::User, "hi")], said(Role::Assistant, "ho"))
        .unwrap();
    let seen = &session.seen;
    assert!((60..=70).contains(&seen.compress_calls), "{seen:?}");
    assert!(seen.worst_input <= 0.8, "{seen:?}");
    assert_eq!((seen.folded_twice, seen.gaps, seen.over_window), (0, 0, 0));
    assert!(seen.last_prompt < 0.41 * 8_000.0, "{seen:?}");
}

#[test]
fn what_is_too_large_for_a_step_goes_alone_and_whole() {
    let mut history = talk(10, 100);
    let large = said(Role::User, &"go on with it ".repeat(4_000));
    history.push(large);
    history.extend(talk(10, 100));
    let fixed = Fixed::default();
    let mut planner =
        Planner::new(&input(&history, &fixed, 8_000), &Conversation::default()).unwrap();
    assert_eq!(fold_of(&planner), [Part::Records(0..10)]);
    planner.finish(Text::from("S1")).unwrap();
    let summary = Part::System(Text::from("S1"));
    assert_eq!(fold_of(&planner), [summary, Part::Records(10..11)]);
    planner.finish(Text::from("S2")).unwrap();
    let shown = [
        Part::System(Text::from("S2")),
        Part::Records(11..21),
        Part::New,
    ];
    assert_eq!(prompt_of(&planner), shown);
}

#[test]
fn a_tiny_window_compresses_in_one_call() {
    let (history, fixed) = (talk(60, 10), Fixed::default());
    let mut planner =
        Planner::new(&input(&history, &fixed, 100), &Conversation::default()).unwrap();
    let [Part::Records(leaving)] = &fold_of(&planner)[..] else {
        panic!()
    };
    planner.finish(Text::from("S")).unwrap();
    let shown = [
        Part::System(Text::from("S")),
        Part::Records(leaving.end..60),
        Part::New,
    ];
    assert_eq!(prompt_of(&planner), shown);
    assert!(leaving.end < 60);
}

#[test]
fn what_does_not_fit_by_itself_is_sent_without_history() {
    let (history, fixed) = (talk(60, 10), Fixed::default());
    let huge = Input {
        new_tokens: 50_000,
        ..input(&history, &fixed, 8_000)
    };
    let mut planner = Planner::new(&huge, &Conversation::default()).unwrap();
    assert_eq!(fold_of(&planner), [Part::Records(0..60)]);
    planner.finish(Text::from("S")).unwrap();
    assert_eq!(
        prompt_of(&planner),
        [Part::System(Text::from("S")), Part::New]
    );
}

#[test]
fn an_empty_history_is_never_compressed() {
    let fixed = Fixed::main(Some(&Text::from("rule ".repeat(10_000))), None);
    for window in [0, 1, 8_000] {
        let planner = Planner::new(&input(&[], &fixed, window), &Conversation::default()).unwrap();
        assert_eq!(prompt_of(&planner).len(), 2);
    }
}

#[test]
fn a_summary_as_large_as_the_window_ends_too() {
    let mut session = Session::new(1_000, Box::new(|message| f64::from(budget::weigh(message))));
    session.records = talk(100, 50);
    session.summarise = Box::new(|_| "the summary ".repeat(400));
    for _ in 0..10 {
        let turn = talk(2, 50);
        session
            .turn(vec![turn[0].clone()], turn[1].clone())
            .unwrap();
    }
    assert_eq!((session.seen.folded_twice, session.seen.gaps), (0, 0));
}

#[test]
fn calls_being_answered_are_new_input_and_never_summarised() {
    let mut history = talk(10, 100);
    let huge = Text::from("go on with it ".repeat(4_000));
    let calling = called(&huge.to_plain(), &["c1", "c2"]);
    history.extend([calling, answered("c1", "ok")]);
    let fixed = Fixed::default();
    let results = Input {
        answers_pending: true,
        ..input(&history, &fixed, 8_000)
    };
    let mut planner = Planner::new(&results, &Conversation::default()).unwrap();
    assert_eq!(fold_of(&planner), [Part::Records(0..10)]);
    planner.finish(Text::from("S")).unwrap();
    let shown = [
        Part::System(Text::from("S")),
        Part::Records(10..12),
        Part::New,
    ];
    assert_eq!(prompt_of(&planner), shown);
    // The same group in a plain turn is incomplete, and no part of the prompt.
    let planner = Planner::new(&input(&history, &fixed, 8_000), &Conversation::default()).unwrap();
    assert_eq!(prompt_of(&planner), [Part::Records(0..10), Part::New]);
}

#[test]
fn where_fixed_parts_pass_the_threshold_history_leaves_rarely() {
    let mut session = Session::new(8_000, Box::new(|message| f64::from(budget::weigh(message))));
    session.fixed = Fixed::main(Some(&Text::from("go on with it ".repeat(1_900))), None);
    assert!(session.fixed.weight() > 6_500);
    for _ in 0..100 {
        let turn = talk(2, 30);
        session
            .turn(vec![turn[0].clone()], turn[1].clone())
            .unwrap();
    }
    let seen = &session.seen;
    assert_eq!((seen.over_window, seen.folded_twice, seen.gaps), (0, 0, 0));
    assert!((3..=10).contains(&seen.compress_calls), "{seen:?}");
}

#[test]
fn the_providers_count_moves_the_threshold_both_ways() {
    for (ratio, folds) in [(0.6, false), (1.0, false), (1.5, true)] {
        let count = move |message: &Message| f64::from(budget::weigh(message)) * ratio;
        let mut session = Session::new(8_000, Box::new(count));
        session.records = talk(62, 100);
        session.turn(talk(1, 60), talk(2, 60)[1].clone()).unwrap();
        assert_eq!(session.seen.last_folds, 0);
        session.turn(talk(1, 40), talk(2, 40)[1].clone()).unwrap();
        assert_eq!(
            session.seen.last_folds > 0,
            folds,
            "{ratio} {:?}",
            session.seen
        );
    }
}

#[test]
fn an_incredible_count_is_not_believed() {
    let fixed = Fixed::default();
    let history = talk(60, 100);
    let planner = Planner::new(&input(&history, &fixed, 8_000), &Conversation::default()).unwrap();
    for count in [0.0, -5.0, f64::NAN, f64::INFINITY, 1_500.0, 1e9] {
        assert_eq!(
            planner.observe(Some(count)),
            Conversation::default(),
            "{count}"
        );
    }
    assert_ne!(planner.observe(Some(1_600.0)), Conversation::default());
    assert_eq!(planner.observe(None), Conversation::default());
}

#[test]
fn counts_of_another_adapter_do_not_count() {
    let fixed = Fixed::default();
    let history = talk(60, 100);
    let first = input(&history, &fixed, 8_000);
    let planner = Planner::new(&first, &Conversation::default()).unwrap();
    let conversation = planner.observe(Some(12_000.0));
    assert!(matches!(
        Planner::new(&first, &conversation).unwrap().step(),
        Step::Fold(_)
    ));
    let other = Input {
        adapter: 2,
        ..first
    };
    assert!(matches!(
        Planner::new(&other, &conversation).unwrap().step(),
        Step::Prompt(_)
    ));
}

/// A history of which only the lengths are known.
struct Lengths<'a>(&'a [Message]);

impl History for Lengths<'_> {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn role(&self, index: usize) -> Role {
        self.0.role(index)
    }

    fn weight(&self, index: usize) -> u32 {
        budget::upper_bound(u32::try_from(self.0[index].content_escaped().len()).unwrap())
    }

    fn weights_are_exact(&self) -> bool {
        false
    }

    fn call_count(&self, index: usize) -> usize {
        self.0.call_count(index)
    }

    fn call(&self, index: usize, call: usize) -> (&Text, &Text) {
        self.0.call(index, call)
    }

    fn answers(&self, index: usize) -> Option<&Text> {
        self.0.answers(index)
    }
}

#[test]
fn contents_are_asked_for_only_when_lengths_alone_do_not_settle_it() {
    let (history, fixed) = (talk(20, 100), Fixed::default());
    let exact = input(&history, &fixed, 20_000);
    let plan = |window: u64| {
        let input = Input {
            window_tokens: window,
            adapter: exact.adapter,
            tools: exact.tools,
            fixed: &fixed,
            history: &Lengths(&history),
            base: 0,
            new_tokens: 10,
            new_count: 1,
            answers_pending: false,
            compressor: super::Overhead::default(),
        };
        Planner::new(&input, &Conversation::default()).unwrap()
    };
    let far_below = plan(20_000);
    assert!(matches!(far_below.step(), Step::Prompt(_)));
    assert_eq!(far_below.observe(Some(2_000.0)), Conversation::default());
    assert_eq!(plan(4_000).step(), Step::Weigh);
}

#[test]
fn a_tool_loop_stays_within_the_window_with_its_groups_whole() {
    let mut session = Session::new(8_000, Box::new(|message| f64::from(budget::weigh(message))));
    let work = "go on with it ".repeat(143);
    let mut new = vec![said(Role::User, "do it")];
    for round in 0..40 {
        let id = format!("c{round}");
        session.turn(new, called(&work, &[&id])).unwrap();
        new = vec![answered(&id, &work)];
    }
    session.turn(new, said(Role::Assistant, "done")).unwrap();
    let seen = &session.seen;
    assert_eq!(
        (seen.over_window, seen.folded_twice, seen.gaps),
        (0, 0, 0),
        "{seen:?}"
    );
    assert!(
        seen.worst_prompt * window_float(8_000) < 6_500.0,
        "{seen:?}"
    );
}
