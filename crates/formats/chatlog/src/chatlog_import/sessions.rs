//! Sessions: each becomes one chat log, with all its parts.

use std::collections::{HashMap, HashSet};

use jiff::Timestamp;

use super::ImportedDocument;
use super::database::ImportDatabase;
use super::documents::ReferencedDocuments;
use super::error::ImportError;
use super::ledger::ImportLedger;
use super::marks;
use super::messages::{self, ImportedMessage};
use super::rows::{self, TableRow};
use super::states::{self, ImportedSnapshot};
use super::value::{flag, list, number, object, text};
use everturn_json::names::SessionId;
use everturn_value::tree::JsonTree;

/// Rows by the session, or other owner, that they belong to.
type RowsByOwner = HashMap<String, Vec<TableRow>>;

/// The rows that belong to sessions.
struct SessionRows {
    messages: RowsByOwner,
    states: RowsByOwner,
    tools: RowsByOwner,
    bookmarks: RowsByOwner,
    markers: RowsByOwner,
    /// The tool states of bookmarks.
    bookmarked: RowsByOwner,
}

pub(super) fn read(
    database: &ImportDatabase,
    shelves: &ReferencedDocuments,
    ledger: &mut ImportLedger,
) -> Result<Vec<ImportedDocument>, ImportError> {
    let sessions = rows::read(database, "chat_sessions", ledger)?;
    let mut grouped = |table: &'static str, column: &str| -> Result<RowsByOwner, ImportError> {
        let rows = rows::read(database, table, ledger)?;
        let mut groups = RowsByOwner::new();
        for row in rows {
            let owner = row.peek(column).unwrap_or_default().to_owned();
            groups.entry(owner).or_default().push(row);
        }
        Ok(groups)
    };
    let mut parts = SessionRows {
        messages: grouped("chat_messages", "session_id")?,
        states: grouped("tool_states", "session_id")?,
        tools: grouped("session_tools", "session_id")?,
        bookmarks: grouped("bookmarks", "session_id")?,
        markers: grouped("narrative_markers", "session_id")?,
        bookmarked: grouped("bookmark_tool_states", "bookmark_id")?,
    };
    let mut logs: Vec<ImportedDocument> =
        sessions.into_iter().map(|row| log(row, &mut parts, shelves, ledger)).collect();
    logs.extend(recover(&mut parts, &logs, shelves, ledger));
    let SessionRows { messages, states, tools, bookmarks, markers, bookmarked } = parts;
    for group in [messages, states, tools, bookmarks, markers] {
        set_aside(group, "there is no session", ledger);
    }
    set_aside(bookmarked, "there is no bookmark", ledger);
    Ok(logs)
}

/// Chat logs of the messages whose session is lost or damaged, in the order of their first rows.
fn recover(
    parts: &mut SessionRows,
    known: &[ImportedDocument],
    shelves: &ReferencedDocuments,
    ledger: &mut ImportLedger,
) -> Vec<ImportedDocument> {
    let first_row = |rows: &Vec<TableRow>| rows.first().map(|row| row.number);
    let mut owners: Vec<(Option<i64>, String)> =
        parts.messages.iter().map(|(owner, rows)| (first_row(rows), owner.clone())).collect();
    owners.sort();
    let is_taken = |id: &str| known.iter().any(|log| log.id == id);
    let recovered = owners.into_iter().zip(1_u64..).map(|((_, owner), number)| {
        let messages = parts.messages.get(&owner).map_or(0, Vec::len);
        let id = match SessionId::parse(&owner) {
            Ok(id) if !is_taken(id.as_str()) => owner.clone(),
            _ => format!("recovered-{number}"),
        };
        let what =
            format!("there is no session {owner:?}; its {messages} messages are session {id}");
        ledger.note("chat_messages", None, what);
        ledger.recovered(id.clone());
        lost_log(&owner, id, parts, shelves, ledger)
    });
    recovered.collect()
}

/// Sets aside rows whose owner does not exist, in the order of the table.
fn set_aside(groups: RowsByOwner, why: &str, ledger: &mut ImportLedger) {
    let mut rows: Vec<(String, TableRow)> = groups
        .into_iter()
        .flat_map(|(owner, rows)| rows.into_iter().map(move |row| (owner.clone(), row)))
        .collect();
    rows.sort_by_key(|(_, row)| row.number);
    for (owner, row) in rows {
        row.set_aside(format!("{why} {owner:?}"), ledger);
    }
}

/// The parts of one session in the form of the document, and the rows of its tools.
struct SessionContent {
    said: Vec<ImportedMessage>,
    snapshots: Vec<ImportedSnapshot>,
    bookmarks: Vec<JsonTree>,
    markers: Vec<JsonTree>,
    tools: Vec<TableRow>,
}

