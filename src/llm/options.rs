//! The options of the adapters, as JavaScript gives them.

use std::{fmt, time::Duration};

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{
    http::{Limits, Secret},
    wire,
};
use crate::{
    error::{Error, Result},
    text::{Json, Text, excerpt},
};

/// Environment variables: what counts is JavaScript's `process.env`.
#[derive(Clone, Copy)]
pub struct Env<'a>(pub &'a dyn Fn(&str) -> Option<String>);

impl Env<'_> {
    /// A variable that is set to something.
    pub(super) fn get(self, name: &str) -> Option<String> {
        (self.0)(name)
            .map(|value| value.trim().to_owned())
            .filter(|value| !value.is_empty())
    }
}

/// What all four factories share; each takes what it knows. Prints its model only: URL and headers may
/// hold keys.
#[derive(Clone)]
pub struct Options {
    pub model: Option<Text>,
    /// `Some` of an empty key: no authentication.
    pub api_key: Option<Secret>,
    pub base_url: Option<String>,
    pub max_context_tokens: Option<u64>,
    pub max_output_tokens: Option<u64>,
    pub temperature: Option<f64>,
    pub headers: Vec<(String, String)>,
    /// In its order; `None` removes a field.
    pub extra_body: Vec<(Text, Option<Json>)>,
    pub echo_reasoning: bool,
    pub prompt_cache: Option<bool>,
    pub limits: Limits,
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("model", &self.model)
            .finish_non_exhaustive()
    }
}

impl Options {
    /// Reads an options object.
    ///
    /// `undefined` is not JSON: keys of `extraBody` that have it are listed in `extraBodyWithout`. A wrong value is an
    /// `InvalidArgument` that names the option, and never shows a key.
    pub fn parse(json: &str) -> Result<Self> {
        let fields: Fields<'_> = serde_json::from_str(json)
            .map_err(|_| Error::InvalidArgument("options: expected an object".to_owned()))?;
        let limits = Limits::default();
        let headers = headers(fields.headers)?;
        let mut extra_body: Vec<_> = object(fields.extra_body)
            .ok_or_else(|| wrong("extraBody", "an object", fields.extra_body))?
            .into_iter()
            .map(|(key, value)| (key, Some(Json::from_trusted(value.get()))))
            .collect();
        extra_body.extend(fields.extra_body_without.into_iter().map(|key| (key, None)));
        Ok(Self {
            model: text("model", fields.model)?,
            api_key: fields
                .api_key
                .map(|raw| {
                    Text::from_json(raw.get())
                        .map(|key| Secret::new(&key.to_plain()))
                        .ok_or_else(|| {
                            Error::InvalidArgument("apiKey: expected a string".to_owned())
                        })
                })
                .transpose()?,
            base_url: text("baseURL", fields.base_url)?.map(|url| url.to_plain()),
            max_context_tokens: count("maxContextTokens", fields.max_context_tokens, 1)?,
            max_output_tokens: count("maxOutputTokens", fields.max_output_tokens, 1)?,
            temperature: fields
                .temperature
                .map(|raw| {
                    wire::number(Some(raw))
                        .filter(|number| *number >= 0.0)
                        .ok_or_else(|| wrong("temperature", "a number from 0", Some(raw)))
                })
                .transpose()?,
            headers,
            extra_body,
            echo_reasoning: flag("echoReasoning", fields.echo_reasoning)?.unwrap_or(false),
            prompt_cache: flag("promptCache", fields.prompt_cache)?,
            limits: Limits {
                max_retries: count("maxRetries", fields.max_retries, 0)?
                    .map_or(limits.max_retries, |most| {
                        u32::try_from(most).unwrap_or(u32::MAX)
                    }),
                timeout: duration("timeoutMs", fields.timeout_ms)?.unwrap_or(limits.timeout),
                idle_timeout: duration("idleTimeoutMs", fields.idle_timeout_ms)?
                    .unwrap_or(limits.idle_timeout),
            },
        })
    }

    pub(super) fn model(&self) -> Result<Text> {
        self.model
            .clone()
            .filter(|model| !model.is_empty())
            .ok_or_else(|| missing("model"))
    }

    pub(super) fn window(&self) -> Result<u64> {
        self.max_context_tokens
            .ok_or_else(|| missing("maxContextTokens"))
    }

    pub(super) fn base_url(&self) -> Result<String> {
        self.base_url
            .clone()
            .filter(|url| !url.trim().is_empty())
            .ok_or_else(|| missing("baseURL"))
    }

