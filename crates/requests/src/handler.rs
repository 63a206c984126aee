//! [`SessionHandler`]: from a request to its answer.

use std::thread;
use std::time::{Duration, Instant};

use everturn::format::{SessionError, Transition};
use everturn::model::{AppendOutcome, ForkOptions, SessionRef};
use everturn::tree::JsonTree;
use everturn::{AnySession, AppendCondition, Error, ErrorKind, MarkKind, NewMark, OnceOutcome};

use crate::error::{ErrorCode, RequestError};
use crate::page::read_page;
use crate::request::{
    AppendRequest, DiffRequest, ForkRequest, MarkAddRequest, Request, RewindRequest, SceneRequest,
    StatePath, StateRequest, UndoRequest,
};
use crate::response::{
    AppendAnswer, AppendTiming, BranchesAnswer, DiffAnswer, ForkAnswer, InfoAnswer, MarkAnswer,
    MarkView, MarksAnswer, Response, RewindAnswer, SceneAnswer, SnapshotAnswer, StateAnswer,
    StatusAnswer, SyncAnswer, UndoAnswer,
};
use crate::views::{
    branch_view, change_view, deferred, outcome_warnings, raw, raw_object, warnings,
};

/// The version of the protocol.
const PROTOCOL: u64 = 1;

/// The first and the longest pause between two attempts to lock a session.
const PAUSES: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(16));

/// What requests may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Read only.
    Read,
    /// Read and write.
    Write,
}

/// Serves the requests of one open session.
///
/// The session is locked by the first request that writes, and stays locked until `sync`, `close`, or a request that
/// concerns the session as a whole. Without the lock, each request sees what other processes have stored.
///
/// A failed request changes nothing, and the next one is served. After `pause` and `complete` the session can be read
/// where it is then; requests that write fail with [`ErrorCode::WrongStatus`] until it is resumed.
#[derive(Debug)]
pub struct SessionHandler {
    session: Option<AnySession>,
    access: Access,
    wait: Duration,
}

impl SessionHandler {
    /// Serves a session for reading and writing.
    #[must_use]
    pub fn new(session: AnySession) -> SessionHandler {
        SessionHandler { session: Some(session), access: Access::Write, wait: Duration::ZERO }
    }

    /// Serves a session for reading.
    #[must_use]
    pub fn read_only(session: AnySession) -> SessionHandler {
        SessionHandler { access: Access::Read, ..SessionHandler::new(session) }
    }

    /// Waits for another process that is writing to the session, at most for this time.
    #[must_use]
    pub fn waiting(self, wait: Duration) -> SessionHandler {
        SessionHandler { wait, ..self }
    }

    /// Whether the conversation was closed.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.session.is_none()
    }

    /// Where the session is; `None` if the conversation was closed.
    #[must_use]
    pub fn place(&self) -> Option<&SessionRef> {
        self.session.as_ref().map(AnySession::session_ref)
    }

    /// Ends the conversation: writes pending derived data and releases the session.
    pub fn close(&mut self) -> Result<(), RequestError> {
        match self.session.take() {
            Some(session) => Ok(session.close()?),
            None => Ok(()),
        }
    }

    /// Serves a request.
    pub fn handle(&mut self, request: &Request) -> Result<Response, RequestError> {
        if let Request::Close(_) = request {
            return self.close_with_answer();
        }
        let (access, wait) = (self.access, self.wait);
        let closed = || RequestError::new(ErrorCode::Closed, "the conversation is closed");
        let session = self.session.as_mut().ok_or_else(closed)?;
        if request.is_write() && access == Access::Read {
            let what = format!("{} is not possible in a read-only conversation", request.name());
            return Err(RequestError::new(ErrorCode::ReadOnly, what));
        }
        session.refresh()?;
        match request {
            Request::Append(request) => append(session, wait, request),
            Request::Undo(request) => undo(session, wait, request),
            Request::Rewind(request) => rewind(session, wait, request),
            Request::Fork(request) => fork(session, wait, request),
            Request::SceneStart(request) => {
                scene(session, wait, request, AnySession::start_scene_json)
            }
            Request::SceneEnd(request) => scene(session, wait, request, AnySession::end_scene_json),
            Request::Snapshot(_) => snapshot(session, wait),
            Request::MarkAdd(request) => add_mark(session, wait, request),
            Request::MarkRemove(request) => {
                let removed = retry(wait, || session.remove_mark(&request.mark))?;
                Ok(Response::Mark(MarkAnswer { mark: removed.into() }))
            }
            Request::MarkList(_) => {
                let marks = session.marks()?.into_iter().map(MarkView::from).collect();
                Ok(Response::Marks(MarksAnswer { marks }))
            }
            Request::Pause(_) => transition(session, wait, Transition::Pause),
            Request::Resume(_) => transition(session, wait, Transition::Resume),
            Request::Complete(_) => transition(session, wait, Transition::Complete),
            Request::State(request) => state(session, request),
            Request::Diff(request) => diff(session, request),
            Request::Entries(request) => {
                Ok(Response::Entries(read_page(session.reader()?, request)?))
            }
            Request::Branches(_) => branches(session),
            Request::Sync(_) => sync(session, access),
            Request::Info(_) => info(session, access),
            // Handled above.
            Request::Close(_) => Err(closed()),
        }
    }

    fn close_with_answer(&mut self) -> Result<Response, RequestError> {
        let turn = self.session.as_ref().and_then(|session| Some(*session.turns().ok()?.end()));
        self.close()?;
        Ok(Response::Sync(SyncAnswer { turn }))
    }
}

