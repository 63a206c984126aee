//! aider: one Markdown file for all sessions of a project.
//!
//! The start of a line identifies the speaker. A record is a run of lines of one speaker; its raw form is their text.

use std::sync::Arc;

use jiff::Timestamp;

use super::fetch::RecordFetcher;
use super::record::{EntryDraft, Parent, RecordInfo, RecordSpan};
use super::survey::{ScannedRecord, Survey, Surveyor, title};
use super::thread_tree::ForkPolicy;
use super::{Match, ProgramFormat, RepairRules, peek};
use everturn_json::finding::FindingCode;
use everturn_json::names::{FilePath, Name};
use everturn_session::format::SessionError;
use everturn_session::model::{EntryKind, SessionRef, SessionUsage, TokenUsage};
use everturn_store::Store;
use everturn_value::outline::text_of;
use everturn_value::tree::JsonTree;

pub(super) struct Aider;

const START: &str = "# aider chat started at ";

/// The number of bytes read at a time.
const CHUNK: u64 = 1 << 20;

/// The largest size of a record; a longer run of lines becomes several records.
const LONGEST: usize = 4 << 20;

/// The speaker of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Speaker {
    Start,
    User,
    Program,
    Model,
}

fn speaker_of(line: &[u8]) -> Speaker {
    match line {
        line if line.starts_with(START.as_bytes()) => Speaker::Start,
        line if line.starts_with(b"####")
            && matches!(line.get(4), None | Some(b' ' | b'\r' | b'\n')) =>
        {
            Speaker::User
        }
        line if line.starts_with(b">")
            && matches!(line.get(1), None | Some(b' ' | b'\r' | b'\n')) =>
        {
            Speaker::Program
        }
        _ => Speaker::Model,
    }
}

/// Passes each line of a part of a file, with its newline and its offset, to `each`.
fn lines(
    store: &Arc<dyn Store>,
    file: &FilePath,
    part: std::ops::Range<u64>,
    mut each: impl FnMut(u64, &[u8]),
) -> Result<(), SessionError> {
    let (mut at, mut rest) = (part.start, Vec::new());
    let mut start = part.start;
    while at < part.end {
        let chunk = store.read(file, at..part.end.min(at + CHUNK))?;
        if chunk.is_empty() {
            break;
        }
        at += chunk.len() as u64;
        rest.extend_from_slice(&chunk);
        let mut done = 0;
        while let Some(length) =
            rest.get(done..).and_then(|rest| rest.iter().position(|byte| *byte == b'\n'))
        {
            let line = rest.get(done..=done + length).unwrap_or_default();
            each(start + done as u64, line);
            done += length + 1;
        }
        start += done as u64;
        rest.drain(..done);
        if rest.len() > LONGEST {
            each(start, &rest);
            start += rest.len() as u64;
            rest.clear();
        }
    }
    if !rest.is_empty() {
        each(start, &rest);
    }
    Ok(())
}

/// One session of a file.
struct FileSection {
    id: String,
    started: Option<Timestamp>,
    span: std::ops::Range<u64>,
}

/// Parses `2024-05-01 10:20:30` as UTC; the file does not record a time zone.
fn started(line: &str) -> Option<Timestamp> {
    let text = line.strip_prefix(START)?.trim();
    let (date, time) = text.split_once(' ')?;
    format!("{date}T{time}Z").parse().ok()
}

/// The sessions of a file. Text before the first start line is a session, too.
fn read_sections(
    store: &Arc<dyn Store>,
    file: &FilePath,
) -> Result<Vec<FileSection>, SessionError> {
    let length = store.stat(file)?.map_or(0, |stat| stat.len);
    let mut parts: Vec<FileSection> = Vec::new();
    let mut ids = std::collections::HashMap::<String, u32>::new();
    let mut before = None;
    lines(store, file, 0..length, |at, line| {
        if speaker_of(line) == Speaker::Start {
            let text = String::from_utf8_lossy(line);
            let digits: String = text.chars().filter(char::is_ascii_digit).collect();
            let id = match digits.split_at_checked(8) {
                Some((day, time)) => format!("aider-{day}-{time}"),
                None => format!("aider-{at}"),
            };
            let times = ids.entry(id.clone()).or_insert(0);
            *times += 1;
            let id = if *times > 1 { format!("{id}-{times}") } else { id };
            if let Some(last) = parts.last_mut() {
                last.span.end = at;
            }
            parts.push(FileSection { id, started: started(&text), span: at..length });
        } else if parts.is_empty() && !line.trim_ascii().is_empty() {
            before = Some(at + line.len() as u64);
        }
    })?;
    if before.is_some() {
        let end = parts.first().map_or(length, |part| part.span.start);
        parts.insert(0, FileSection { id: "aider-before".to_owned(), started: None, span: 0..end });
    }
    Ok(parts)
}

