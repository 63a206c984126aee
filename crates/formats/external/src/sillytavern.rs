//! SillyTavern: chats of characters and groups, with one line per message that contains its other versions.
//!
//! The chosen version is the message; every other version is a branch of one record.

use std::sync::Arc;

use jiff::Timestamp;

use super::blocks::any_time_at;
use super::json_file::spans;
use super::peek::{self, SessionInfo};
use super::record::{EntryDraft, Parent, RecordInfo, RecordSpan};
use super::survey::{ScannedRecord, Survey, Surveyor};
use super::thread_tree::{ForkPolicy, Placement};
use super::{Match, ProgramFormat, RepairRules, SessionHeader, repair_copy, stem};
use everturn_json::finding::FindingCode;
use everturn_json::names::FilePath;
use everturn_session::format::SessionError;
use everturn_session::model::{Attachment, EntryExtras, EntryKind, SessionRef};
use everturn_store::Store;
use everturn_value::outline::{flag_at, number_at, text_at, text_of};
use everturn_value::tree::{JsonTree, ValueKind as Shape};

pub(super) struct SillyTavern;

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

/// The numbers in a text, in order.
fn numbers(text: &str) -> Vec<u64> {
    let parts = text.split(|c: char| !c.is_ascii_digit());
    parts.filter_map(|part| part.parse().ok()).collect()
}

fn made(year: u64, month: u64, day: u64, hour: u64, minute: u64, second: u64) -> Option<Timestamp> {
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z").parse().ok()
}

/// Parses a time as older versions write it: `June 1, 2023 3:04pm`, or `2023-6-1 @15h 4m 5s 678ms`.
fn written_time(text: &str) -> Option<Timestamp> {
    let lower = text.trim().to_ascii_lowercase();
    let found = numbers(&lower);
    if lower.contains('@') {
        let &[year, month, day, hour, minute, second, ..] = found.as_slice() else { return None };
        return made(year, month, day, hour, minute, second);
    }
    let month = MONTHS.iter().position(|month| lower.starts_with(month))? as u64 + 1;
    let &[day, year, hour, minute, ..] = found.as_slice() else { return None };
    let hour = match (hour % 12, lower.ends_with("pm"), lower.ends_with("am")) {
        (hour, true, _) => hour + 12,
        (hour, _, true) => hour,
        _ => hour,
    };
    made(year, month, day, hour, minute, 0)
}

fn time(record: &JsonTree) -> Option<Timestamp> {
    let date =
        ["send_date", "create_date"].into_iter().find(|key| record.value_at(&[key]).is_some())?;
    any_time_at(record, &[date]).or_else(|| written_time(&text_at(record, &[date])?))
}

fn is_header(record: &JsonTree) -> bool {
    record.value_at(&["mes"]).is_none()
        && ["chat_metadata", "user_name", "character_name"]
            .iter()
            .any(|key| record.value_at(&[key]).is_some())
}

fn record_info(record: &JsonTree) -> RecordInfo {
    RecordInfo { time: time(record), ..RecordInfo::from_drafts(SillyTavern.drafts(record)) }
}

/// The chat that a header names as the origin of its branch.
fn main_chat(record: &JsonTree) -> Option<String> {
    text_at(record, &["chat_metadata", "main_chat"]).filter(|_| is_header(record))
}

fn session_info(record: &JsonTree) -> SessionInfo {
    SessionInfo { name: None, parent: main_chat(record), is_helper: false }
}