/// Retries an operation while another process is busy, for a limited time.
fn retry<T>(
    wait: Duration,
    mut attempt: impl FnMut() -> Result<T, Error>,
) -> Result<T, RequestError> {
    let (start, mut pause) = (Instant::now(), PAUSES.0);
    loop {
        match attempt() {
            Err(error) if error.kind() == ErrorKind::Busy && start.elapsed() < wait => {
                thread::sleep(pause);
                pause = (pause * 2).min(PAUSES.1);
            }
            done => return Ok(done?),
        }
    }
}

/// Returns an error unless the last turn is the expected one.
fn require_last(
    session: &mut AnySession,
    wait: Duration,
    after: Option<u64>,
) -> Result<(), RequestError> {
    let Some(after) = after else { return Ok(()) };
    let last = retry(wait, || session.lock())?;
    if last == after {
        return Ok(());
    }
    let what = format!("the last turn is {last}, not {after}");
    Err(RequestError::new(ErrorCode::Conflict, what).at("after"))
}

fn append(
    session: &mut AnySession,
    wait: Duration,
    request: &AppendRequest,
) -> Result<Response, RequestError> {
    let condition = AppendCondition { key: request.key.as_deref(), after: request.after };
    // Waits before the keys are read. What else prevents the lock is reported below.
    retry(wait, || session.lock()).ok();
    let outcome = session.append_once_json(request.data.get(), condition);
    let (stored, outcome) = match outcome.map_err(|error| with_data(error.into()))? {
        OnceOutcome::Now(outcome) => (AppendTiming::Now, outcome),
        OnceOutcome::Before(outcome) => (AppendTiming::Before, outcome),
    };
    let warnings = outcome_warnings(&outcome);
    let AppendOutcome { turn, events, snapshot, .. } = outcome;
    Ok(Response::Append(AppendAnswer { turn, stored, events, snapshot, warnings }))
}

/// An error of a turn that the format refuses concerns the field `data`.
fn with_data(error: RequestError) -> RequestError {
    match error.code {
        ErrorCode::BadRequest => error.at("data"),
        _ => error,
    }
}

fn undo(
    session: &mut AnySession,
    wait: Duration,
    request: &UndoRequest,
) -> Result<Response, RequestError> {
    require_last(session, wait, request.after)?;
    let outcome = retry(wait, || session.undo(request.turns.unwrap_or(1)))?;
    let warnings = outcome_warnings(&outcome);
    Ok(Response::Undo(UndoAnswer { turn: outcome.turn, warnings }))
}

fn rewind(
    session: &mut AnySession,
    wait: Duration,
    request: &RewindRequest,
) -> Result<Response, RequestError> {
    require_last(session, wait, request.after)?;
    let outcome = retry(wait, || session.rewind(request.turn))?;
    let (turn, branch) = (outcome.turn, outcome.session.id);
    Ok(Response::Rewind(RewindAnswer { turn, branch, warnings: warnings(&outcome.findings) }))
}

fn fork(
    session: &mut AnySession,
    wait: Duration,
    request: &ForkRequest,
) -> Result<Response, RequestError> {
    let options = ForkOptions { id: request.session.clone(), turn: request.turn };
    let outcome = retry(wait, || session.fork_with(&options))?;
    Ok(Response::Fork(ForkAnswer {
        session: outcome.session.id,
        turn: outcome.turn,
        parent: session.id().to_owned(),
        path: outcome.session.path.to_string(),
        warnings: warnings(&outcome.findings),
    }))
}

fn scene(
    session: &mut AnySession,
    wait: Duration,
    request: &SceneRequest,
    change: fn(&mut AnySession, &str) -> Result<AppendOutcome, Error>,
) -> Result<Response, RequestError> {
    require_last(session, wait, request.after)?;
    let data = request.data.as_ref().map_or("{}", |data| data.get());
    let outcome = retry(wait, || change(session, data)).map_err(with_data)?;
    let warnings = outcome_warnings(&outcome);
    Ok(Response::Scene(SceneAnswer { turn: outcome.turn, scene: outcome.id, warnings }))
}

fn snapshot(session: &mut AnySession, wait: Duration) -> Result<Response, RequestError> {
    let outcome = retry(wait, || session.snapshot())?;
    let warnings = outcome_warnings(&outcome);
    let AppendOutcome { turn, id, .. } = outcome;
    Ok(Response::Snapshot(SnapshotAnswer { turn, snapshot: id, warnings }))
}

