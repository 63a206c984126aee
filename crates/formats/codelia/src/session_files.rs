//! The files of a session: its log, the origin of a branch, its old form, its runs, and its tool outputs.

use std::collections::BTreeSet;

use super::error::CodeliaError;
use super::home::CodeliaHome;
use super::message::{MessageRole, role};
use super::outputs::{ToolOutputs, reference};
use super::runs::RunLogs;
use everturn_json::names::{FilePath, SessionId};
use everturn_session::session_files::SessionFiles;

/// All files of a session. A run or an output that several sessions refer to belongs to each of them.
pub(super) fn session_files(
    home: &CodeliaHome,
    id: &SessionId,
) -> Result<SessionFiles, CodeliaError> {
    let files = &home.files;
    let scopes = files.of_session(id)?;
    let mut others: BTreeSet<FilePath> = BTreeSet::new();
    for run in RunLogs::new(home).list(Some(id.as_str()), usize::MAX)? {
        others.insert(run.path);
    }
    let outputs = ToolOutputs::in_home(std::sync::Arc::clone(&home.store));
    let has_log = home.store.stat(&files.log(id)?).is_ok_and(|stat| stat.is_some());
    let messages = if has_log { Some(home.messages(id)?) } else { None };
    for stored in messages.into_iter().flatten() {
        let message = stored?.message;
        if role(&message) == MessageRole::Tool {
            let own = message.string_at(&["output_ref", "id"]);
            let called = message.string_at(&["tool_call_id"]).map(|id| reference(&id));
            let named = own.into_iter().chain(called);
            others.extend(named.filter_map(|name| outputs.file(&name).ok()));
        }
    }
    let all: Vec<FilePath> = scopes.into_iter().chain(others).collect();
    Ok(SessionFiles { scopes: all.clone(), paths: all, names: vec![id.to_string()] })
}
