//! goose: files of lines of earlier versions, and a database of later ones.

mod database;

use std::sync::Arc;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use super::blocks::{any_time_at, block_text, content_text, count_at};
use super::fetch::{Fetch, Window};
use super::glance::{self, Told};
use super::record::{At, Draft, Look, Parent};
use super::survey::{Seen, Survey, Surveyor, title};
use super::weave::{Forks, Placing};
use super::{Fit, Format, Glance, Mending, mend, stem};
use everturn_json::finding::{Code, Finding};
use everturn_json::names::{FilePath, Name};
use everturn_session::layout::LayoutError;
use everturn_session::view::{Kind, Place, Spent, Usage};
use everturn_store::Store;
use everturn_value::outline::{flag_at, text_at};
use everturn_value::tree::{Kind as Shape, Tree};

use database::Database;

pub(super) struct Goose;

/// What the session is called that has no id.
const NAMELESS: &str = "no-id";

fn is_database(path: &FilePath) -> bool {
    path.as_str().ends_with(".db")
}

/// The database in which a session stands, if it stands in one.
fn database_of(path: &FilePath) -> Option<FilePath> {
    path.parent().filter(is_database)
}

/// What one block of a message tells.
fn block(role: &str, block: &Tree) -> Draft {
    let id = || text_at(block, &["id"]);
    let kind = text_at(block, &["type"]).unwrap_or_default();
    match kind.as_str() {
        "toolRequest" | "frontendToolRequest" => {
            let call = block.at(&["toolCall", "value"]).or_else(|| block.at(&["toolCall"]));
            let call = call.unwrap_or_else(Tree::null);
            let name = text_at(&call, &["name"]).unwrap_or_else(|| "tool".to_owned());
            let arguments = call.text_at(&["arguments"]).unwrap_or_default();
            Draft::called("assistant", &name, &arguments, id())
        }
        "toolResponse" => {
            let result = block.at(&["toolResult"]).unwrap_or_else(Tree::null);
            let value = result.at(&["value"]).or_else(|| result.at(&["error"])).unwrap_or(result);
            let value = value.at(&["content"]).unwrap_or(value);
            Draft::answered("tool", content_text(&value), id())
        }
        "thinking" => Draft::new(Kind::thinking(), "assistant", block_text(block)),
        "redactedThinking" => Draft::new(Kind::thinking(), "assistant", "[redacted]"),
        "toolConfirmationRequest" | "actionRequired" => {
            let name = text_at(block, &["toolName"]).unwrap_or_default();
            Draft::new(Kind::Event, "system", format!("asked for permission {name}"))
        }
        "systemNotification" => {
            let text = text_at(block, &["msg"]).unwrap_or_else(|| block_text(block));
            Draft::new(Kind::Event, "system", text)
        }
        _ => match role {
            "user" => Draft::new(Kind::User, "user", block_text(block)),
            "assistant" => Draft::new(Kind::Assistant, "assistant", block_text(block)),
            other => Draft::new(Kind::System, other, block_text(block)),
        },
    }
}

fn is_message(record: &Tree) -> bool {
    record.at(&["role"]).is_some()
}

/// A time, which the database writes as `2026-01-01 10:00:00`, in UTC.
fn time(record: &Tree, key: &str) -> Option<Timestamp> {
    let written = || text_at(record, &[key])?.trim().replace(' ', "T").parse::<DateTime>().ok();
    any_time_at(record, &[key])
        .or_else(|| Some(written()?.to_zoned(TimeZone::UTC).ok()?.timestamp()))
}

fn look(record: &Tree) -> Look {
    let keys = ["created", "created_timestamp", "timestamp", "created_at"];
    let time = keys.iter().find_map(|key| time(record, key));
    Look { time, id: Goose.id(record), ..Look::telling(Goose.drafts(record)) }
}

fn told(record: &Tree) -> Told {
    Told { name: names(record), parent: None, is_helper: false }
}

fn names(record: &Tree) -> Option<String> {
    let is_header = !is_message(record);
    let name = ["name", "description"]
        .iter()
        .find_map(|key| text_at(record, &[key]).filter(|text| !text.is_empty()));
    name.filter(|_| is_header).and_then(|name| title(&name))
}

