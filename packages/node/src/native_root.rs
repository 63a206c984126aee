//! [`NativeRoot`]: a directory of sessions.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use everturn_bindings::{ErrorCode, OpenMode, RequestError, RootBinding};
use napi::bindgen_prelude::Result;
use napi_derive::napi;

use crate::blocking::blocking;
use crate::errors::raise;
use crate::native_files::NativeFiles;
use crate::native_session::NativeSession;
use crate::native_thread::NativeThread;

/// A root; `Root` is its interface.
#[napi]
pub struct NativeRoot {
    root: Arc<RootBinding>,
}

/// Opens a root. `wait` is how many seconds a write waits for another process.
#[napi]
pub async fn open_root(path: String, mode: String, wait: f64) -> Result<NativeRoot> {
    let mode = match mode.as_str() {
        "open" => OpenMode::Open,
        "create" => OpenMode::Create,
        "read_only" => OpenMode::ReadOnly,
        other => {
            let what = format!("there is no mode {other:?}");
            let error = RequestError::new(ErrorCode::BadRequest, what);
            return Err(raise(&error.hint("modes: create, open, read_only")));
        }
    };
    let bad =
        |_| raise(&RequestError::new(ErrorCode::BadRequest, "wait must be a number of seconds"));
    let wait = Duration::try_from_secs_f64(wait).map_err(bad)?;
    let root = blocking(move || RootBinding::open(Path::new(&path), mode)).await?;
    Ok(NativeRoot { root: Arc::new(root.waiting(wait)) })
}

#[napi]
impl NativeRoot {
    /// The directory.
    #[napi(getter)]
    pub fn path(&self) -> String {
        self.root.path().to_owned()
    }

    /// The sessions of every format.
    #[napi]
    pub async fn sessions(&self) -> Result<String> {
        let root = Arc::clone(&self.root);
        blocking(move || root.sessions()).await
    }

    /// Searches all sessions.
    #[napi]
    pub async fn search(&self, query: String, limit: u32) -> Result<String> {
        let root = Arc::clone(&self.root);
        blocking(move || root.search(&query, limit as usize)).await
    }

    /// Opens a session.
    #[napi]
    pub async fn open_session(
        &self,
        name: String,
        format: Option<String>,
    ) -> Result<NativeSession> {
        let root = Arc::clone(&self.root);
        let session = blocking(move || root.open_session(&name, format.as_deref())).await?;
        Ok(NativeSession { session: Arc::new(session) })
    }

    /// Creates a session.
    #[napi]
    pub async fn create_session(
        &self,
        format: String,
        id: String,
        title: Option<String>,
        fields: String,
    ) -> Result<NativeSession> {
        let root = Arc::clone(&self.root);
        let create = move || root.create_session(&format, &id, title.as_deref(), &fields);
        Ok(NativeSession { session: Arc::new(blocking(create).await?) })
    }

    /// Moves a session to the trash.
    #[napi]
    pub async fn trash(&self, name: String) -> Result<String> {
        let root = Arc::clone(&self.root);
        blocking(move || root.trash(&name)).await
    }

    /// Restores a session from the trash.
    #[napi]
    pub async fn restore(&self, name: String) -> Result<String> {
        let root = Arc::clone(&self.root);
        blocking(move || root.restore(&name)).await
    }

    /// A thread of an agent framework. Nothing is read yet.
    #[napi]
    pub async fn thread(&self, key: String) -> Result<NativeThread> {
        let root = Arc::clone(&self.root);
        Ok(NativeThread { thread: blocking(move || root.thread(&key)).await? })
    }

    /// The keys of all threads.
    #[napi]
    pub async fn thread_keys(&self) -> Result<Vec<String>> {
        let root = Arc::clone(&self.root);
        blocking(move || root.thread_keys()).await
    }

    /// Atomic commits of plain files below a directory.
    #[napi]
    pub async fn files(&self, dir: String) -> Result<NativeFiles> {
        let root = Arc::clone(&self.root);
        Ok(NativeFiles { files: blocking(move || root.files(&dir)).await? })
    }

    /// Closes the root.
    #[napi]
    pub async fn close(&self) -> Result<()> {
        let root = Arc::clone(&self.root);
        blocking(move || root.close()).await
    }
}