fn add_mark(
    session: &mut AnySession,
    wait: Duration,
    request: &MarkAddRequest,
) -> Result<Response, RequestError> {
    let mark = NewMark {
        kind: request.kind.as_deref().map_or(MarkKind::Bookmark, MarkKind::parse),
        name: request.name.clone(),
        description: request.description.clone().unwrap_or_default(),
        turn: request.turn,
        entry: request.entry.clone(),
    };
    let added = retry(wait, || session.add_mark(&mark))?;
    Ok(Response::Mark(MarkAnswer { mark: added.into() }))
}

fn transition(
    session: &mut AnySession,
    wait: Duration,
    to: Transition,
) -> Result<Response, RequestError> {
    let outcome = retry(wait, || session.transition(to))?;
    Ok(Response::Status(StatusAnswer {
        status: session.summary()?.status.to_string(),
        path: outcome.session.path.to_string(),
        warnings: outcome.deferred_error.as_deref().map(deferred).into_iter().collect(),
    }))
}

fn state(session: &AnySession, request: &StateRequest) -> Result<Response, RequestError> {
    let state = match request.turn {
        Some(turn) => session.state_at(turn)?,
        None => session.state()?,
    };
    let view = state.as_session_state();
    let value = match &request.path {
        None => raw_object(view.scopes.iter().map(|(name, tree)| (name.as_str(), tree)))?,
        Some(path) => {
            let keys: Vec<String> = match path {
                StatePath::Dotted(path) => path.split('.').map(str::to_owned).collect(),
                StatePath::Keys(keys) => keys.clone(),
            };
            let value =
                keys.split_first().and_then(|(scope, rest)| view.get(scope)?.value_at(rest));
            raw(&value.ok_or_else(|| no_value(view.scopes.as_slice(), &keys))?)?
        }
    };
    let warnings = warnings(&view.findings);
    Ok(Response::State(StateAnswer { turn: view.turn, state: value, warnings }))
}

fn no_value(scopes: &[(String, JsonTree)], keys: &[String]) -> RequestError {
    let path = keys.join(".");
    let error =
        RequestError::new(ErrorCode::NotFound, format!("the state has no value at {path:?}"))
            .at(path);
    match keys.first() {
        Some(scope) if scopes.iter().any(|(name, _)| name == scope) => error,
        _ => {
            let names: Vec<&str> = scopes.iter().map(|(name, _)| name.as_str()).collect();
            error.hint(format!("a path starts with a scope: {}", names.join(", ")))
        }
    }
}

fn diff(session: &AnySession, request: &DiffRequest) -> Result<Response, RequestError> {
    let before = session.state_at(request.from)?;
    let after = match request.to {
        Some(to) => session.state_at(to)?,
        None => session.state()?,
    };
    let (before, after) = (before.as_session_state(), after.as_session_state());
    if let Some(scope) = &request.scope
        && before.get(scope).is_none()
        && after.get(scope).is_none()
    {
        let what = format!("unknown scope {scope:?}");
        return Err(RequestError::new(ErrorCode::NotFound, what).at("scope"));
    }
    let changes = before.changes_to(after).map_err(|error| {
        RequestError::from(Error::from(SessionError::damaged(error.to_string())))
    })?;
    let is_wanted = |name: &str| request.scope.as_ref().is_none_or(|scope| scope == name);
    let changes = changes.iter().filter(|change| is_wanted(&change.scope)).map(change_view);
    let mut notes = warnings(&before.findings);
    notes.extend(warnings(&after.findings));
    Ok(Response::Diff(DiffAnswer {
        from: before.turn,
        to: after.turn,
        changes: changes.collect::<Result<_, _>>()?,
        warnings: notes,
    }))
}

fn branches(session: &AnySession) -> Result<Response, RequestError> {
    let branches = session.branches()?.into_iter().map(branch_view).collect();
    let (format, store) = (session.session_format(), session.root().store());
    let (forks, findings) = format.list_forks(store, session.id()).map_err(Error::from)?;
    let forks = forks.into_iter().map(|fork| fork.session.id).collect();
    Ok(Response::Branches(BranchesAnswer { branches, forks, warnings: warnings(&findings) }))
}

fn sync(session: &mut AnySession, access: Access) -> Result<Response, RequestError> {
    if access == Access::Write {
        session.sync()?;
    }
    Ok(Response::Sync(SyncAnswer { turn: Some(*session.turns()?.end()) }))
}

fn info(session: &AnySession, access: Access) -> Result<Response, RequestError> {
    let summary = session.summary()?;
    let capabilities = session.session_format().capabilities();
    Ok(Response::Info(InfoAnswer {
        protocol: PROTOCOL,
        session: session.id().to_owned(),
        format: session.format(),
        title: summary.title,
        status: summary.status.to_string(),
        path: session.session_ref().path.to_string(),
        created: summary.created.map(|time| time.to_string()),
        updated: summary.updated.map(|time| time.to_string()),
        turns: summary.turns,
        parent: summary.parent,
        writable: access == Access::Write && capabilities.editing.is_some(),
        locked: session.is_locked(),
        keys: capabilities.keys.is_some(),
        warnings: warnings(&summary.findings),
    }))
}