/// What a session says of itself that it cost.
fn usage(header: &Tree) -> Option<Usage> {
    let count = |key: &str| {
        let whole = count_at(header, &[&format!("accumulated_{key}")]);
        if whole > 0 { whole } else { count_at(header, &[key]) }
    };
    let model = header.at(&["model_config"]).and_then(|model| text_at(&model, &["model_name"]));
    let spent =
        Spent { input: count("input_tokens"), output: count("output_tokens"), ..Spent::default() };
    let mut usage = Usage::default();
    usage.spend(&model.unwrap_or_else(|| "unknown".to_owned()), &spent);
    (spent.tokens() > 0).then_some(usage)
}

/// A session while it is read.
#[derive(Default)]
struct Talk {
    tip: Option<u32>,
    named: Option<String>,
    usage: Option<Usage>,
}

impl Talk {
    fn keep(&mut self, surveyor: &mut Surveyor, seen: &Seen<'_>) {
        let look = look(seen.tree);
        if !is_message(seen.tree) {
            let number = surveyor.add(seen, &look, Parent::Nobody);
            if let Some(node) = surveyor.node(number) {
                node.placing = Placing::Aside;
            }
            let updated = time(seen.tree, "updated_at");
            surveyor.survey.updated = surveyor.survey.updated.max(updated);
            self.named = names(seen.tree).or(self.named.take());
            self.usage = usage(seen.tree).or(self.usage.take());
            return;
        }
        let parent = self.tip.map_or(Parent::Nobody, Parent::Number);
        self.tip = Some(surveyor.add(seen, &look, parent));
    }

    fn finish(self, mut surveyor: Surveyor) -> Survey {
        surveyor.survey.usage = self.usage;
        let mut survey = surveyor.finish(Forks::Ways, self.tip);
        survey.title = self.named.or(survey.title);
        survey
    }
}

/// Rows of a database as records.
struct Rows(Database);

impl Fetch for Rows {
    fn fetch(&mut self, at: At) -> Result<Tree, LayoutError> {
        match at.length {
            0 => self.0.session(at.offset),
            _ => self.0.message(at.offset),
        }
    }
}

