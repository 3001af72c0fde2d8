//! Reading fields of JSON that is not ours: what has another type than expected counts as missing.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::text::Text;

/// A field whose type is not relied on.
pub(super) type Loose<'a> = Option<&'a RawValue>;

/// A string; anything else is `None`.
pub(super) fn text(field: Loose<'_>) -> Option<Text> {
    field.and_then(|raw| Text::from_json(raw.get()))
}

/// A string, or the text of a number: some servers number their ids.
pub(super) fn label(field: Loose<'_>) -> Option<Text> {
    let raw = field?.get();
    Text::from_json(raw).or_else(|| raw.parse::<f64>().ok().map(|_| Text::from(raw)))
}

/// Text as a string, or as a list of strings and of parts with a `text`.
pub(super) fn content(field: Loose<'_>) -> Option<Text> {
    #[derive(Deserialize)]
    struct Part<'a> {
        #[serde(borrow)]
        text: Loose<'a>,
    }
    let raw = field?.get();
    if !raw.starts_with('[') {
        return Text::from_json(raw);
    }
    let parts: Vec<&RawValue> = serde_json::from_str(raw).ok()?;
    let mut joined = crate::text::TextBuilder::default();
    let mut any = false;
    for part in parts {
        let part = Text::from_json(part.get())
            .or_else(|| text(serde_json::from_str::<Part<'_>>(part.get()).ok()?.text));
        if let Some(part) = part {
            joined.push(&part);
            any = true;
        }
    }
    any.then(|| joined.finish())
}

pub(super) fn number(field: Loose<'_>) -> Option<f64> {
    let number: f64 = field?.get().parse().ok()?;
    number.is_finite().then_some(number)
}

pub(super) fn index(field: Loose<'_>) -> Option<u32> {
    field?.get().parse().ok()
}

/// The arguments of a tool call: the JSON text in a string, or the object itself.
pub(super) fn arguments(field: Loose<'_>) -> Option<Text> {
    let raw = field?.get();
    Some(Text::from_json(raw).unwrap_or_else(|| Text::from(raw)))
}
