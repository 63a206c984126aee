//! Rows of a table, from which values are taken one by one; the remaining values are kept, too.

use indexmap::IndexMap;
use jiff::Timestamp;
use rusqlite::types::{Value, ValueRef};

use super::database::{ImportDatabase, is_damage};
use super::error::ImportError;
use super::ledger::{ImportLedger, RejectedRow};
use super::value::{object, of_cell, text, time};
use everturn_value::tree::{JsonTree, ValueKind};

/// One row of a table.
pub(super) struct TableRow {
    table: &'static str,
    /// Its number in the table, which gives the order in which rows were written.
    pub(super) number: i64,
    cells: IndexMap<String, Value>,
    /// Members for values that the document has no place for, or has in another form.
    source: Vec<(String, JsonTree)>,
    repairs: Vec<String>,
}

/// All rows of a table, in the order in which they were written. A missing table has none; that is noted, and so is a
/// read that ends early because the file is damaged.
pub(super) fn read(
    database: &ImportDatabase,
    table: &'static str,
    ledger: &mut ImportLedger,
) -> Result<Vec<TableRow>, ImportError> {
    if database.columns(table).is_none() {
        ledger.note(table, None, "no such table".to_owned());
        return Ok(Vec::new());
    }
    let mut rows = Vec::new();
    match read_into(database, table, &mut rows) {
        Ok(()) => {}
        Err(error) if is_damage(&error) => {
            let what = format!("rows after the first {} cannot be read: {error}", rows.len());
            ledger.note(table, None, what);
        }
        Err(error) => return Err(database.failed(error)),
    }
    rows.iter().for_each(|_| ledger.read(table));
    Ok(rows)
}

fn read_into(
    database: &ImportDatabase,
    table: &'static str,
    rows: &mut Vec<TableRow>,
) -> rusqlite::Result<()> {
    let query = format!("SELECT rowid, * FROM {table} ORDER BY rowid");
    let mut statement = database.connection().prepare(&query)?;
    let names: Vec<String> = statement.column_names().skip(1).map(str::to_owned).collect();
    let mut found = statement.query([])?;
    while let Some(row) = found.next()? {
        let mut repairs = Vec::new();
        let mut cells = IndexMap::new();
        for (at, name) in (1..).zip(&names) {
            cells.insert(name.clone(), cell(row.get_ref(at)?, name, &mut repairs));
        }
        rows.push(TableRow { table, number: row.get(0)?, cells, source: Vec::new(), repairs });
    }
    Ok(())
}

fn cell(value: ValueRef<'_>, name: &str, repairs: &mut Vec<String>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => Value::Integer(number),
        ValueRef::Real(number) => Value::Real(number),
        ValueRef::Blob(bytes) => Value::Blob(bytes.to_vec()),
        ValueRef::Text(bytes) => {
            let words = String::from_utf8_lossy(bytes);
            if matches!(words, std::borrow::Cow::Owned(_)) {
                repairs.push(format!("{name} is not UTF-8; invalid bytes are replaced"));
            }
            Value::Text(words.into_owned())
        }
    }
}

impl TableRow {
    fn take(&mut self, column: &str) -> Option<Value> {
        self.cells.shift_remove(column).filter(|cell| *cell != Value::Null)
    }

    /// Notes a repair.
    pub(super) fn repaired(&mut self, what: impl Into<String>) {
        self.repairs.push(what.into());
    }

    /// Keeps a value in the member `source`.
    pub(super) fn keep(&mut self, name: &str, value: JsonTree) {
        self.source.push((name.to_owned(), value));
    }

    /// The text in a column, if any; a number becomes its digits.
    pub(super) fn text(&mut self, column: &str) -> Option<String> {
        match self.take(column)? {
            Value::Text(words) => Some(words),
            Value::Integer(number) => Some(number.to_string()),
            Value::Real(number) => Some(number.to_string()),
            Value::Blob(bytes) => match String::from_utf8(bytes) {
                Ok(words) => Some(words),
                Err(error) => {
                    self.repaired(format!("{column} is bytes, not text"));
                    self.keep(column, of_cell(&Value::Blob(error.into_bytes())));
                    None
                }
            },
            Value::Null => None,
        }
    }

