//! Characters, lorebooks and support tools: rows that hold a document.

use jiff::Timestamp;

use super::Imported;
use super::database::Database;
use super::error::ImportError;
use super::ledger::Ledger;
use super::rows::{self, Row};
use super::value::{flag, object, text, with};
use everturn_value::tree::{Kind, Tree};

/// The documents that sessions refer to.
pub(super) struct Shelves {
    pub(super) cards: Vec<Imported>,
    pub(super) lorebooks: Vec<Imported>,
    pub(super) tools: Vec<Imported>,
}

/// How the documents of a table look.
struct Shape {
    table: &'static str,
    /// What the document says it is.
    kind: &'static str,
    /// What an id that is missing begins with.
    prefix: &'static str,
    /// The column with the name.
    title: &'static str,
    /// The member of the document that is about the thing itself; a bare one is put there.
    body: &'static str,
    /// Columns that say what the body should say.
    columns: &'static [&'static str],
}

const CARDS: Shape = Shape {
    table: "characters",
    kind: "character",
    prefix: "char",
    title: "name",
    body: "character",
    columns: &["role"],
};

const LOREBOOKS: Shape = Shape {
    table: "lorebooks",
    kind: "lorebook",
    prefix: "lore",
    title: "title",
    body: "world",
    columns: &[],
};

const TOOLS: Shape = Shape {
    table: "support_tools",
    kind: "support-tool",
    prefix: "tool",
    title: "name",
    body: "tool",
    columns: &["type"],
};

impl Shelves {
    pub(super) fn read(database: &Database, ledger: &mut Ledger) -> Result<Shelves, ImportError> {
        let mut shelf = |shape: &Shape| -> Result<Vec<Imported>, ImportError> {
            let rows = rows::read(database, shape.table, ledger)?;
            Ok(rows.into_iter().map(|row| document(row, shape, ledger)).collect())
        };
        Ok(Shelves { cards: shelf(&CARDS)?, lorebooks: shelf(&LOREBOOKS)?, tools: shelf(&TOOLS)? })
    }

    pub(super) fn card(&self, id: &str) -> Option<&Imported> {
        self.cards.iter().find(|card| card.id == id)
    }

    pub(super) fn tool(&self, id: &str) -> Option<&Imported> {
        self.tools.iter().find(|tool| tool.id == id)
    }

    pub(super) fn has_lorebook(&self, id: &str) -> bool {
        self.lorebooks.iter().any(|book| book.id == id)
    }
}

fn document(mut row: Row, shape: &Shape, ledger: &mut Ledger) -> Imported {
    let id = row.id(shape.prefix);
    let title = row.needed(shape.title, &id);
    let created = row.time("created_at", Timestamp::UNIX_EPOCH);
    let modified = row.time("modified_at", created);
    let data = row.json_object("data").unwrap_or_else(Tree::object);
    let is_whole = data.string_at(&["type"]).as_deref() == Some(shape.kind)
        || data.at(&[shape.body]).is_some_and(|body| body.kind() == Kind::Object);
    let whole = if is_whole { data } else { object([(shape.body, data)]) };
    let body = whole.at(&[shape.body]).filter(|body| body.kind() == Kind::Object);
    let mut body = body.unwrap_or_else(Tree::object);
    if shape.title == "name" && body.at(&["name"]).is_none() {
        body = with(&body, [("name", text(&title))]);
    }
    for column in shape.columns {
        if let Some(value) = row.text(column)
            && body.at(&[column]).is_none()
        {
            body = with(&body, [(*column, text(&value))]);
        }
    }
    let metadata = metadata(&mut row, &whole, &id, &title, created, modified);
    let version = whole.at(&["version"]).unwrap_or_else(|| text("1.0"));
    let head = object([("version", version), ("type", text(shape.kind)), ("metadata", metadata)]);
    let rest = whole.children().into_iter().filter(|(key, _)| head.at(&[key]).is_none());
    let mut members = head.children();
    members.extend(rest);
    let mut document = with(&object(members), [(shape.body, body)]);
    if let Some(source) = row.placed(ledger) {
        document = with(&document, [source]);
    }
    Imported { id, title, document }
}

/// The metadata of a document: its own, with the id and times of the row, because sessions refer to these.
fn metadata(
    row: &mut Row,
    whole: &Tree,
    id: &str,
    title: &str,
    created: Timestamp,
    modified: Timestamp,
) -> Tree {
    let own = whole.at(&["metadata"]).filter(|own| own.kind() == Kind::Object);
    let own = own.unwrap_or_else(Tree::object);
    if let Some(other) = own.at(&["id"])
        && own.string_at(&["id"]).as_deref() != Some(id)
    {
        row.keep("metadata_id", other);
    }
    let mut members = vec![
        ("id", text(id)),
        ("created", own.at(&["created"]).unwrap_or_else(|| text(&created.to_string()))),
        ("modified", text(&modified.to_string())),
    ];
    if let Some(series) = row.text("series") {
        members.push(("series", own.at(&["series"]).unwrap_or_else(|| text(&series))));
    }
    if own.at(&["title"]).is_none() {
        members.push(("title", text(title)));
    }
    if row.flag("is_favorite") {
        members.push(("is_favorite", flag(true)));
    }
    if let Some(folder) = row.text("folder") {
        members.push(("folder", text(&folder)));
    }
    with(&own, members)
}