/// Text as a value.
fn value(bytes: &[u8]) -> JsonTree {
    let text = String::from_utf8_lossy(bytes);
    JsonTree::from_value(&text).unwrap_or_else(|_| JsonTree::null())
}

/// Lines without the mark of their speaker.
fn bare(text: &str, mark: &str) -> String {
    let line = |line: &str| {
        let line = line.trim_end();
        let rest = line.strip_prefix(mark).unwrap_or(line);
        rest.strip_prefix(' ').unwrap_or(rest).to_owned()
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n").trim().to_owned()
}

/// Parses a number such as `2.1k`.
fn amount(word: &str) -> Option<u64> {
    let word = word.trim_matches(',');
    let (digits, factor) = match word.strip_suffix(['k', 'K']) {
        Some(digits) => (digits, 1_000.0),
        None => word.strip_suffix('M').map_or((word, 1.0), |digits| (digits, 1_000_000.0)),
    };
    let number: f64 = digits.replace(',', "").parse().ok()?;
    let whole = (number * factor).round();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the range is checked below"
    )]
    (0.0..1e15).contains(&whole).then_some(whole as u64)
}

/// The token usage in a line about tokens.
fn parse_usage(line: &str) -> Option<TokenUsage> {
    let words: Vec<&str> = line.strip_prefix("Tokens: ")?.split_whitespace().collect();
    let mut spent = TokenUsage { answers: 1, ..TokenUsage::default() };
    for pair in words.windows(3) {
        let [number, word, more] = pair else { continue };
        let count = amount(number).unwrap_or(0);
        match (word.trim_matches([',', '.']), *more) {
            ("sent", _) => spent.input += count,
            ("cache", "write,") => spent.cache_write += count,
            ("cache", "hit,") => spent.cache_read += count,
            _ => {}
        }
    }
    // The sent tokens include cache writes and cache reads.
    spent.input = spent.input.saturating_sub(spent.cache_write + spent.cache_read);
    for pair in words.windows(2) {
        let [number, word] = pair else { continue };
        match word.trim_matches([',', '.']) {
            "received" => spent.output += amount(number).unwrap_or(0),
            "message" => spent.cost = number.strip_prefix('$').and_then(|cost| cost.parse().ok()),
            _ => {}
        }
    }
    Some(spent)
}

/// A run of lines of one speaker.
struct SpeakerRun {
    voice: Speaker,
    start: u64,
    text: Vec<u8>,
}

/// A session while it is being read.
struct AiderConversation<'a> {
    surveyor: Surveyor,
    run: Option<SpeakerRun>,
    tip: Option<u32>,
    part: &'a FileSection,
    model: String,
    usage: SessionUsage,
}

impl AiderConversation<'_> {
    fn line(&mut self, at: u64, line: &[u8]) {
        let is_blank = line.trim_ascii().is_empty();
        let voice = speaker_of(line);
        if let Some(run) = &mut self.run {
            let goes_on = run.voice == voice || (is_blank && run.voice == Speaker::Model);
            if goes_on && run.text.len() < LONGEST {
                return run.text.extend_from_slice(line);
            }
            self.finish_run();
        }
        if !is_blank {
            self.run = Some(SpeakerRun { voice, start: at, text: line.to_vec() });
        }
    }

    fn finish_run(&mut self) {
        let Some(run) = self.run.take() else { return };
        let end = run.text.trim_ascii_end().len();
        let text = run.text.get(..end).unwrap_or_default();
        let tree = value(text);
        let mut look = RecordInfo::from_drafts(Aider.drafts(&tree));
        look.time = self.part.started;
        let at = RecordSpan { file: 0, offset: run.start, length: end as u64 };
        let seen = ScannedRecord { tree: &tree, text: "", at, line: None };
        let parent = self.tip.map_or(Parent::Root, Parent::Number);
        let number = self.surveyor.add(&seen, &look, parent);
        if std::str::from_utf8(text).is_err() {
            let what = format!("bytes from {} on are not valid UTF-8, and are replaced", run.start);
            self.surveyor.repair(number, FindingCode::NotUtf8, what);
        }
        self.tip = Some(number);
        if run.voice == Speaker::Program {
            self.note(&bare(&String::from_utf8_lossy(text), ">"));
        }
    }

    /// Notes what the program reports about models and tokens.
    fn note(&mut self, text: &str) {
        for line in text.lines() {
            if let Some(model) =
                line.strip_prefix("Main model: ").or_else(|| line.strip_prefix("Model: "))
            {
                self.model = model.split_whitespace().next().unwrap_or_default().to_owned();
            }
            if let Some(spent) = parse_usage(line) {
                let model = if self.model.is_empty() { "unknown" } else { &self.model };
                self.usage.add_usage(model, &spent, None);
            }
        }
    }
}

