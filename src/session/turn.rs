//! One turn: `send` or `stream`, of a session or of a main session.
//!
//! Everything up to the answer can fail or be cancelled without a trace; then one commit stores the whole turn.

use std::sync::Arc;

use super::{
    cancellation::Cancellation,
    hooks::{Extent, PieceSink, Prompt, Tools, TurnHost, TurnRead, TurnState},
    queue::{Place, Turnstile},
    remembered::Remembered,
    session::{Planned, Session},
};
use crate::{
    clock::now_iso,
    context::{
        assemble::{Fixed, Part},
        budget,
        compress::{Input, Known, Overhead, Planner, Step},
        compressor,
        tool_results::{self, Reading},
    },
    error::{Error, Result},
    llm::Completion,
    message::{Message, MessageBuilder, Role, ToolCall},
    meta::Kind,
    plant,
    storage::Write,
    text::Text,
};

/// What the caller says.
#[derive(Debug)]
pub enum TurnInput {
    /// A user message, or tool results in the string form of `@stello-ai/core`.
    Text(Text),
    /// JSON of `{ toolResults: ToolResult[] }`.
    ToolResults(String),
}

pub struct TurnRequest<'a> {
    pub session: &'a Session,
    /// The place in the session's queue that the call took.
    pub place: Place,
    /// The state at the time of the call, which holds if the turn need not wait.
    pub state: TurnState,
    pub host: &'a dyn TurnHost,
    pub input: TurnInput,
    /// Given for `stream`.
    pub pieces: Option<PieceSink>,
}

/// Runs a turn to its end. `cancellation` ends it at any moment before the commit.
pub async fn run(request: TurnRequest<'_>, cancellation: &Cancellation) -> Result<Completion> {
    let session = request.session;
    let answered = cancellation.guard(answer(request)).await?;
    plant::panic_at("turn.answered");
    answered.state.storage.commit(answered.writes).await?;
    *session.remembered() = answered.remembered;
    Ok(answered.completion)
}

/// A turn that has its answer and is not stored yet. It holds its place in the queue until it is dropped.
struct Answered {
    state: TurnState,
    writes: Vec<Write>,
    remembered: Remembered,
    completion: Completion,
    _turnstile: Turnstile,
}

async fn answer(request: TurnRequest<'_>) -> Result<Answered> {
    let TurnRequest {
        session,
        place,
        state,
        host,
        input,
        pieces,
    } = request;
    let (turnstile, waited) = place.reach().await;
    session.shared().refuse_archived()?;
    let state = if waited { host.state().await? } else { state };

    let mut read = state
        .storage
        .load(session.id(), session.slot(), Extent::Needed)
        .await?;
    session.remembered().check(&read);
    let mut known = known_before(session, &read);
    let mut new = new_messages(&input, &read)?;
    if new.is_none() {
        known = None;
        read = state
            .storage
            .load(session.id(), session.slot(), Extent::Whole)
            .await?;
        session.remembered().check(&read);
        new = new_messages(&input, &read)?;
    }
    let new = new.ok_or_else(|| Error::Internal("the whole history was not enough".into()))?;
    let new = Arc::new(new);

    let mut remembered = session.remembered().clone();
    remembered.adopt(&read).await;
    session.remembered().clone_from(&remembered);
    let (planner, prompt) = assemble(session, &state, &read, &new, remembered, &mut known).await?;

    plant::panic_at("turn.planned");
    let mut completion = state.model.generate(&prompt, &state.tools, pieces).await?;
    make_ids_unique(&mut completion.tool_calls);

    let mut remembered = session.remembered().clone();
    remembered.observe(&planner, completion.usage.map(|usage| usage.prompt_tokens));
    *session.planned() = Some(Planned {
        known: planner.into_known(),
        version: read.version.clone(),
    });
    let mut writes = turn_writes(session, &new, &completion, read.slot.as_ref());
    let cache = remembered.offer(&read).await;
    writes.extend(cache.map(|cache| Write::PutCompressionCache {
        id: session.id().clone(),
        cache,
    }));
    Ok(Answered {
        state,
        writes,
        remembered,
        completion,
        _turnstile: turnstile,
    })
}

/// What the turn before found out of the history, as far as it still holds.
fn known_before(session: &Session, read: &TurnRead) -> Option<Known> {
    let Planned { mut known, version } = session.planned().take()?;
    match (version, &read.version) {
        // Nothing was removed or altered: it only grew.
        (Some(before), Some(now)) if before == *now => {}
        (None, None) => known.keep(usize::try_from(read.intact).unwrap_or(usize::MAX)),
        _ => return None,
    }
    Some(known)
}

