//! Characters, lorebooks and support tools: rows that hold a document.

use jiff::Timestamp;

use super::ImportedDocument;
use super::database::ImportDatabase;
use super::error::ImportError;
use super::ledger::ImportLedger;
use super::rows::{self, TableRow};
use super::value::{flag, object, text, with};
use everturn_value::tree::{JsonTree, ValueKind};

/// The documents that sessions refer to.
pub(super) struct ReferencedDocuments {
    pub(super) cards: Vec<ImportedDocument>,
    pub(super) lorebooks: Vec<ImportedDocument>,
    pub(super) tools: Vec<ImportedDocument>,
}

/// The document format of a table.
struct DocumentTable {
    table: &'static str,
    /// The declared type of the document.
    kind: &'static str,
    /// The prefix of a made-up id.
    prefix: &'static str,
    /// The column with the name.
    title: &'static str,
    /// The member of the document that holds the body; a bare body is moved there.
    body: &'static str,
    /// Columns with values that belong into the body.
    columns: &'static [&'static str],
}

const CARDS: DocumentTable = DocumentTable {
    table: "characters",
    kind: "character",
    prefix: "char",
    title: "name",
    body: "character",
    columns: &["role"],
};

const LOREBOOKS: DocumentTable = DocumentTable {
    table: "lorebooks",
    kind: "lorebook",
    prefix: "lore",
    title: "title",
    body: "world",
    columns: &[],
};

const TOOLS: DocumentTable = DocumentTable {
    table: "support_tools",
    kind: "support-tool",
    prefix: "tool",
    title: "name",
    body: "tool",
    columns: &["type"],
};

impl ReferencedDocuments {
    pub(super) fn read(
        database: &ImportDatabase,
        ledger: &mut ImportLedger,
    ) -> Result<ReferencedDocuments, ImportError> {
        let mut archiver = |shape: &DocumentTable| -> Result<Vec<ImportedDocument>, ImportError> {
            let rows = rows::read(database, shape.table, ledger)?;
            Ok(rows.into_iter().map(|row| document(row, shape, ledger)).collect())
        };
        Ok(ReferencedDocuments {
            cards: archiver(&CARDS)?,
            lorebooks: archiver(&LOREBOOKS)?,
            tools: archiver(&TOOLS)?,
        })
    }

    pub(super) fn card(&self, id: &str) -> Option<&ImportedDocument> {
        self.cards.iter().find(|card| card.id == id)
    }

    pub(super) fn tool(&self, id: &str) -> Option<&ImportedDocument> {
        self.tools.iter().find(|tool| tool.id == id)
    }

    pub(super) fn has_lorebook(&self, id: &str) -> bool {
        self.lorebooks.iter().any(|book| book.id == id)
    }
}

fn document(
    mut row: TableRow,
    shape: &DocumentTable,
    ledger: &mut ImportLedger,
) -> ImportedDocument {
    let id = row.id(shape.prefix);
    let title = row.needed(shape.title, &id);
    let created = row.time("created_at", Timestamp::UNIX_EPOCH);
    let modified = row.time("modified_at", created);
    let data = row.json_object("data").unwrap_or_else(JsonTree::object);
    let is_whole = data.string_at(&["type"]).as_deref() == Some(shape.kind)
        || data.value_at(&[shape.body]).is_some_and(|body| body.kind() == ValueKind::Object);
    let whole = if is_whole { data } else { object([(shape.body, data)]) };
    let body = whole.value_at(&[shape.body]).filter(|body| body.kind() == ValueKind::Object);
    let mut body = body.unwrap_or_else(JsonTree::object);
    if shape.title == "name" && body.value_at(&["name"]).is_none() {
        body = with(&body, [("name", text(&title))]);
    }
    for column in shape.columns {
        if let Some(value) = row.text(column)
            && body.value_at(&[column]).is_none()
        {
            body = with(&body, [(*column, text(&value))]);
        }
    }
    let metadata = metadata(&mut row, &whole, &id, &title, created, modified);
    let version = whole.value_at(&["version"]).unwrap_or_else(|| text("1.0"));
    let head = object([("version", version), ("type", text(shape.kind)), ("metadata", metadata)]);
    let rest = whole.children().into_iter().filter(|(key, _)| head.value_at(&[key]).is_none());
    let mut members = head.children();
    members.extend(rest);
    let mut document = with(&object(members), [(shape.body, body)]);
    if let Some(source) = row.placed(ledger) {
        document = with(&document, [source]);
    }
    ImportedDocument { id, title, document }
}

/// The metadata of a document: its own, with the id and times of the row, because sessions refer to these.
fn metadata(
    row: &mut TableRow,
    whole: &JsonTree,
    id: &str,
    title: &str,
    created: Timestamp,
    modified: Timestamp,
) -> JsonTree {
    let own = whole.value_at(&["metadata"]).filter(|own| own.kind() == ValueKind::Object);
    let own = own.unwrap_or_else(JsonTree::object);
    if let Some(other) = own.value_at(&["id"])
        && own.string_at(&["id"]).as_deref() != Some(id)
    {
        row.keep("metadata_id", other);
    }
    let mut members = vec![
        ("id", text(id)),
        ("created", own.value_at(&["created"]).unwrap_or_else(|| text(&created.to_string()))),
        ("modified", text(&modified.to_string())),
    ];
    if let Some(series) = row.text("series") {
        members.push(("series", own.value_at(&["series"]).unwrap_or_else(|| text(&series))));
    }
    if own.value_at(&["title"]).is_none() {
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
