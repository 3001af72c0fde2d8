//! Strings crossing: UTF-16 in both directions, because V8 converts UTF-8 several times slower.

#![expect(
    unsafe_code,
    reason = "napi has no safe way to read many strings into one buffer or to make a latin1 string"
)]

use std::ptr;

use napi::{
    JsValue, Result,
    bindgen_prelude::{
        Array, FromNapiValue, ToNapiValue, TypeName, Utf16String, ValidateNapiValue, ValueType,
    },
    check_status, sys,
};

use crate::text::Text;

/// JSON (or other) text on its way to JavaScript, in the form that V8 takes fastest. Made off the JavaScript thread.
pub enum ToJs {
    Null,
    Ascii(String),
    Wide(Vec<u16>),
}

impl From<String> for ToJs {
    fn from(text: String) -> Self {
        if text.is_ascii() {
            Self::Ascii(text)
        } else {
            Self::Wide(text.encode_utf16().collect())
        }
    }
}

impl From<&str> for ToJs {
    fn from(text: &str) -> Self {
        Self::from(text.to_owned())
    }
}

impl ToNapiValue for ToJs {
    unsafe fn to_napi_value(env: sys::napi_env, value: Self) -> Result<sys::napi_value> {
        let mut made = ptr::null_mut();
        // SAFETY: `env` is the caller's live environment; pointer and length describe memory that outlives the
        // call, which copies it. Every ASCII text is valid latin1.
        let status = unsafe {
            match &value {
                Self::Null => sys::napi_get_null(env, &raw mut made),
                Self::Ascii(text) => {
                    let length = isize::try_from(text.len()).unwrap_or(isize::MAX);
                    sys::napi_create_string_latin1(env, text.as_ptr().cast(), length, &raw mut made)
                }
                Self::Wide(units) => {
                    let length = isize::try_from(units.len()).unwrap_or(isize::MAX);
                    sys::napi_create_string_utf16(env, units.as_ptr(), length, &raw mut made)
                }
            }
        };
        check_status!(status, "a string could not be made")?;
        Ok(made)
    }
}

/// Text from JavaScript, not yet decoded.
pub struct FromJs(Vec<u16>);

impl FromJs {
    pub(super) fn to_text(&self) -> Text {
        Text::from_utf16(&self.0)
    }

    /// For JSON text, which never holds half a surrogate pair: `JSON.stringify` escapes it.
    pub(super) fn into_json(self) -> String {
        String::from_utf16_lossy(&self.0)
    }
}

impl TypeName for FromJs {
    fn type_name() -> &'static str {
        "String"
    }

    fn value_type() -> ValueType {
        ValueType::String
    }
}

impl ValidateNapiValue for FromJs {}

impl FromNapiValue for FromJs {
    unsafe fn from_napi_value(env: sys::napi_env, value: sys::napi_value) -> Result<Self> {
        // SAFETY: the caller guarantees `env` and `value`.
        let text = unsafe { Utf16String::from_napi_value(env, value) }?;
        Ok(Self(text.to_vec()))
    }
}

/// Many strings in one buffer: one allocation and no conversion on the JavaScript thread.
pub(super) struct Arena {
    units: Vec<u16>,
    ends: Vec<usize>,
}

impl Arena {
    /// `units` is how long the strings are, all together.
    pub(super) fn read(strings: &Array<'_>, units: usize) -> Result<Self> {
        let raw = strings.value();
        let mut arena = Self {
            // One more for the NUL that napi writes behind each text, and the next one over it; and one that nothing
            // fills unless the texts are longer than was said.
            units: Vec::with_capacity(units + 2),
            ends: Vec::with_capacity(strings.len() as usize),
        };
        for index in 0..strings.len() {
            let mut element = ptr::null_mut();
            let mut written = 0;
            let start = arena.units.len();
            let room = arena.units.spare_capacity_mut();
            // SAFETY: `raw` is a live array of this environment; `room` is memory of the arena, of the length that is said.
            unsafe {
                check_status!(sys::napi_get_element(
                    raw.env,
                    raw.value,
                    index,
                    &raw mut element
                ))?;
                check_status!(sys::napi_get_value_string_utf16(
                    raw.env,
                    element,
                    room.as_mut_ptr().cast(),
                    room.len(),
                    &raw mut written
                ))?;
            }
            // SAFETY: so many units were written, behind the others and before the NUL.
            unsafe { arena.units.set_len(start + written) };
            arena.ends.push(start + written);
        }
        if arena.units.len() == units {
            Ok(arena)
        } else {
            Err(napi::Error::from_reason(
                "the texts are longer or shorter than was said",
            ))
        }
    }

    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn get(&self, index: usize) -> &[u16] {
        let start = index
            .checked_sub(1)
            .and_then(|before| self.ends.get(before))
            .copied()
            .unwrap_or(0);
        let end = self.ends.get(index).copied().unwrap_or(start);
        self.units.get(start..end).unwrap_or_default()
    }
}
