//! Daily logs, and which of them have expired. The day in the name decides: file times change whenever files are copied
//! or restored.

use std::sync::Arc;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};

use super::error::LinggenError;
use super::paths::{LogName, LogSpelling, logs_dir};
use everturn_json::names::{FilePath, Name, SessionId};
use everturn_session::repair::{allocate_originals_for, original_path};
use everturn_store::{AppendAt, Durability, Step, Store, StoreError};

/// The default number of days that programs keep logs.
pub const LOG_DAYS: u16 = 7;

/// The daily logs of a home, oldest first. Other files are ignored.
pub fn logs(store: &Arc<dyn Store>) -> Result<Vec<(LogName, FilePath)>, LinggenError> {
    let dir = logs_dir();
    let listing = match store.list(&dir) {
        Err(StoreError::Missing { .. }) => return Ok(Vec::new()),
        listing => listing?,
    };
    let named = listing
        .entries
        .iter()
        .filter_map(|entry| Some((LogName::parse(entry.name.as_str())?, dir.join(&entry.name))));
    let mut logs: Vec<(LogName, FilePath)> = named.collect();
    logs.sort_by(|(a, a_file), (b, b_file)| (a.date, a_file).cmp(&(b.date, b_file)));
    Ok(logs)
}

/// Appends lines to the log of the day, which is created if necessary. Returns its path.
pub fn append_log(
    store: &Arc<dyn Store>,
    text: &str,
    now: Timestamp,
) -> Result<FilePath, LinggenError> {
    let date = now.to_zoned(TimeZone::UTC).date();
    let known = logs(store)?.into_iter().rfind(|(log, _)| log.date == date);
    let file = match known {
        Some((_, file)) => file,
        None => {
            let name = LogName { date, spelling: LogSpelling::Documented }.to_string();
            logs_dir().join(&Name::parse(&name)?)
        }
    };
    let mut lines = text.as_bytes().to_vec();
    if !lines.ends_with(b"\n") {
        lines.push(b'\n');
    }
    let writer = store.lock(std::slice::from_ref(&file))?;
    let step = Step::Append { file: file.clone(), at: AppendAt::End, lines };
    writer.commit(vec![step], Durability::Synced)?;
    writer.release()?;
    Ok(file)
}

/// Logs that are older than a number of days.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpiredLogs {
    /// The first day whose log is kept.
    pub since: Date,
    /// The expired files.
    pub files: Vec<FilePath>,
}

/// Plans the removal of logs older than `days`, today included; changes nothing.
pub fn plan_expired_logs(
    store: &Arc<dyn Store>,
    days: u16,
    now: Timestamp,
) -> Result<ExpiredLogs, LinggenError> {
    let today = now.to_zoned(TimeZone::UTC).date();
    let since = today.checked_sub(i64::from(days.max(1) - 1).days());
    let since = since.map_err(|error| LinggenError::input(error.to_string()))?;
    let old = logs(store)?.into_iter().filter(|(log, _)| log.date < since);
    Ok(ExpiredLogs { since, files: old.map(|(_, file)| file).collect() })
}

/// Moves the logs of a plan to the trash, in one commit. Returns their new paths.
pub fn remove_expired_logs(
    store: &Arc<dyn Store>,
    plan: &ExpiredLogs,
    now: Timestamp,
) -> Result<Option<FilePath>, LinggenError> {
    if plan.files.is_empty() {
        return Ok(None);
    }
    let trash = allocate_originals_for(store, &SessionId::parse("logs")?, "old", now)?;
    let scopes: Vec<FilePath> = plan.files.iter().chain([&trash]).cloned().collect();
    let writer = store.lock(&scopes)?;
    let away =
        |file: &FilePath| Step::Rename { from: file.clone(), to: original_path(&trash, file) };
    writer.commit(plan.files.iter().map(away).collect(), Durability::Synced)?;
    writer.release()?;
    Ok(Some(trash))
}