impl SessionContent {
    /// Takes the rows of an owner; `created` is the time of rows without one.
    fn take(
        parts: &mut SessionRows,
        owner: &str,
        created: Timestamp,
        ledger: &mut ImportLedger,
    ) -> SessionContent {
        let mut of = |groups: fn(&mut SessionRows) -> &mut RowsByOwner| {
            groups(parts).remove(owner).unwrap_or_default()
        };
        let (messages, states) = (of(|it| &mut it.messages), of(|it| &mut it.states));
        let (bookmarks, markers) = (of(|it| &mut it.bookmarks), of(|it| &mut it.markers));
        let tools = of(|it| &mut it.tools);
        let said = messages::in_order(messages, created, ledger);
        let snapshots = states::in_order(states, created, ledger);
        let bookmarks = bookmarks.into_iter().map(|row| {
            let bookmarked = &mut parts.bookmarked;
            let mut noted = Vec::new();
            let states = |id: &str| {
                noted = bookmarked.remove(id).unwrap_or_default();
                let states = noted.iter().filter_map(|row| row.peek("tool_state_id"));
                states.map(str::to_owned).collect()
            };
            let bookmark = marks::bookmark(row, created, states, ledger);
            noted.into_iter().for_each(|row| drop(row.placed(ledger)));
            bookmark
        });
        let bookmarks: Vec<JsonTree> = bookmarks.collect();
        let markers: Vec<JsonTree> =
            markers.into_iter().map(|row| marks::marker(row, created, ledger)).collect();
        report_dangling(owner, &said, &snapshots, &bookmarks, &markers, ledger);
        SessionContent { said, snapshots, bookmarks, markers, tools }
    }

