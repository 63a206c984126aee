//! [`SourceEntry`]: an entry to be converted, and [`EntryReader`], which reads it.

use super::tool_calls::ToolCall;
use everturn_session::model::carried::restore_entry;
use everturn_session::model::{Entry, EntryExtras, EntryKind, StateChange};
use everturn_value::delta::Delta;
use everturn_value::tree::{JsonTree, ValueKind as TreeKind};

/// One entry, with everything that belongs to it.
#[derive(Debug, Clone)]
pub(super) struct SourceEntry {
    /// The entry. Its turn is the one that it had in its original session.
    pub(super) entry: Entry,
    /// The turn that it has in the session it is read from.
    pub(super) at: u64,
    /// Whether it comes from another session, by an earlier conversion.
    pub(super) is_carried: bool,
    /// The format of its record.
    pub(super) from: String,
    /// Its record, unless an earlier entry has the same.
    pub(super) raw: Option<JsonTree>,
    /// The changes of its turn, with the first entry of each turn.
    pub(super) changes: Vec<StateChange>,
    /// What its record contains about the tool that it calls, or whose result it is.
    pub(super) call: ToolCall,
    /// Records that a program kept for itself before and after this entry, and that are carried with it.
    pub(super) before: Vec<SourceEntry>,
    pub(super) after: Vec<SourceEntry>,
}

impl SourceEntry {
    /// Whether a program kept it for itself. It is carried with a neighbour, and never becomes a message.
    pub(super) fn is_internal(&self) -> bool {
        self.entry.kind.is_bookkeeping() && self.changes.is_empty()
    }
}

/// An entry without content, as the basis of one that is carried as a whole.
pub(super) fn blank_entry(turn: u64) -> Entry {
    Entry {
        seq: 0,
        turn,
        id: String::new(),
        time: None,
        speaker: String::new(),
        kind: EntryKind::User,
        text: String::new(),
        extras: EntryExtras::default(),
        raw: JsonTree::null(),
    }
}

/// The entries that a carried entry has in one of its lists.
fn carried_internals(carried: Option<&JsonTree>, key: &str, turn: u64) -> Vec<(Entry, JsonTree)> {
    let list = carried.and_then(|carried| carried.value_at(&[key])).map(|list| list.children());
    let entry = |(_, one): (String, JsonTree)| (restore_entry(blank_entry(turn), &one), one);
    list.unwrap_or_default().into_iter().map(entry).collect()
}

/// Reads the entries of a session one by one. An earlier conversion may have carried them from another session.
pub(super) struct EntryReader {
    layout: &'static str,
    last: u64,
    /// The offset of the turn numbers in the original session.
    shift: i64,
    /// The last record that was kept.
    record: String,
}

impl EntryReader {
    pub(super) fn new(layout: &'static str) -> EntryReader {
        EntryReader { layout, last: 0, shift: 0, record: String::new() }
    }

    /// Reads an entry, with the records of a program that are carried before and after it.
    pub(super) fn read_with_internals(
        &mut self,
        entry: Entry,
        carried: Option<JsonTree>,
    ) -> Vec<SourceEntry> {
        let before = carried_internals(carried.as_ref(), "before", entry.turn);
        let after = carried_internals(carried.as_ref(), "after", entry.turn);
        let whole = |(entry, one): (Entry, JsonTree)| (entry, Some(one));
        let all = before.into_iter().map(whole).chain([(entry, carried)]);
        let all = all.chain(after.into_iter().map(whole));
        all.map(|(entry, carried)| self.read_entry(entry, carried)).collect()
    }