/// Reads runs of lines again.
struct RunFetcher {
    store: Arc<dyn Store>,
    file: FilePath,
}

impl RecordFetcher for RunFetcher {
    fn fetch(&mut self, at: RecordSpan) -> Result<JsonTree, SessionError> {
        Ok(value(&self.store.read(&self.file, at.offset..at.offset + at.length)?))
    }
}

impl ProgramFormat for Aider {
    const NAME: &'static str = "aider";
    const DEPTH: usize = 3;
    const SESSION_DIRS: &'static [&'static str] = &[];

    /// The program writes to any file it is given, so a file directly in the root may have any name.
    fn match_path(&self, path: &FilePath) -> Match {
        let name = path.as_str().rsplit('/').next().unwrap_or_default();
        let others = [".jsonl", ".json", ".db"];
        match name {
            ".aider.chat.history.md" => Match::Yes,
            name if name.ends_with(".md") => Match::Maybe,
            name if name == path.as_str() && !others.iter().any(|end| name.ends_with(end)) => {
                Match::Maybe
            }
            _ => Match::No,
        }
    }

    fn sniff(&self, _path: &FilePath, head: &peek::FileStart) -> bool {
        head.text().lines().any(|line| line.starts_with(START))
    }

    fn sessions_in_file(
        &self,
        store: &Arc<dyn Store>,
        file: &FilePath,
    ) -> Result<Vec<SessionRef>, SessionError> {
        let place = |part: FileSection| {
            let name = Name::parse(&part.id).ok()?;
            Some(SessionRef { path: file.join(&name), id: part.id })
        };
        Ok(read_sections(store, file)?.into_iter().filter_map(place).collect())
    }

    fn survey(&self, store: &Arc<dyn Store>, place: &SessionRef) -> Result<Survey, SessionError> {
        let missing = || SessionError::NoSession { id: place.id.clone() };
        let file = place.path.parent().ok_or_else(missing)?;
        let part = read_sections(store, &file)?.into_iter().find(|part| part.id == place.id);
        let part = part.ok_or_else(missing)?;
        let mut talk = AiderConversation {
            surveyor: Surveyor::of_file(&file),
            run: None,
            tip: None,
            part: &part,
            model: String::new(),
            usage: SessionUsage::default(),
        };
        lines(store, &file, part.span.clone(), |at, line| talk.line(at, line))?;
        talk.finish_run();
        let mut surveyor = talk.surveyor;
        surveyor.survey.usage = (!talk.usage.models.is_empty()).then_some(talk.usage);
        Ok(surveyor.finish(ForkPolicy::EveryFork, talk.tip))
    }

    fn fetch(
        &self,
        store: &Arc<dyn Store>,
        files: &[FilePath],
    ) -> Result<Box<dyn RecordFetcher>, SessionError> {
        let file = files.first().cloned().unwrap_or_default();
        Ok(Box::new(RunFetcher { store: Arc::clone(store), file }))
    }

    fn repair_rules(&self, _file: &FilePath) -> Result<&'static RepairRules, &'static str> {
        Err("a Markdown log has no records")
    }

    fn id(&self, _record: &JsonTree) -> Option<String> {
        None
    }

    fn drafts(&self, record: &JsonTree) -> Vec<EntryDraft> {
        let text = text_of(record).unwrap_or_default();
        vec![match speaker_of(text.as_bytes()) {
            Speaker::Start => EntryDraft::bookkeeping("aider", title(&text).unwrap_or_default()),
            Speaker::User => EntryDraft::new(EntryKind::User, "user", bare(&text, "####")),
            Speaker::Program => EntryDraft::new(EntryKind::Event, "aider", bare(&text, ">")),
            Speaker::Model => EntryDraft::new(EntryKind::Assistant, "assistant", text.trim()),
        }]
    }
}
