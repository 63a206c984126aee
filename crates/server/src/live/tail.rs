//! What follows a cursor in a session.

use everturn::format::SessionReader;
use everturn::model::Entry;
use everturn::scan::SecretRules;
use everturn_export::mask_json;
use everturn_requests::{change_view, entry_view};
use serde_json::json;
use serde_json::value::RawValue;

use crate::library::{Library, LocatedSession};
use crate::problem::Problem;
use crate::session_key::short_hash;

/// How many bytes of text are read at a time for one stream.
const PAGE_BYTES: usize = 256 << 10;

/// The last entry that a client has.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct TailCursor {
    seq: u64,
    turn: u64,
    /// Identifies the entry, to notice that the session was rewound or rewritten.
    mark: String,
}

impl TailCursor {
    /// Before the first entry.
    pub(crate) fn start() -> TailCursor {
        TailCursor::default()
    }

    fn of(entry: &Entry) -> TailCursor {
        let mark = format!("{}\n{}\n{}", entry.id, entry.speaker, entry.text);
        TailCursor { seq: entry.seq, turn: entry.turn, mark: short_hash(mark.as_bytes()) }
    }

    /// The ID of an event.
    pub(crate) fn render(&self) -> String {
        match self.seq {
            0 => "0".to_owned(),
            seq => format!("{seq}-{}-{}", self.turn, self.mark),
        }
    }

    pub(crate) fn parse(text: &str) -> Option<TailCursor> {
        if text == "0" {
            return Some(TailCursor::start());
        }
        let mut parts = text.split('-');
        let (seq, turn) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        let mark = parts.next()?.to_owned();
        let is_whole = parts.next().is_none() && mark.len() == 16 && seq > 0;
        is_whole.then_some(TailCursor { seq, turn, mark })
    }
}

/// An event of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LiveEvent {
    pub(crate) id: Option<String>,
    pub(crate) name: &'static str,
    pub(crate) data: String,
}

impl LiveEvent {
    /// The event as text. JSON has no line breaks.
    pub(crate) fn to_text(&self) -> String {
        let id = self.id.as_ref().map(|id| format!("id: {id}\n")).unwrap_or_default();
        format!("{id}event: {}\ndata: {}\n\n", self.name, self.data)
    }
}

/// A part of a session after a cursor.
pub(crate) struct TailPage {
    pub(crate) events: Vec<LiveEvent>,
    pub(crate) cursor: TailCursor,
    /// Whether there is more already.
    pub(crate) more: bool,
}

/// Masks the secrets in JSON.
pub(super) fn masked(json: String) -> String {
    mask_json(json, SecretRules::standard())
}

/// The cursor at the end of a session.
pub(crate) fn end_of(library: &Library, found: &LocatedSession) -> Result<TailCursor, Problem> {
    let reader = library.reader(found, None)?;
    last_entry(&*reader)
}

fn last_entry(reader: &dyn SessionReader) -> Result<TailCursor, Problem> {
    let turns = reader.turns()?;
    let from = if reader.repeats_turns() { 0 } else { *turns.end() };
    let mut cursor = TailCursor::start();
    let mut entries = reader.entries(from..=u64::MAX)?;
    while let Some(entry) = entries.next().transpose()? {
        cursor = TailCursor::of(&entry);
    }
    Ok(cursor)
}

/// The entries of one turn that are new, as an event. Its changes come with its first entry.
fn turn_event(
    reader: &dyn SessionReader,
    entries: Vec<Entry>,
    is_whole: bool,
) -> Result<LiveEvent, Problem> {
    let cursor = entries.last().map(TailCursor::of).unwrap_or_default();
    let turn = cursor.turn;
    let mut changes: Vec<Box<RawValue>> = Vec::new();
    if is_whole && !reader.repeats_turns() {
        let mut stream = reader.changes(turn..=turn)?;
        while let Some(change) = stream.next().transpose()? {
            changes.push(change_view(&change)?);
        }
    }
    let entries: Result<Vec<_>, _> =
        entries.into_iter().map(|entry| entry_view(entry, false)).collect();
    #[derive(serde::Serialize)]
    struct TurnData {
        turn: u64,
        entries: Vec<everturn_requests::EntryView>,
        changes: Vec<Box<RawValue>>,
    }
    let data = serde_json::to_string(&TurnData { turn, entries: entries?, changes });
    let data = data.map_err(|error| Problem::internal(error.to_string()))?;
    Ok(LiveEvent { id: Some(cursor.render()), name: "turn", data: masked(data) })
}

/// Reads what follows a cursor. If the session was rewound or rewritten, the client has to load it again.
pub(crate) fn read_after(
    library: &Library,
    found: &LocatedSession,
    cursor: &TailCursor,
) -> Result<TailPage, Problem> {
    let reader = library.reader(found, None)?;
    let from = if reader.repeats_turns() { 0 } else { cursor.turn };
    let mut entries = reader.entries(from..=u64::MAX)?;
    let mut is_known = cursor.seq == 0;
    let mut new: Vec<Entry> = Vec::new();
    let (mut bytes, mut more) = (0, false);
    let mut continued = None;
    while let Some(entry) = entries.next().transpose()? {
        if entry.seq < cursor.seq {
            continue;
        }
        if entry.seq == cursor.seq {
            is_known = TailCursor::of(&entry) == *cursor;
            continued = Some(entry.turn);
            if !is_known {
                break;
            }
            continue;
        }
        if bytes >= PAGE_BYTES && new.last().is_some_and(|last| last.turn != entry.turn) {
            more = true;
            break;
        }
        bytes += entry.text.len() + 256;
        new.push(entry);
    }
    drop(entries);
    if !is_known {
        let end = last_entry(&*reader)?;
        let data =
            json!({"turn": end.turn, "reason": "the session was rewound or rewritten"}).to_string();
        let reset = LiveEvent { id: Some(end.render()), name: "reset", data };
        return Ok(TailPage { events: vec![reset], cursor: end, more: false });
    }
    let mut page = TailPage { events: Vec::new(), cursor: cursor.clone(), more };
    let mut rest = new.into_iter().peekable();
    while let Some(first) = rest.next() {
        let turn = first.turn;
        let mut of_turn = vec![first];
        while let Some(next) = rest.next_if(|entry| entry.turn == turn) {
            of_turn.push(next);
        }
        page.cursor = of_turn.last().map(TailCursor::of).unwrap_or_default();
        page.events.push(turn_event(&*reader, of_turn, continued != Some(turn))?);
    }
    Ok(page)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_read_as_it_is_written() {
        let cursor = TailCursor { seq: 12, turn: 7, mark: short_hash(b"x") };
        assert_eq!(TailCursor::parse(&cursor.render()), Some(cursor));
        assert_eq!(TailCursor::parse("0"), Some(TailCursor::start()));
        for wrong in [
            "",
            "1",
            "1-2",
            "1-2-3",
            "x-2-0123456789abcdef",
            "1-2-0123456789abcdef-4",
            "0-0-0123456789abcdef",
        ] {
            assert_eq!(TailCursor::parse(wrong), None, "{wrong}");
        }
    }
}