/// The messages that the turn adds before the model's; `None` where the history that was read does not tell.
fn new_messages(input: &TurnInput, read: &TurnRead) -> Result<Option<Vec<Message>>> {
    let now = now_iso();
    let history = read.records.outline();
    let complete = read.base == 0;
    let text = match input {
        TurnInput::Text(text) => text,
        TurnInput::ToolResults(json) => {
            return tool_results::read_object(json, history, Some(&now)).map(Some);
        }
    };
    Ok(
        match tool_results::read_text(text, history, complete, Some(&now))? {
            Reading::Results(messages) => Some(messages),
            Reading::UserText => Some(vec![
                MessageBuilder::new(Role::User, text.clone())
                    .timestamp(now)
                    .build(),
            ]),
            Reading::NeedsOlder => None,
        },
    )
}

/// Plans the prompt, summarising older history as often as it takes.
async fn assemble(
    session: &Session,
    state: &TurnState,
    read: &TurnRead,
    new: &Arc<Vec<Message>>,
    mut remembered: Remembered,
    known: &mut Option<Known>,
) -> Result<(Planner, Prompt)> {
    let label = session.shared().meta().label.clone();
    let (system_prompt, slot) = (read.system_prompt.as_ref(), read.slot.as_ref());
    let fixed = match session.kind() {
        Kind::Standard => Fixed::session(system_prompt, &label, slot),
        Kind::Main => Fixed::main(system_prompt, slot),
    };
    let tools = budget::weigh_tools(&state.tools.json);
    let input = || Input {
        window_tokens: state.model.window_tokens(),
        adapter: state.model.identity(),
        tools,
        fixed: &fixed,
        history: read.records.outline(),
        base: read.base,
        new_tokens: new
            .iter()
            .map(|message| message.weight_with(budget::weigh))
            .fold(0, u32::saturating_add),
        new_count: u32::try_from(new.len()).unwrap_or(u32::MAX),
        answers_pending: new
            .first()
            .is_some_and(|message| message.role() == Role::Tool),
        compressor: if state.compressor.is_some() {
            Overhead::default()
        } else {
            compressor::OVERHEAD
        },
    };
    let prompt = |parts| Prompt {
        parts,
        records: read.records.clone(),
        new: new.clone(),
        fragments: read.records.lasts().then(|| session.fragments().clone()),
    };
    let mut planner = Planner::further(&input(), remembered.conversation(), known)?;
    loop {
        match planner.step() {
            Step::Weigh => {
                read.records.weigh().await?;
                planner = Planner::further(&input(), remembered.conversation(), known)?;
            }
            Step::Fold(parts) => {
                let summary = summarise(state, &prompt(parts)).await?;
                planner.finish(summary)?;
                // What is summarised stays so, even if the turn fails now.
                remembered.learn(&planner, read);
                session.remembered().clone_from(&remembered);
            }
            Step::Prompt(parts) => return Ok((planner, prompt(parts))),
        }
    }
}

/// One call of the compressor: the user's function, or the adapter with the built-in prompt.
async fn summarise(state: &TurnState, stretch: &Prompt) -> Result<Text> {
    plant::panic_at("turn.compress");
    if let Some(compressor) = &state.compressor {
        return compressor.compress(stretch).await;
    }
    let previous = match stretch.parts.first() {
        Some(Part::System(summary)) => Some(summary),
        _ => None,
    };
    let messages = stretch.messages().await?;
    let leaving = messages.from(usize::from(previous.is_some()));
    let request = compressor::request(previous, leaving, state.model.window_tokens());
    let prompt = Prompt {
        parts: vec![Part::New],
        records: stretch.records.clone(),
        new: Arc::new(request.into()),
        fragments: None,
    };
    let answer = state
        .model
        .generate(&prompt, &Tools::default(), None)
        .await?;
    let summary = compressor::without_thinking(&answer.content.unwrap_or_default());
    if summary.is_empty() {
        return Err(Error::InvalidArgument(
            "llm.complete(): expected a summary of the history, got an empty text".to_owned(),
        ));
    }
    Ok(summary)
}

/// The turn as it will be stored, in order.
fn turn_writes(
    session: &Session,
    new: &[Message],
    completion: &Completion,
    slot: Option<&Text>,
) -> Vec<Write> {
    let assistant = MessageBuilder::new(
        Role::Assistant,
        completion.content.clone().unwrap_or_default(),
    )
    .tool_calls(completion.tool_calls.clone())
    .reasoning_content(completion.reasoning_content.clone())
    .timestamp(now_iso())
    .build();
    let id = session.id();
    let records = new.iter().cloned().chain([assistant]);
    let mut writes: Vec<_> = records
        .map(|record| Write::AppendRecord {
            id: id.clone(),
            record,
        })
        .collect();
    if let (Kind::Standard, Some(content)) = (session.kind(), slot) {
        writes.push(Write::ClearInsightIf {
            id: id.clone(),
            content: content.clone(),
        });
    }
    writes
}

/// A model's call ids name its calls only if they are there and differ.
fn make_ids_unique(calls: &mut [ToolCall]) {
    let mut seen = std::collections::HashSet::new();
    for call in calls {
        if call.id.is_empty() || !seen.insert(call.id.clone()) {
            call.id = Text::from(format!("call_{}", uuid::Uuid::new_v4().simple()));
        }
    }
}