/// The pictures, recordings and files of a message, as every version of the program writes them, and the picture of its
/// speaker.
fn extras(record: &JsonTree) -> EntryExtras {
    let extra = |key: &str| record.value_at(&["extra", key]);
    let text = |tree: &JsonTree, key: &str| text_at(tree, &[key]).unwrap_or_default();
    let title = || text_at(record, &["extra", "title"]).unwrap_or_default();
    let list = |key: &str| {
        let list = extra(key).filter(|list| list.kind() == Shape::Array);
        list.map(|list| list.children()).unwrap_or_default().into_iter().map(|(_, one)| one)
    };
    let mut attachments: Vec<Attachment> = Vec::new();
    for (key, kind) in [("image", "image"), ("video", "video")] {
        let url = text_at(record, &["extra", key]).unwrap_or_default();
        attachments.push(Attachment { kind: kind.to_owned(), url, description: title() });
    }
    for media in list("media") {
        let kind = text_at(&media, &["type"]).unwrap_or_else(|| "image".to_owned());
        let (url, description) = (text(&media, "url"), text(&media, "title"));
        attachments.push(Attachment { kind, url, description });
    }
    for file in extra("file").into_iter().chain(list("files")) {
        let (url, description) = (text(&file, "url"), text(&file, "name"));
        attachments.push(Attachment { kind: "file".to_owned(), url, description });
    }
    // Newer versions keep the former fields beside the new ones.
    let mut seen: Vec<String> = Vec::new();
    attachments.retain(|one| {
        let is_new = !one.url.is_empty() && !seen.contains(&one.url);
        seen.push(one.url.clone());
        is_new
    });
    let avatar = text_at(record, &["force_avatar"]).filter(|avatar| !avatar.is_empty());
    EntryExtras { attachments, avatar, ..EntryExtras::default() }
}

/// Keeps a message and its other versions. Returns its number.
fn keep(surveyor: &mut Surveyor, seen: &ScannedRecord<'_>, parent: Parent) -> u32 {
    let record = seen.tree;
    let look = record_info(record);
    let number = surveyor.add(seen, &look, parent);
    let Some(swipes) = spans(seen.text, 0, Some("swipes")) else { return number };
    let said = text_at(record, &["mes"]).unwrap_or_default();
    let chosen = number_at(record, &["swipe_id"]).and_then(|id| usize::try_from(id).ok());
    let text_in = |span: &std::ops::Range<usize>| {
        let text = seen.text.get(span.clone())?;
        Some((JsonTree::parse(text).ok()?, text))
    };
    let is_said = |span: &std::ops::Range<usize>| {
        text_in(span).and_then(|(tree, _)| text_of(&tree)).is_some_and(|text| text == said)
    };
    let infos = record.value_at(&["swipe_info"]).map(|list| list.children()).unwrap_or_default();
    let agrees = chosen.and_then(|chosen| swipes.get(chosen)).is_some_and(is_said);
    if !agrees && !swipes.is_empty() {
        let message = "the message differs from its selected version";
        surveyor.warn(number, FindingCode::ChoiceDiffers, message.to_owned());
    }
    for (at, span) in swipes.iter().enumerate() {
        if agrees && Some(at) == chosen {
            continue;
        }
        let Some((tree, text)) = text_in(span) else { continue };
        let place = RecordSpan {
            offset: seen.at.offset + span.start as u64,
            length: text.len() as u64,
            ..seen.at
        };
        let part = ScannedRecord { tree: &tree, text, at: place, line: seen.line };
        let mut version = RecordInfo::from_drafts(SillyTavern.drafts(&tree));
        version.time = infos.get(at).and_then(|(_, info)| time(info)).or(look.time);
        surveyor.add_part(&part, &version, parent);
    }
    number
}

