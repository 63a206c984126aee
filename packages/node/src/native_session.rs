//! [`NativeSession`]: a session of any format.

use std::sync::Arc;

use everturn_bindings::SessionBinding;
use napi::bindgen_prelude::Result;
use napi_derive::napi;

use crate::blocking::blocking;

/// A session; `Session` is its interface.
#[napi]
pub struct NativeSession {
    pub(crate) session: Arc<SessionBinding>,
}

#[napi]
impl NativeSession {
    /// Its ID.
    #[napi(getter)]
    pub fn id(&self) -> String {
        self.session.id().to_owned()
    }

    /// The name of its format.
    #[napi(getter)]
    pub fn format(&self) -> String {
        self.session.format().to_owned()
    }

    /// Serves a request of the protocol.
    #[napi]
    pub async fn request(&self, name: String, fields: String) -> Result<String> {
        let session = Arc::clone(&self.session);
        blocking(move || session.request(&name, &fields)).await
    }

    /// Releases the session.
    #[napi]
    pub async fn close(&self) -> Result<()> {
        let session = Arc::clone(&self.session);
        blocking(move || session.close()).await
    }
}