    pub(super) fn read_entry(
        &mut self,
        mut entry: Entry,
        carried: Option<JsonTree>,
    ) -> SourceEntry {
        let at = entry.turn;
        let signed = |turn: u64| i64::try_from(turn).unwrap_or(i64::MAX);
        let Some(carried) = carried else {
            // Entries that were added later continue the numbering of the original session.
            let turn = u64::try_from(signed(at).saturating_add(self.shift)).unwrap_or(0);
            let same_turn = turn == self.last && self.last > 0;
            entry.turn = turn.max(self.last);
            self.last = entry.turn;
            let raw = self.record(&entry.raw, same_turn);
            let (from, changes) = (self.layout.to_owned(), Vec::new());
            let call = ToolCall::of(&entry, &entry.raw);
            let (before, after) = (Vec::new(), Vec::new());
            return SourceEntry {
                entry,
                at,
                is_carried: false,
                from,
                raw,
                changes,
                call,
                before,
                after,
            };
        };
        let turn = carried.value_at(&["turn"]).and_then(|turn| turn.to_line().parse().ok());
        entry.turn = turn.unwrap_or(at);
        self.last = entry.turn;
        self.shift = signed(entry.turn).saturating_sub(signed(at));
        let changes =
            carried.value_at(&["changes"]).map(|list| list.children()).unwrap_or_default();
        let changes = changes.iter().filter_map(|(_, change)| carried_change(entry.turn, change));
        let own = ToolCall::of(&entry, &entry.raw);
        let call = ToolCall {
            // The IDs of the carrier are no replacement: it renames IDs that repeat, and the two must not be mixed.
            id: carried.string_at(&["call"]),
            tool: carried.string_at(&["tool"]).or(own.tool),
        };
        SourceEntry {
            at,
            is_carried: true,
            from: carried.string_at(&["from"]).unwrap_or_default(),
            raw: carried.value_at(&["raw"]),
            changes: changes.collect(),
            entry,
            call,
            before: Vec::new(),
            after: Vec::new(),
        }
    }

    /// The record of an entry, unless it is the last one that was kept, or a part of it.
    fn record(&mut self, raw: &JsonTree, same_turn: bool) -> Option<JsonTree> {
        if raw.kind() == TreeKind::Null {
            return None;
        }
        let text = raw.to_line();
        if same_turn && self.record.contains(&text) {
            return None;
        }
        self.record = text;
        Some(raw.clone())
    }
}

/// The first difference between two entries.
pub(super) fn entry_difference(wanted: &Entry, found: &Entry) -> Option<&'static str> {
    let same = [
        (wanted.turn == found.turn, "turn"),
        (wanted.id == found.id, "id"),
        (wanted.time == found.time, "time"),
        (wanted.speaker == found.speaker, "speaker"),
        (wanted.kind == found.kind, "kind"),
        (wanted.text == found.text, "text"),
    ];
    same.iter().find(|(same, _)| !same).map(|(_, what)| *what)
}

fn carried_change(turn: u64, carried: &JsonTree) -> Option<StateChange> {
    let scope = carried.string_at(&["scope"])?;
    let delta = Delta::parse(&carried.value_at(&["delta"])?.to_line()).ok()?;
    Some(StateChange { turn, scope, delta, time: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_added_later_continue_the_numbering_of_the_original_session() {
        let mut reading = EntryReader::new("codelia");
        let mut turn = |at: u64, carried: Option<&str>| {
            let (id, speaker, text) = (String::new(), String::new(), String::new());
            let (kind, raw) = (EntryKind::User, JsonTree::object());
            let extras = EntryExtras::default();
            let entry =
                Entry { seq: at, turn: at, id, time: None, speaker, kind, text, extras, raw };
            let source =
                reading.read_entry(entry, carried.map(|text| JsonTree::parse(text).unwrap()));
            (source.entry.turn, source.at, source.is_carried)
        };
        assert_eq!(turn(1, Some(r#"{"turn": 1}"#)), (1, 1, true));
        assert_eq!(turn(2, Some(r#"{"turn": 1}"#)), (1, 2, true));
        assert_eq!(turn(3, Some(r#"{"turn": 2}"#)), (2, 3, true));
        assert_eq!(turn(4, None), (3, 4, false));
        assert_eq!(turn(4, None), (3, 4, false));
        assert_eq!(turn(5, None), (4, 5, false));
    }
}