impl ProgramFormat for SillyTavern {
    const NAME: &'static str = "sillytavern";
    const DEPTH: usize = 5;
    const SESSION_DIRS: &'static [&'static str] = &["chats", "group chats"];

    fn match_path(&self, path: &FilePath) -> Match {
        if path.as_str().ends_with(".jsonl") { Match::Maybe } else { Match::No }
    }

    fn sniff(&self, _path: &FilePath, head: &peek::FileStart) -> bool {
        head.any(|record| {
            let is_message =
                record.value_at(&["mes"]).is_some() && record.value_at(&["is_user"]).is_some();
            is_message
                || record.value_at(&["chat_metadata"]).is_some()
                || (record.value_at(&["user_name"]).is_some()
                    && record.value_at(&["character_name"]).is_some())
        })
    }

    fn survey(&self, store: &Arc<dyn Store>, place: &SessionRef) -> Result<Survey, SessionError> {
        let mut surveyor = Surveyor::of_file(&place.path);
        let (mut tip, mut parent) = (None, None);
        surveyor.lines(store, 0, |surveyor, seen| {
            if is_header(seen.tree) {
                let number = surveyor.add(seen, &record_info(seen.tree), Parent::Root);
                if let Some(node) = surveyor.node(number) {
                    node.placement = Placement::Aside;
                }
                parent = main_chat(seen.tree).or(parent.take());
                return;
            }
            tip = Some(keep(surveyor, seen, tip.map_or(Parent::Root, Parent::Number)));
        })?;
        let mut survey = surveyor.finish(ForkPolicy::EveryFork, tip);
        survey.parent = parent;
        survey.title = Some(stem(&place.path));
        Ok(survey)
    }

    fn peek(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
    ) -> Result<SessionHeader, SessionError> {
        let survey = || self.survey(store, place);
        let mut header = peek::peek_lines(store, &place.path, survey, record_info, session_info)?;
        header.title = Some(stem(&place.path));
        Ok(header)
    }

    fn repair_rules(&self, _file: &FilePath) -> Result<&'static RepairRules, &'static str> {
        Ok(&repair_copy::SILLYTAVERN)
    }

    fn id(&self, _record: &JsonTree) -> Option<String> {
        None
    }

    fn drafts(&self, record: &JsonTree) -> Vec<EntryDraft> {
        if record.kind() == Shape::String {
            return vec![EntryDraft::new(
                EntryKind::Assistant,
                "version",
                text_of(record).unwrap_or_default(),
            )];
        }
        if is_header(record) {
            let name = text_at(record, &["character_name"]).unwrap_or_default();
            return vec![EntryDraft::bookkeeping("chat", name)];
        }
        let flag = |path: &[&str]| flag_at(record, path) == Some(true);
        let is_narrator = text_at(record, &["extra", "type"]).as_deref() == Some("narrator");
        let kind = if is_narrator {
            EntryKind::Narrator
        } else if flag(&["extra", "isSmallSys"]) {
            EntryKind::System
        } else if flag(&["is_user"]) {
            // Hidden from the model, it is still what the user said.
            EntryKind::User
        } else if flag(&["is_system"]) {
            EntryKind::System
        } else {
            EntryKind::Assistant
        };
        let speaker = text_at(record, &["name"]).unwrap_or_else(|| kind.as_str().to_owned());
        let text = text_at(record, &["mes"]).unwrap_or_default();
        let extras = extras(record);
        let said = EntryDraft { extras, ..EntryDraft::new(kind, &speaker, text) };
        let thought = record.value_at(&["extra", "reasoning"]);
        let thought =
            thought.filter(|thought| text_of(thought).is_some_and(|text| !text.is_empty()));
        let Some(thought) = thought else { return vec![said] };
        let text = text_of(&thought).unwrap_or_default();
        let mes = record.value_at(&["mes"]).unwrap_or_else(JsonTree::null);
        vec![EntryDraft::new(EntryKind::thinking(), &speaker, text), said.by(&mes)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_in_every_style() {
        let check = |text: &str, expect: Option<&str>| {
            let record = JsonTree::parse(format!(r#"{{"send_date":{text}}}"#)).unwrap();
            assert_eq!(time(&record).map(|time| time.to_string()).as_deref(), expect, "{text}");
        };
        check(r#""2023-06-01T15:04:05.000Z""#, Some("2023-06-01T15:04:05Z"));
        check("1685631845000", Some("2023-06-01T15:04:05Z"));
        check(r#""1685631845000""#, Some("2023-06-01T15:04:05Z"));
        check(r#""June 1, 2023 3:04pm""#, Some("2023-06-01T15:04:00Z"));
        check(r#""June 1, 2023 12:04am""#, Some("2023-06-01T00:04:00Z"));
        check(r#""December 31, 2023 12:59pm""#, Some("2023-12-31T12:59:00Z"));
        check(r#""2023-6-1 @15h 4m 5s 678ms""#, Some("2023-06-01T15:04:05Z"));
        check(r#""yesterday""#, None);
        check(r#""June""#, None);
    }
}