    pub(super) fn api_key(&self, env: Env<'_>, variable: &str) -> Result<Secret> {
        self.api_key
            .clone()
            .or_else(|| env.get(variable).map(|key| Secret::new(&key)))
            .ok_or_else(|| {
                Error::InvalidArgument(format!(
                    "apiKey: missing; give it, set {variable}, or give '' for no authentication"
                ))
            })
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Fields<'a> {
    #[serde(borrow)]
    model: wire::Loose<'a>,
    #[serde(borrow)]
    api_key: wire::Loose<'a>,
    #[serde(borrow, rename = "baseURL")]
    base_url: wire::Loose<'a>,
    #[serde(borrow)]
    max_context_tokens: wire::Loose<'a>,
    #[serde(borrow)]
    max_output_tokens: wire::Loose<'a>,
    #[serde(borrow)]
    temperature: wire::Loose<'a>,
    #[serde(borrow)]
    headers: wire::Loose<'a>,
    #[serde(borrow)]
    extra_body: wire::Loose<'a>,
    #[serde(default)]
    extra_body_without: Vec<Text>,
    #[serde(borrow)]
    echo_reasoning: wire::Loose<'a>,
    #[serde(borrow)]
    prompt_cache: wire::Loose<'a>,
    #[serde(borrow)]
    max_retries: wire::Loose<'a>,
    #[serde(borrow)]
    timeout_ms: wire::Loose<'a>,
    #[serde(borrow)]
    idle_timeout_ms: wire::Loose<'a>,
}

fn missing(name: &str) -> Error {
    Error::InvalidArgument(format!("{name}: missing"))
}

fn wrong(name: &str, expected: &str, got: wire::Loose<'_>) -> Error {
    let got = got.map_or_else(|| "nothing".to_owned(), |raw| excerpt(raw.get()));
    Error::InvalidArgument(format!("{name}: expected {expected}, got {got}"))
}

fn text(name: &str, field: wire::Loose<'_>) -> Result<Option<Text>> {
    field
        .map(|raw| wire::text(field).ok_or_else(|| wrong(name, "a string", Some(raw))))
        .transpose()
}

fn flag(name: &str, field: wire::Loose<'_>) -> Result<Option<bool>> {
    field
        .map(|raw| match raw.get() {
            "true" => Ok(true),
            "false" => Ok(false),
            _ => Err(wrong(name, "true or false", Some(raw))),
        })
        .transpose()
}

fn count(name: &str, field: wire::Loose<'_>, least: u64) -> Result<Option<u64>> {
    let Some(raw) = field else {
        return Ok(None);
    };
    let number = wire::number(field)
        .filter(|number| number.fract() == 0.0 && (0.0..=9_007_199_254_740_991.0).contains(number));
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a whole number in 0..2^53"
    )]
    let number = number.map(|number| number as u64);
    number
        .filter(|number| *number >= least)
        .map(Some)
        .ok_or_else(|| {
            let expected = if least == 0 {
                "a non-negative integer"
            } else {
                "a positive integer"
            };
            wrong(name, expected, Some(raw))
        })
}

fn duration(name: &str, field: wire::Loose<'_>) -> Result<Option<Duration>> {
    field
        .map(|raw| {
            wire::number(field)
                .filter(|ms| *ms > 0.0)
                .and_then(|ms| Duration::try_from_secs_f64(ms / 1_000.0).ok())
                .ok_or_else(|| wrong(name, "a positive number of milliseconds", Some(raw)))
        })
        .transpose()
}

fn headers(field: wire::Loose<'_>) -> Result<Vec<(String, String)>> {
    // The value is not shown: it may be a key.
    let refused = |name: &str| Error::InvalidArgument(format!("headers{name}: expected a string"));
    object(field)
        .ok_or_else(|| Error::InvalidArgument("headers: expected an object".to_owned()))?
        .into_iter()
        .map(|(name, value)| {
            let name = name.to_plain();
            let value =
                Text::from_json(value.get()).ok_or_else(|| refused(&format!("[{name:?}]")))?;
            Ok((name, value.to_plain()))
        })
        .collect()
}

/// The fields of an object in their order; none where it is missing, `None` where it is something else.
fn object(field: wire::Loose<'_>) -> Option<Vec<(Text, Box<RawValue>)>> {
    let Some(raw) = field else {
        return Some(Vec::new());
    };
    serde_json::from_str::<Entries>(raw.get())
        .ok()
        .map(|entries| entries.0)
}

struct Entries(Vec<(Text, Box<RawValue>)>);

impl<'de> Deserialize<'de> for Entries {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;

        impl<'de> serde::de::Visitor<'de> for Visitor {
            type Value = Entries;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(
                self,
                mut map: A,
            ) -> Result<Entries, A::Error> {
                let mut entries = Vec::new();
                while let Some(key) = map.next_key::<String>()? {
                    entries.push((Text::from(key), map.next_value()?));
                }
                Ok(Entries(entries))
            }
        }

        deserializer.deserialize_map(Visitor)
    }
}

#[cfg(test)]
mod tests;