    /// The text in a required column; `instead` if it is missing.
    pub(super) fn needed(&mut self, column: &str, instead: &str) -> String {
        self.text(column).unwrap_or_else(|| {
            self.repaired(format!("{column} is missing"));
            instead.to_owned()
        })
    }

    /// The id in the row, or one made from its number.
    pub(super) fn id(&mut self, prefix: &str) -> String {
        let made = format!("{prefix}-row-{}", self.number);
        match self.text("id").filter(|id| !id.is_empty()) {
            Some(id) => id,
            None => {
                self.repaired(format!("id is missing; {made} is used instead"));
                made
            }
        }
    }

    pub(super) fn flag(&mut self, column: &str) -> bool {
        match self.take(column) {
            None | Some(Value::Integer(0)) => false,
            Some(Value::Integer(_)) => true,
            Some(Value::Text(words)) => !matches!(words.as_str(), "" | "0" | "false"),
            Some(_) => true,
        }
    }

    /// The time in a column; `instead` if it is invalid, with the original kept in `source`.
    pub(super) fn time(&mut self, column: &str, instead: Timestamp) -> Timestamp {
        let Some(cell) = self.take(column) else {
            self.repaired(format!("{column} is missing"));
            return instead;
        };
        time(&cell).unwrap_or_else(|| {
            self.repaired(format!("{column} is not a time"));
            self.keep(column, of_cell(&cell));
            instead
        })
    }

    /// The JSON in a column. Invalid JSON is kept in `source` as text.
    pub(super) fn json(&mut self, column: &str) -> Option<JsonTree> {
        let words = self.text(column)?;
        match JsonTree::parse(words.as_str()) {
            Ok(tree) => Some(tree),
            Err(bad) => {
                self.repaired(format!("{column} is not JSON: {bad}"));
                self.keep(column, text(&words));
                None
            }
        }
    }

    /// The JSON object in a column; anything else is kept in `source`.
    pub(super) fn json_object(&mut self, column: &str) -> Option<JsonTree> {
        let tree = self.json(column)?;
        match tree.kind() {
            ValueKind::Object => Some(tree),
            ValueKind::Null => None,
            kind => {
                self.repaired(format!("{column} is {kind}, not an object"));
                self.keep(column, tree);
                None
            }
        }
    }

    /// Records that the row is in a document. The values that were not taken become the member `source`.
    pub(super) fn placed(mut self, ledger: &mut ImportLedger) -> Option<(&'static str, JsonTree)> {
        let rest = self.cells.into_iter().filter(|(_, cell)| *cell != Value::Null);
        self.source.extend(rest.map(|(name, cell)| (name, of_cell(&cell))));
        ledger.placed(self.table, self.number, self.repairs);
        (!self.source.is_empty()).then(|| ("source", object(self.source)))
    }

    /// Records that the row belongs to no document.
    pub(super) fn set_aside(self, why: impl Into<String>, ledger: &mut ImportLedger) {
        let cells = self.cells.iter().map(|(name, cell)| (name.clone(), of_cell(cell)));
        let content = object(cells.chain(self.source));
        let TableRow { table, number, .. } = self;
        ledger.set_aside(RejectedRow {
            table: table.to_owned(),
            row: number,
            why: why.into(),
            content,
        });
    }

    /// The text in a column, without taking it.
    pub(super) fn peek(&self, column: &str) -> Option<&str> {
        match self.cells.get(column)? {
            Value::Text(words) => Some(words),
            _ => None,
        }
    }

    /// The name of the row's table, for messages.
    pub(super) fn table(&self) -> &'static str {
        self.table
    }
}
