//! pi: a header, then entries that name their parents; the last one is where the talk goes on.

use std::sync::Arc;

use super::blocks::{any_time_at, block_text, content_text, count_at, price_at};
use super::glance::{self, Told};
use super::record::{Draft, Key, Look, Parent};
use super::survey::{Seen, Survey, Surveyor, is_object, title};
use super::weave::{Forks, Placing};
use super::{Fit, Format, Glance, Mending, mend, stem};
use everturn_json::names::FilePath;
use everturn_session::layout::LayoutError;
use everturn_session::view::{Kind, Place, Spent, Usage};
use everturn_store::Store;
use everturn_value::outline::{flag_at, text_at};
use everturn_value::tree::{Kind as Shape, Tree};

pub(super) struct Pi;

fn kind_of(record: &Tree) -> String {
    text_at(record, &["type"]).unwrap_or_default()
}

/// What a message of the model tells, block by block.
fn assistant(content: &Tree) -> Vec<Draft> {
    if content.kind() != Shape::Array || content.len_at::<&str>(&[]) == Some(0) {
        return vec![Draft::new(Kind::Assistant, "assistant", content_text(content))];
    }
    let draft = |(_, block): &(String, Tree)| match text_at(block, &["type"]).as_deref() {
        Some("toolCall") => {
            let name = text_at(block, &["name"]).unwrap_or_else(|| "tool".to_owned());
            let arguments = block.text_at(&["arguments"]).unwrap_or_default();
            Draft::called("assistant", &name, &arguments, text_at(block, &["id"])).by(block)
        }
        Some("thinking") => Draft::new(Kind::thinking(), "assistant", block_text(block)).by(block),
        _ => Draft::new(Kind::Assistant, "assistant", block_text(block)).by(block),
    };
    content.children().iter().map(draft).collect()
}

fn message(record: &Tree) -> Vec<Draft> {
    let message = record.at(&["message"]).unwrap_or_else(|| record.clone());
    let content = message.at(&["content"]).unwrap_or_else(Tree::null);
    let role = text_at(&message, &["role"]).unwrap_or_default();
    match role.as_str() {
        "user" => vec![Draft::new(Kind::User, "user", content_text(&content))],
        "assistant" => assistant(&content),
        "toolResult" => {
            let name = text_at(&message, &["toolName"]).unwrap_or_else(|| "tool".to_owned());
            let id = text_at(&message, &["toolCallId"]);
            vec![Draft::answered(&name, content_text(&content), id)]
        }
        "bashExecution" => {
            let command = text_at(&message, &["command"]).unwrap_or_default();
            let output = text_at(&message, &["output"]).unwrap_or_default();
            vec![Draft::new(Kind::Event, "user", format!("$ {command}\n{output}"))]
        }
        other => vec![Draft::new(Kind::System, other, content_text(&content))],
    }
}

fn names(record: &Tree) -> Option<String> {
    let is_name = kind_of(record) == "session_info";
    text_at(record, &["name"]).filter(|_| is_name).and_then(|name| title(&name))
}

/// The session that a header says it comes from, by the name of its file.
fn parent(record: &Tree) -> Option<String> {
    let from = ["parentSession", "branchedFrom"];
    let from = from.iter().find_map(|key| text_at(record, &[key]))?;
    let name = from.rsplit('/').next().unwrap_or(&from).trim_end_matches(".jsonl");
    Some(name.rsplit_once('_').map_or(name, |(_, id)| id).to_owned())
}

fn told(record: &Tree) -> Told {
    let is_header = kind_of(record) == "session";
    let parent = if is_header { parent(record) } else { None };
    Told { name: names(record), parent, is_helper: false }
}

fn look(record: &Tree) -> Look {
    let time = any_time_at(record, &["timestamp"])
        .or_else(|| any_time_at(record, &["message", "timestamp"]));
    Look { time, id: Pi.id(record), ..Look::telling(Pi.drafts(record)) }
}

fn spend(usage: &mut Usage, record: &Tree) {
    let Some(used) = record.at(&["message", "usage"]).filter(is_object) else { return };
    let model = text_at(record, &["message", "model"]).unwrap_or_else(|| "unknown".to_owned());
    let spent = Spent {
        answers: 1,
        input: count_at(&used, &["input"]),
        output: count_at(&used, &["output"]),
        cache_read: count_at(&used, &["cacheRead"]),
        cache_write: count_at(&used, &["cacheWrite"]),
        reasoning: 0,
        cost: price_at(&used, &["cost", "total"]),
    };
    // Ids are short, and tell entries of one session apart; with the time they do so among all.
    let time = record.at(&["timestamp"]).map(|time| time.to_line());
    match Pi.id(record).zip(time) {
        Some((id, time)) => {
            usage.spend_once(Key::of(&format!("{id} {time}")).number(), &model, &spent);
        }
        None => usage.spend(&model, &spent),
    }
}

