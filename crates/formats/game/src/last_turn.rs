//! The last turn of a session, according to its log.
//!
//! Everturn writes the metadata with every turn. Other programs may write them less often, so turns at the end of the
//! log that the metadata do not know yet count, too.

use std::sync::Arc;

use super::error::GameError;
use super::files::GameFiles;
use super::log::{LogItem, RecordLog};
use super::meta::GameMeta;
use super::paths::{LogFile, LogKind};
use super::session::Session;
use super::survey::id_parts;
use super::turn::TurnRecord;
use everturn_json::jsonl::{JsonlScan, ScanItem};
use everturn_json::names::FilePath;
use everturn_store::{Store, StoreError, StoreSource};
use everturn_value::tree::TextSlice;

/// Returns the last turn of the logs if it comes after `noted`, the one in the metadata; otherwise that one.
pub(crate) fn last_turn(session: &Session, noted: u64) -> Result<u64, GameError> {
    let is_last = |meta| is_last(&session.store, &session.dir, meta, noted);
    if session.meta.as_ref().map(is_last).transpose()?.unwrap_or(false) {
        return Ok(noted);
    }
    let mut found: Vec<(u64, bool)> = Vec::new();
    for path in session.files()?.covering(LogKind::Turns, noted + 1, u64::MAX - 1) {
        let wanted = noted + 1..u64::MAX;
        for piece in RecordLog::open(&session.store, &path, wanted, TurnRecord::parse)? {
            if let LogItem::Row(turn, _) = piece?
                && turn.turn > noted
            {
                let events = turn.events();
                let ids = events.iter().filter_map(|event| id_parts(&event.id));
                found.push((turn.turn, ids.map(|(of, _)| of).any(|of| of == turn.turn)));
            }
        }
    }
    // A damaged number must not move the end of the session: the number before, the one after, or the IDs of the
    // events have to agree with it.
    let mut last = noted;
    for (at, (turn, is_named)) in found.iter().enumerate() {
        let next = found.get(at + 1).map(|(next, _)| *next);
        let fits = *turn == last + 1 || *is_named || next == turn.checked_add(1);
        if *turn > last && fits {
            last = *turn;
        }
    }
    Ok(last)
}

/// The field of the metadata with the length of the current turn log file.
pub(crate) const LOG_BYTES: [&str; 2] = ["files", "currentTurnsBytes"];

/// Returns whether the log ends with the turn that the metadata have, or before it, judged by the length of the current
/// file if the metadata have it, otherwise by its last line.
pub(crate) fn is_last(
    store: &Arc<dyn Store>,
    dir: &FilePath,
    meta: &GameMeta,
    noted: u64,
) -> Result<bool, GameError> {
    let named = meta.text(&["files", "currentTurns"]);
    let named = named.and_then(|name| FilePath::parse(&format!("{}/{name}", dir.as_str())).ok());
    let named = named.filter(is_current);
    let stat = named.as_ref().map(|path| store.stat(path)).transpose()?.flatten();
    if stat.is_some_and(|stat| meta.number(&LOG_BYTES) == Some(stat.len)) {
        return Ok(true);
    }
    let path = match named {
        Some(path) if stat.is_some() => Some(path),
        _ => GameFiles::list(store, dir)?.turns.last().map(|(_, path)| path.clone()),
    };
    let Some(path) = path else { return Ok(true) };
    Ok(last_line(store, &path)?.is_none_or(|turn| turn.turn <= noted))
}

/// Returns whether a file has the name of one that is being written.
fn is_current(path: &FilePath) -> bool {
    let name = path.name().and_then(|name| LogFile::parse(LogKind::Turns, name.as_str()));
    name.is_some_and(|file| file.last.is_none())
}

/// Returns the last turn in a file, which is read from its end.
pub(crate) fn last_line(
    store: &Arc<dyn Store>,
    path: &FilePath,
) -> Result<Option<TurnRecord>, StoreError> {
    let scan = JsonlScan::new(StoreSource::open(store, path)?, path.clone());
    for item in scan.reverse().map_err(StoreError::io("read", path))? {
        let ScanItem::Record(record) = item.map_err(StoreError::io("read", path))? else {
            continue;
        };
        let turn =
            record.text().and_then(|text| TurnRecord::parse(&TextSlice::from_text(text)).ok());
        if turn.is_some() {
            return Ok(turn);
        }
    }
    Ok(None)
}