impl Goose {
    fn rows(
        &self,
        store: &Arc<dyn Store>,
        place: &Place,
        file: &FilePath,
    ) -> Result<Survey, LayoutError> {
        let database = Database::open(store, file)?;
        let mut surveyor = Surveyor::of_file(file);
        let mut talk = Talk::default();
        let finding = |code, message| Finding {
            file: place.path.clone(),
            line: None,
            offset: None,
            code,
            message,
        };
        let id = if place.id == NAMELESS { "" } else { &place.id };
        match database.session_row(id)? {
            Some(row) => {
                let tree = database.session(row)?;
                let at = At { file: 0, offset: row, length: 0 };
                talk.keep(&mut surveyor, &Seen { tree: &tree, text: "", at, line: None });
            }
            None => {
                let message = "there are messages of a session that the database does not list";
                surveyor.survey.findings.push(finding(Code::OrphanPart, message.to_owned()));
            }
        }
        for row in database.message_rows(id)? {
            match database.message(row) {
                Ok(tree) => {
                    let at = At { file: 0, offset: row, length: 1 };
                    talk.keep(&mut surveyor, &Seen { tree: &tree, text: "", at, line: None });
                }
                Err(LayoutError::Damaged { what }) => {
                    surveyor.quarantine(finding(Code::BadRecord, what));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(talk.finish(surveyor))
    }
}

impl Format for Goose {
    const NAME: &'static str = "goose";
    const DEPTH: usize = 3;
    const HOMES: &'static [&'static str] = &["sessions"];

    fn fits(&self, path: &FilePath) -> Fit {
        match path.as_str().rsplit_once('.') {
            Some((_, "jsonl" | "db")) => Fit::Perhaps,
            _ => Fit::No,
        }
    }

    fn knows(&self, path: &FilePath, head: &glance::Head) -> bool {
        if is_database(path) {
            return database::is_one(&head.bytes);
        }
        let is_header = |record: &Tree| {
            record.at(&["working_dir"]).is_some()
                && ["description", "message_count", "created_at"]
                    .iter()
                    .any(|key| record.at(&[key]).is_some())
        };
        let is_talk = |record: &Tree| {
            let content =
                record.at(&["content"]).is_some_and(|content| content.kind() == Shape::Array);
            content && is_message(record) && record.at(&["created"]).is_some()
        };
        head.any(|record| is_header(record) || is_talk(record))
    }

    /// A database tells by its tables whose it is, which need not stand at the beginning of its file.
    fn is_one(&self, store: &Arc<dyn Store>, path: &FilePath, head: &glance::Head) -> bool {
        let has_tables = || Database::open(store, path).is_ok_and(|found| found.is_ours());
        let is_known = !is_database(path) || database::shows_tables(&head.bytes);
        self.knows(path, head) && (is_known || has_tables())
    }

    fn places(&self, store: &Arc<dyn Store>, file: &FilePath) -> Result<Vec<Place>, LayoutError> {
        if !is_database(file) {
            return Ok(vec![Place { id: stem(file), path: file.clone() }]);
        }
        let place = |(number, id): (usize, String)| {
            // A name that could be no file's still belongs to one session.
            let id = if id.is_empty() { NAMELESS.to_owned() } else { id };
            let name = Name::parse(&id.replace('/', "-"));
            let name = name.or_else(|_| Name::parse(&format!("session-{number}")))?;
            Ok(Place { path: file.join(&name), id })
        };
        Database::open(store, file)?.ids()?.into_iter().enumerate().map(place).collect()
    }

    fn survey(&self, store: &Arc<dyn Store>, place: &Place) -> Result<Survey, LayoutError> {
        if let Some(file) = database_of(&place.path) {
            return self.rows(store, place, &file);
        }
        let mut surveyor = Surveyor::of_file(&place.path);
        let mut talk = Talk::default();
        surveyor.lines(store, 0, |surveyor, seen| talk.keep(surveyor, seen))?;
        Ok(talk.finish(surveyor))
    }

    fn glance(&self, store: &Arc<dyn Store>, place: &Place) -> Result<Glance, LayoutError> {
        let survey = || self.survey(store, place);
        match database_of(&place.path) {
            Some(_) => Ok(Glance::of(&survey()?)),
            None => glance::of_lines(store, &place.path, survey, look, told),
        }
    }

    fn project(
        &self,
        store: &Arc<dyn Store>,
        place: &Place,
    ) -> Result<Option<String>, LayoutError> {
        let said = |record: &Tree| text_at(record, &["working_dir"]);
        let Some(file) = database_of(&place.path) else {
            return Ok(glance::Head::read(store, &place.path)?.first(said));
        };
        let database = Database::open(store, &file)?;
        let row = database.session_row(&place.id)?;
        Ok(row.map(|row| database.session(row)).transpose()?.and_then(|row| said(&row)))
    }

    fn fetch(
        &self,
        store: &Arc<dyn Store>,
        files: &[FilePath],
    ) -> Result<Box<dyn Fetch>, LayoutError> {
        match files.first().filter(|file| is_database(file)) {
            Some(file) => Ok(Box::new(Rows(Database::open(store, file)?))),
            None => Ok(Box::new(Window::new(store, files))),
        }
    }

    fn mending(&self, file: &FilePath) -> Result<&'static Mending, &'static str> {
        match database_of(file) {
            None => Ok(&mend::GOOSE),
            Some(_) => Err("it is part of a database, which SQLite mends"),
        }
    }

    fn id(&self, record: &Tree) -> Option<String> {
        let is_message = is_message(record);
        let id = text_at(record, &["message_id"]).or_else(|| text_at(record, &["id"]));
        id.or_else(|| record.text_at(&["id"])).filter(|id| is_message && id != "null")
    }

    fn drafts(&self, record: &Tree) -> Vec<Draft> {
        if !is_message(record) {
            return vec![Draft::bookkeeping("session", names(record).unwrap_or_default())];
        }
        // What the program wrote for the model alone was asked by nobody.
        let is_hidden = flag_at(record, &["metadata", "userVisible"]) == Some(false);
        let role = text_at(record, &["role"]).unwrap_or_default();
        let role = if is_hidden && role == "user" { "system".to_owned() } else { role };
        let content = record.at(&["content"]).unwrap_or_else(Tree::null);
        match content.kind() {
            Shape::Array if content.len_at::<&str>(&[]) != Some(0) => {
                content.children().iter().map(|(_, part)| block(&role, part).by(part)).collect()
            }
            _ => vec![block(&role, &content)],
        }
    }
}
