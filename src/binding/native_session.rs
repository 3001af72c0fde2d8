//! Sessions as JavaScript holds them.

use std::sync::{Arc, OnceLock};

use napi_derive::napi;

use super::{js_records::Mirror, js_store::json, shown::Shown, text::ToJs};
use crate::{
    meta::Status,
    session::{Session, Shared},
};

/// A handle on one session; empty until the operation that creates or loads it has succeeded.
#[napi]
#[derive(Default)]
pub struct SessionHandle {
    pub(super) cell: Arc<OnceLock<Session>>,
    pub(super) mirror: Arc<Mirror>,
    pub(super) shown: Arc<Shown>,
}

#[napi]
impl SessionHandle {
    #[napi(constructor, catch_unwind)]
    pub fn new() -> Self {
        Self::default()
    }

    /// `SessionMeta` as JSON.
    #[napi(catch_unwind, ts_return_type = "string")]
    pub fn meta(&self) -> napi::Result<ToJs> {
        Ok(json(&*self.shared()?.meta()).into())
    }

    /// Changes whenever `meta` does.
    #[napi(catch_unwind)]
    pub fn version(&self) -> napi::Result<u32> {
        Ok(self.shared()?.version())
    }

    #[napi(catch_unwind)]
    pub fn archived(&self) -> napi::Result<bool> {
        Ok(self.shared()?.meta().status == Status::Archived)
    }

    /// The same number for all handles on this session of this storage object.
    #[napi(catch_unwind)]
    pub fn key(&self) -> napi::Result<f64> {
        #[expect(
            clippy::cast_precision_loss,
            reason = "addresses of user space have 48 bits"
        )]
        Ok(Arc::as_ptr(self.shared()?) as usize as f64)
    }
}

impl SessionHandle {
    fn session(&self) -> napi::Result<&Session> {
        self.cell
            .get()
            .ok_or_else(|| napi::Error::from_reason("the session is not there yet"))
    }

    pub(super) fn shared(&self) -> napi::Result<&Arc<Shared>> {
        self.session().map(Session::shared)
    }
}
