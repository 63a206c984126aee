//! The files that hold the history of a Codex thread.
//!
//! A fork, and a revert, starts a new file whose first record names its base: a thread, and the place in it up to which
//! the history is shared. A file of a revert has the id of its thread, followed by an id of its own. [`ThreadHistory`]
//! finds the files of a thread and those that they continue, and reads them in the order in which they were written.

use std::collections::HashMap;
use std::sync::Arc;

use super::rollout::Rollout;
use super::tokens::CodexTokens;
use super::{ARCHIVED, Codex};
use crate::peek::{FileStart, SessionInfo};
use crate::survey::Surveyor;
use crate::walk;
use crate::{Match, ProgramFormat};
use everturn_json::finding::{Finding, FindingCode};
use everturn_json::names::FilePath;
use everturn_session::format::SessionError;
use everturn_session::model::SessionRef;
use everturn_store::Store;
use everturn_value::outline::{number_at, text_at};
use everturn_value::tree::JsonTree;

/// The number of bytes before the end of a base in which its last record is looked for.
const LAST_RECORD: u64 = 64 << 10;

/// The length of a UUID.
const ID: usize = 36;

/// The name of a rollout: `rollout-<time>-<thread>.jsonl`, after a revert `rollout-<time>-<thread>_<segment>.jsonl`.
pub(super) struct RolloutName {
    pub(super) thread: String,
    is_segment: bool,
}

fn is_id(text: &str) -> bool {
    text.len() == ID && text.get(8..9) == Some("-") && text.is_ascii()
}

impl RolloutName {
    pub(super) fn parse(file: &FilePath) -> Option<RolloutName> {
        let stem = crate::stem(file);
        let ids = stem.strip_prefix("rollout-")?;
        let (ids, is_segment) = match ids.rsplit_once('_') {
            Some((before, segment)) if is_id(segment) => (before, true),
            _ => (ids, false),
        };
        let thread = ids.get(ids.len().checked_sub(ID)?..).filter(|id| is_id(id))?;
        Some(RolloutName { thread: thread.to_owned(), is_segment })
    }
}

/// The name of a file without its directory, by which rollouts are ordered in time.
fn name_of(file: &FilePath) -> &str {
    file.as_str().rsplit('/').next().unwrap_or_default()
}

/// Keeps one ref for each thread that was reverted: that of its newest file.
pub(super) fn newest_segments(sessions: Vec<SessionRef>) -> Vec<SessionRef> {
    let mut newest: HashMap<String, FilePath> = HashMap::new();
    let is_segment = |session: &&SessionRef| {
        RolloutName::parse(&session.path).is_some_and(|name| name.is_segment)
    };
    for session in sessions.iter().filter(is_segment) {
        let known = newest.entry(session.id.clone()).or_insert_with(|| session.path.clone());
        if name_of(known) < name_of(&session.path) {
            *known = session.path.clone();
        }
    }
    let is_newest =
        |session: &SessionRef| newest.get(&session.id).is_none_or(|newest| *newest == session.path);
    sessions.into_iter().filter(is_newest).collect()
}

/// The place up to which a file shares the history of a thread.
struct HistoryBase {
    thread: String,
    end_ordinal: i64,
    end_offset: u64,
}

/// The base that the first record of a file names.
fn base_of(record: &JsonTree) -> Option<HistoryBase> {
    let base = record.value_at(&["payload", "history_base"])?;
    Some(HistoryBase {
        thread: text_at(&base, &["thread_id"])?,
        end_ordinal: number_at(&base, &["end_ordinal_exclusive"])?,
        end_offset: u64::try_from(number_at(&base, &["end_byte_offset"])?).ok()?,
    })
}

/// A file of a history.
struct HistoryFile {
    path: FilePath,
    /// Whether it belongs to another thread.
    is_inherited: bool,
    /// The number of bytes that count; all of them if it is a file of the thread itself.
    end: u64,
    /// The file that it continues, by its index, and the place there.
    base: Option<(usize, u64)>,
    /// The base that was not found.
    missing: Option<HistoryBase>,
}

/// The files of a thread, the newest first, then those that they continue.
pub(super) struct ThreadHistory {
    files: Vec<HistoryFile>,
}

/// What was learnt from a history.
pub(super) struct HistoryRead {
    pub(super) tip: Option<u32>,
    pub(super) info: SessionInfo,
}

/// All rollouts of a thread.
fn rollouts_of(store: &Arc<dyn Store>, thread: &str) -> Result<Vec<FilePath>, SessionError> {
    let is_own = |path: &FilePath| match RolloutName::parse(path) {
        Some(name) if name.thread == thread => Match::Yes,
        _ => Match::No,
    };
    let found = walk::find_files(store, Codex::DEPTH, &["sessions", ARCHIVED], |_| true, is_own)?;
    Ok(found.files.into_iter().map(|(path, _)| path).collect())
}

/// Whether the history before a base ends there in a file. Its last record has the ordinal before that of the base.
fn ends_at(
    store: &Arc<dyn Store>,
    file: &FilePath,
    base: &HistoryBase,
) -> Result<bool, SessionError> {
    let length = store.stat(file)?.map_or(0, |stat| stat.len);
    if length < base.end_offset || base.end_offset == 0 {
        return Ok(false);
    }
    let start = base.end_offset.saturating_sub(LAST_RECORD);
    let bytes = store.read(file, start..base.end_offset)?;
    let Some((b'\n', bytes)) = bytes.split_last() else { return Ok(false) };
    let line = bytes.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
    let is_whole = line.len() < bytes.len() || start == 0;
    let record = std::str::from_utf8(line).ok().and_then(|text| JsonTree::parse(text).ok());
    let ordinal = record.and_then(|record| number_at(&record, &["ordinal"]));
    Ok(!is_whole || ordinal.is_none_or(|ordinal| ordinal + 1 == base.end_ordinal))
}