    /// The document.
    fn document(
        self,
        metadata: JsonTree,
        session: JsonTree,
        source: Option<(&'static str, JsonTree)>,
    ) -> JsonTree {
        let mut members = vec![
            ("version", text("1.0")),
            ("type", text("chat-log")),
            ("metadata", metadata),
            ("session", session),
            ("messages", list(self.said.into_iter().map(|said| said.message).collect())),
            ("tool_snapshots", list(self.snapshots.into_iter().map(|it| it.snapshot).collect())),
            ("bookmarks", list(self.bookmarks)),
            ("narrative_markers", list(self.markers)),
        ];
        members.extend(source);
        object(members)
    }
}

fn log(
    mut row: TableRow,
    parts: &mut SessionRows,
    shelves: &ReferencedDocuments,
    ledger: &mut ImportLedger,
) -> ImportedDocument {
    let id = row.id("session");
    let title = row.needed("title", &id);
    let created = row.time("created_at", Timestamp::UNIX_EPOCH);
    let modified = row.time("modified_at", created);
    let mut content = SessionContent::take(parts, &id, created, ledger);
    let metadata = metadata(&mut row, &id, &title, created, modified);
    let tools = std::mem::take(&mut content.tools);
    let session = session(&mut row, tools, &content.said, created, shelves, ledger);
    let document = content.document(metadata, session, row.placed(ledger));
    ImportedDocument { id, title, document }
}

/// A chat log of the rows of a session that is lost. What only the session itself had is not in it.
fn lost_log(
    owner: &str,
    id: String,
    parts: &mut SessionRows,
    shelves: &ReferencedDocuments,
    ledger: &mut ImportLedger,
) -> ImportedDocument {
    let mut content = SessionContent::take(parts, owner, Timestamp::UNIX_EPOCH, ledger);
    let start = content.said.first().map_or(Timestamp::UNIX_EPOCH, |said| said.time);
    let end = content.said.last().map_or(start, |said| said.time);
    let (start_text, end_text) = (text(&start.to_string()), text(&end.to_string()));
    let metadata = object([
        ("id", text(&id)),
        ("created", start_text),
        ("modified", end_text),
        ("series", text("")),
        ("title", text(&id)),
    ]);
    let rows = std::mem::take(&mut content.tools).into_iter();
    let mut tools: Vec<JsonTree> = rows.map(|row| session_tool(row, shelves, ledger)).collect();
    for snapshot in &content.snapshots {
        let Some(tool) = snapshot.snapshot.string_at(&["tool_id"]) else { continue };
        if tools.iter().any(|known| known.string_at(&["id"]).as_deref() == Some(tool.as_str())) {
            continue;
        }
        let name = shelves.tool(&tool).map_or(tool.as_str(), |known| known.title.as_str());
        tools.push(object([("id", text(&tool)), ("name", text(name))]));
    }
    let mut members = times(&content.said, start);
    members.extend([("support_tools", list(tools)), ("settings", JsonTree::object())]);
    let document = content.document(metadata, object(members), None);
    ImportedDocument { title: id.clone(), id, document }
}

/// The members of the `session` object that follow from the messages.
fn times(said: &[ImportedMessage], created: Timestamp) -> Vec<(&'static str, JsonTree)> {
    let start = said.first().map_or(created, |said| said.time);
    let end = said.last().map_or(created, |said| said.time);
    vec![
        ("start_time", text(&start.to_string())),
        ("end_time", text(&end.to_string())),
        ("duration_seconds", number(end.as_second() - start.as_second())),
        ("message_count", number(i64::try_from(said.len()).unwrap_or(i64::MAX))),
    ]
}

fn metadata(
    row: &mut TableRow,
    id: &str,
    title: &str,
    created: Timestamp,
    modified: Timestamp,
) -> JsonTree {
    let mut members = vec![
        ("id", text(id)),
        ("created", text(&created.to_string())),
        ("modified", text(&modified.to_string())),
        ("series", text(&row.text("series").unwrap_or_default())),
        ("title", text(title)),
    ];
    if row.flag("is_favorite") {
        members.push(("is_favorite", flag(true)));
    }
    if let Some(folder) = row.text("folder") {
        members.push(("folder", text(&folder)));
    }
    object(members)
}

fn session(
    row: &mut TableRow,
    tools: Vec<TableRow>,
    said: &[ImportedMessage],
    created: Timestamp,
    shelves: &ReferencedDocuments,
    ledger: &mut ImportLedger,
) -> JsonTree {
    let mut members = times(said, created);
    if let Some(protagonist) = row.text("protagonist_id") {
        let card = shelves.card(&protagonist);
        if card.is_none() {
            let what = format!("the protagonist {protagonist:?} does not exist");
            ledger.note(row.table(), Some(row.number), what);
        }
        let name = card.map_or("", |card| card.title.as_str());
        let who = [("name", text(name)), ("character_card_id", text(&protagonist))];
        members.push(("protagonist", object(who)));
    }
    if let Some(lorebook) = row.text("lorebook_id") {
        if !shelves.has_lorebook(&lorebook) {
            let what = format!("the lorebook {lorebook:?} does not exist");
            ledger.note(row.table(), Some(row.number), what);
        }
        members.push(("lorebook_id", text(&lorebook)));
    }
    let tools = tools.into_iter().map(|row| session_tool(row, shelves, ledger)).collect();
    members.push(("support_tools", list(tools)));
    members.push(("settings", row.json_object("settings").unwrap_or_else(JsonTree::object)));
    object(members)
}

fn session_tool(
    mut row: TableRow,
    shelves: &ReferencedDocuments,
    ledger: &mut ImportLedger,
) -> JsonTree {
    let id = row.needed("tool_id", "");
    let tool = shelves.tool(&id);
    if tool.is_none() {
        ledger.note(row.table(), Some(row.number), format!("the tool {id:?} does not exist"));
    }
    let mut members = vec![
        ("id", text(&id)),
        ("name", text(tool.map_or(id.as_str(), |tool| tool.title.as_str()))),
        ("is_active", flag(row.flag("is_active"))),
    ];
    members.extend(row.text("ui_position").map(|position| ("ui_position", text(&position))));
    row.cells_of_session();
    members.extend(row.placed(ledger));
    object(members)
}

/// Notes dangling references; they are kept.
fn report_dangling(
    session: &str,
    said: &[ImportedMessage],
    snapshots: &[ImportedSnapshot],
    bookmarks: &[JsonTree],
    markers: &[JsonTree],
    ledger: &mut ImportLedger,
) {
    let messages: HashSet<&str> = said.iter().map(|said| said.id.as_str()).collect();
    let states: HashSet<&str> = snapshots.iter().map(|it| it.id.as_str()).collect();
    let mut tell = |table: &str, what: String| {
        ledger.note(table, None, format!("session {session}: {what}"));
    };
    for snapshot in snapshots {
        if let Some(message) = snapshot.message.as_deref().filter(|it| !messages.contains(it)) {
            let what = format!(
                "tool state {} refers to the message {message:?}, which does not exist",
                snapshot.id
            );
            tell("tool_states", what);
        }
    }
    for (table, marks) in [("bookmarks", bookmarks), ("narrative_markers", markers)] {
        for mark in marks {
            let id = mark.string_at(&["id"]).unwrap_or_default();
            let message = mark.string_at(&["message_id"]).unwrap_or_default();
            if !messages.contains(message.as_str()) {
                tell(
                    table,
                    format!("{id} refers to the message {message:?}, which does not exist"),
                );
            }
            let noted = mark.value_at(&["tool_snapshot_ids"]).map(|ids| ids.children());
            for (_, state) in noted.unwrap_or_default() {
                let state = state.string_at::<&str>(&[]).unwrap_or_default();
                if !states.contains(state.as_str()) {
                    tell(
                        table,
                        format!("{id} refers to the tool state {state:?}, which does not exist"),
                    );
                }
            }
        }
    }
}