/// Keeps an entry. Those of the first version have no ids, and follow each other.
fn keep(surveyor: &mut Surveyor, seen: &Seen<'_>, tip: Option<u32>) -> u32 {
    let record = seen.tree;
    let look = look(record);
    let before = tip.map_or(Parent::Nobody, Parent::Number);
    let Some(id) = &look.id else { return surveyor.add(seen, &look, before) };
    let parent = match record.at(&["parentId"]) {
        Some(parent) if parent.is_null() => Parent::Nobody,
        Some(_) => text_at(record, &["parentId"]).map_or(before, |id| Parent::Of(Key::of(&id))),
        None => before,
    };
    surveyor.add_with_id(seen, &look, parent, id)
}

impl Format for Pi {
    const NAME: &'static str = "pi";
    const DEPTH: usize = 4;
    const HOMES: &'static [&'static str] = &["sessions"];

    fn fits(&self, path: &FilePath) -> Fit {
        if path.as_str().ends_with(".jsonl") { Fit::Perhaps } else { Fit::No }
    }

    fn knows(&self, _path: &FilePath, head: &glance::Head) -> bool {
        let is_header = |record: &Tree| {
            kind_of(record) == "session"
                && record.at(&["id"]).is_some()
                && record.at(&["cwd"]).is_some()
        };
        head.any(is_header)
    }

    fn file_id(&self, file: &FilePath) -> String {
        let stem = stem(file);
        stem.rsplit_once('_').map_or(stem.as_str(), |(_, id)| id).to_owned()
    }

    fn survey(&self, store: &Arc<dyn Store>, place: &Place) -> Result<Survey, LayoutError> {
        let mut surveyor = Surveyor::of_file(&place.path);
        let (mut tip, mut named, mut from) = (None, None, None);
        let mut usage = Usage::default();
        surveyor.lines(store, 0, |surveyor, seen| {
            if kind_of(seen.tree) == "session" {
                let number = surveyor.add(seen, &look(seen.tree), Parent::Nobody);
                if let Some(node) = surveyor.node(number) {
                    node.placing = Placing::Aside;
                }
                from = parent(seen.tree).or(from.take());
                return;
            }
            let number = keep(surveyor, seen, tip);
            // A second entry of the same id stands apart, and nothing goes on from it.
            if surveyor.node(number).is_some_and(|node| node.placing == Placing::Chained) {
                tip = Some(number);
            }
            named = names(seen.tree).or(named.take());
            spend(&mut usage, seen.tree);
        })?;
        surveyor.survey.usage = (!usage.models.is_empty()).then_some(usage);
        let mut survey = surveyor.finish(Forks::Ways, tip);
        survey.title = named.or(survey.title);
        survey.parent = from;
        Ok(survey)
    }

    fn glance(&self, store: &Arc<dyn Store>, place: &Place) -> Result<Glance, LayoutError> {
        let survey = || self.survey(store, place);
        glance::of_lines(store, &place.path, survey, look, told)
    }

    fn project(
        &self,
        store: &Arc<dyn Store>,
        place: &Place,
    ) -> Result<Option<String>, LayoutError> {
        let head = glance::Head::read(store, &place.path)?;
        Ok(head.first(|record| text_at(record, &["cwd"])))
    }

    fn mending(&self, _file: &FilePath) -> Result<&'static Mending, &'static str> {
        Ok(&mend::PI)
    }

    fn id(&self, record: &Tree) -> Option<String> {
        text_at(record, &["id"])
    }

    fn drafts(&self, record: &Tree) -> Vec<Draft> {
        let kind = kind_of(record);
        let text = |key: &str| text_at(record, &[key]).unwrap_or_default();
        match kind.as_str() {
            "message" => message(record),
            "compaction" => {
                vec![Draft::new(Kind::Event, "system", format!("compacted: {}", text("summary")))]
            }
            "branch_summary" => {
                vec![Draft::new(
                    Kind::Event,
                    "system",
                    format!("left a branch: {}", text("summary")),
                )]
            }
            "custom_message" if flag_at(record, &["display"]) != Some(false) => {
                let content = record.at(&["content"]).unwrap_or_else(Tree::null);
                vec![Draft::new(Kind::System, "system", content_text(&content))]
            }
            "model_change" => {
                vec![Draft::bookkeeping("model", text_at(record, &["modelId"]).unwrap_or_default())]
            }
            "label" => vec![Draft::bookkeeping("label", text("label"))],
            "session_info" => vec![Draft::bookkeeping("name", text("name"))],
            "session" => vec![Draft::bookkeeping("session", text("cwd"))],
            other => vec![Draft::bookkeeping(other, "")],
        }
    }
}