impl ThreadHistory {
    /// Finds the files of a session. Only a session that was forked or reverted has more than one.
    pub(super) fn find(
        store: &Arc<dyn Store>,
        place: &SessionRef,
    ) -> Result<ThreadHistory, SessionError> {
        let mut own = vec![place.path.clone()];
        if let Some(name) = RolloutName::parse(&place.path).filter(|name| name.is_segment) {
            let mut others = rollouts_of(store, &name.thread)?;
            others.retain(|file| *file != place.path);
            others.sort_by(|one, other| name_of(other).cmp(name_of(one)));
            own.append(&mut others);
        }
        let file = |path: FilePath, is_inherited| HistoryFile {
            path,
            is_inherited,
            end: if is_inherited { 0 } else { u64::MAX },
            base: None,
            missing: None,
        };
        let mut files: Vec<HistoryFile> = own.into_iter().map(|path| file(path, false)).collect();
        let mut at = 0;
        while let Some(path) = files.get(at).map(|file| file.path.clone()) {
            let start = FileStart::read(store, &path)?;
            if let Some(base) = start.records.first().and_then(base_of) {
                let mut candidates = rollouts_of(store, &base.thread)?;
                candidates.retain(|candidate| *candidate != path);
                candidates.sort_by(|one, other| name_of(other).cmp(name_of(one)));
                let mut found = None;
                for candidate in candidates {
                    if found.is_none() && ends_at(store, &candidate, &base)? {
                        found = Some(candidate);
                    }
                }
                let known = found.map(|found| {
                    let known = files.iter().position(|file| file.path == found);
                    known.unwrap_or_else(|| {
                        files.push(file(found, true));
                        files.len() - 1
                    })
                });
                if let Some(before) = known.and_then(|known| files.get_mut(known)) {
                    before.end = before.end.max(base.end_offset);
                }
                if let Some(file) = files.get_mut(at) {
                    file.base = known.map(|known| (known, base.end_offset));
                    file.missing = known.is_none().then_some(base);
                }
            }
            at += 1;
        }
        Ok(ThreadHistory { files })
    }

    /// The order in which the files are read: each after the one that it continues. Bases that form a circle are read
    /// as they come.
    fn order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = Vec::new();
        for first in (0..self.files.len()).rev() {
            let mut chain = vec![first];
            while let Some((base, _)) =
                chain.last().and_then(|last| self.files.get(*last)).and_then(|file| file.base)
            {
                if chain.contains(&base) || order.contains(&base) {
                    break;
                }
                chain.push(base);
            }
            let new: Vec<usize> =
                chain.into_iter().rev().filter(|file| !order.contains(file)).collect();
            order.extend(new);
        }
        order
    }

    /// Reads all files. The first one is where the session continues.
    pub(super) fn read(
        &self,
        store: &Arc<dyn Store>,
        surveyor: &mut Surveyor,
        tokens: &mut CodexTokens,
    ) -> Result<HistoryRead, SessionError> {
        surveyor.survey.files = self.files.iter().map(|file| file.path.clone()).collect();
        // The records of each file: where they end, and their numbers.
        let mut ends: HashMap<usize, Vec<(u64, u32)>> = HashMap::new();
        let mut read = HistoryRead { tip: None, info: SessionInfo::default() };
        for at in self.order() {
            let Some(file) = self.files.get(at) else { continue };
            if let Some(base) = &file.missing {
                surveyor.survey.findings.push(missing_base(&file.path, base));
            }
            let before = file.base.and_then(|(base, end)| {
                let known = ends.get(&base)?;
                known.iter().rev().find(|(record_end, _)| *record_end <= end)
            });
            let noted = (!file.is_inherited).then(|| std::mem::take(tokens));
            let mut rollout = Rollout::after(before.map(|(_, number)| *number), noted);
            let mut own = Vec::new();
            surveyor.lines(store, u32::try_from(at).unwrap_or(u32::MAX), |surveyor, seen| {
                let end = seen.at.offset.saturating_add(seen.at.length);
                if end > file.end {
                    return;
                }
                let number = surveyor.next_number();
                rollout.keep(surveyor, seen);
                if let Some(node) = surveyor.node(number) {
                    node.is_part = file.is_inherited;
                }
                own.push((end, number));
            })?;
            if file.is_inherited {
                // What follows the shared part is not the business of this session.
                let is_shared = |found: &Finding| {
                    found.file != file.path || found.offset.is_some_and(|offset| offset < file.end)
                };
                surveyor.survey.findings.retain(is_shared);
            }
            ends.insert(at, own);
            if let Some(noted) = rollout.tokens.take() {
                *tokens = noted;
            }
            if at == 0 {
                read = HistoryRead { tip: rollout.tip, info: rollout.info };
            }
        }
        Ok(read)
    }
}

fn missing_base(file: &FilePath, base: &HistoryBase) -> Finding {
    let message = format!(
        "it continues the history of the session {} up to byte {}, which is not here",
        base.thread, base.end_offset
    );
    Finding::new(file, FindingCode::DanglingParent, message).at_line(1).at_offset(0)
}
