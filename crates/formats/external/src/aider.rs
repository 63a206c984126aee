//! aider: one Markdown file for all sessions of a project.
//!
//! A line tells by its beginning who speaks; a record is a run of lines of one speaker, and its raw form is their text.

use std::sync::Arc;

use jiff::Timestamp;

use super::fetch::Fetch;
use super::record::{At, Draft, Look, Parent};
use super::survey::{Seen, Survey, Surveyor, title};
use super::weave::Forks;
use super::{Fit, Format, Mending, glance};
use everturn_json::finding::Code;
use everturn_json::names::{FilePath, Name};
use everturn_session::layout::LayoutError;
use everturn_session::view::{Kind, Place, Spent, Usage};
use everturn_store::Store;
use everturn_value::outline::text_of;
use everturn_value::tree::Tree;

pub(super) struct Aider;

const START: &str = "# aider chat started at ";

/// How many bytes are read at a time.
const CHUNK: u64 = 1 << 20;

/// The most bytes of one record; a longer run of lines becomes several.
const LONGEST: usize = 4 << 20;

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Voice {
    Start,
    User,
    Program,
    Model,
}

fn voice(line: &[u8]) -> Voice {
    match line {
        line if line.starts_with(START.as_bytes()) => Voice::Start,
        line if line.starts_with(b"####")
            && matches!(line.get(4), None | Some(b' ' | b'\r' | b'\n')) =>
        {
            Voice::User
        }
        line if line.starts_with(b">")
            && matches!(line.get(1), None | Some(b' ' | b'\r' | b'\n')) =>
        {
            Voice::Program
        }
        _ => Voice::Model,
    }
}

/// Gives each line of a part of a file, with its newline and where it starts, to `each`.
fn lines(
    store: &Arc<dyn Store>,
    file: &FilePath,
    part: std::ops::Range<u64>,
    mut each: impl FnMut(u64, &[u8]),
) -> Result<(), LayoutError> {
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
struct Part {
    id: String,
    started: Option<Timestamp>,
    span: std::ops::Range<u64>,
}

/// `2024-05-01 10:20:30` as a time; nobody wrote down where that was.
fn started(line: &str) -> Option<Timestamp> {
    let text = line.strip_prefix(START)?.trim();
    let (date, time) = text.split_once(' ')?;
    format!("{date}T{time}Z").parse().ok()
}

/// The sessions of a file. What precedes the first beginning is one, too.
fn parts(store: &Arc<dyn Store>, file: &FilePath) -> Result<Vec<Part>, LayoutError> {
    let length = store.stat(file)?.map_or(0, |stat| stat.len);
    let mut parts: Vec<Part> = Vec::new();
    let mut ids = std::collections::HashMap::<String, u32>::new();
    let mut before = None;
    lines(store, file, 0..length, |at, line| {
        if voice(line) == Voice::Start {
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
            parts.push(Part { id, started: started(&text), span: at..length });
        } else if parts.is_empty() && !line.trim_ascii().is_empty() {
            before = Some(at + line.len() as u64);
        }
    })?;
    if before.is_some() {
        let end = parts.first().map_or(length, |part| part.span.start);
        parts.insert(0, Part { id: "aider-before".to_owned(), started: None, span: 0..end });
    }
    Ok(parts)
}

/// Text as a value.
fn value(bytes: &[u8]) -> Tree {
    let text = String::from_utf8_lossy(bytes);
    Tree::from_value(&text).unwrap_or_else(|_| Tree::null())
}

/// Lines without what marks their speaker.
fn bare(text: &str, mark: &str) -> String {
    let line = |line: &str| {
        let line = line.trim_end();
        let rest = line.strip_prefix(mark).unwrap_or(line);
        rest.strip_prefix(' ').unwrap_or(rest).to_owned()
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n").trim().to_owned()
}

/// A number such as `2.1k`.
fn amount(word: &str) -> Option<u64> {
    let word = word.trim_matches(',');
    let (digits, factor) = match word.strip_suffix(['k', 'K']) {
        Some(digits) => (digits, 1_000.0),
        None => word.strip_suffix('M').map_or((word, 1.0), |digits| (digits, 1_000_000.0)),
    };
    let number: f64 = digits.replace(',', "").parse().ok()?;
    let whole = (number * factor).round();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it was looked at")]
    (0.0..1e15).contains(&whole).then_some(whole as u64)
}

/// What a line about tokens says was spent.
fn spent(line: &str) -> Option<Spent> {
    let words: Vec<&str> = line.strip_prefix("Tokens: ")?.split_whitespace().collect();
    let mut spent = Spent { answers: 1, ..Spent::default() };
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
    // What went to the cache or came from there was sent, too.
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
struct Run {
    voice: Voice,
    start: u64,
    text: Vec<u8>,
}

/// A session while it is read.
struct Talk<'a> {
    surveyor: Surveyor,
    run: Option<Run>,
    tip: Option<u32>,
    part: &'a Part,
    model: String,
    usage: Usage,
}

impl Talk<'_> {
    fn line(&mut self, at: u64, line: &[u8]) {
        let is_blank = line.trim_ascii().is_empty();
        let voice = voice(line);
        if let Some(run) = &mut self.run {
            let goes_on = run.voice == voice || (is_blank && run.voice == Voice::Model);
            if goes_on && run.text.len() < LONGEST {
                return run.text.extend_from_slice(line);
            }
            self.finish_run();
        }
        if !is_blank {
            self.run = Some(Run { voice, start: at, text: line.to_vec() });
        }
    }

    fn finish_run(&mut self) {
        let Some(run) = self.run.take() else { return };
        let end = run.text.trim_ascii_end().len();
        let text = run.text.get(..end).unwrap_or_default();
        let tree = value(text);
        let mut look = Look::telling(Aider.drafts(&tree));
        look.time = self.part.started;
        let at = At { file: 0, offset: run.start, length: end as u64 };
        let seen = Seen { tree: &tree, text: "", at, line: None };
        let parent = self.tip.map_or(Parent::Nobody, Parent::Number);
        let number = self.surveyor.add(&seen, &look, parent);
        if std::str::from_utf8(text).is_err() {
            let what =
                format!("bytes from {} on are not UTF-8, and shown as far as they are", run.start);
            self.surveyor.repair(number, Code::NotUtf8, what);
        }
        self.tip = Some(number);
        if run.voice == Voice::Program {
            self.note(&bare(&String::from_utf8_lossy(text), ">"));
        }
    }

    /// What the program says about models and tokens.
    fn note(&mut self, text: &str) {
        for line in text.lines() {
            if let Some(model) =
                line.strip_prefix("Main model: ").or_else(|| line.strip_prefix("Model: "))
            {
                self.model = model.split_whitespace().next().unwrap_or_default().to_owned();
            }
            if let Some(spent) = spent(line) {
                let model = if self.model.is_empty() { "unknown" } else { &self.model };
                self.usage.spend(model, &spent);
            }
        }
    }
}

/// Reads runs of lines again.
struct Runs {
    store: Arc<dyn Store>,
    file: FilePath,
}

impl Fetch for Runs {
    fn fetch(&mut self, at: At) -> Result<Tree, LayoutError> {
        Ok(value(&self.store.read(&self.file, at.offset..at.offset + at.length)?))
    }
}

impl Format for Aider {
    const NAME: &'static str = "aider";
    const DEPTH: usize = 3;
    const HOMES: &'static [&'static str] = &[];

    /// The program writes to whatever file it is told to, so that one right in the root may have any name.
    fn fits(&self, path: &FilePath) -> Fit {
        let name = path.as_str().rsplit('/').next().unwrap_or_default();
        let others = [".jsonl", ".json", ".db"];
        match name {
            ".aider.chat.history.md" => Fit::Yes,
            name if name.ends_with(".md") => Fit::Perhaps,
            name if name == path.as_str() && !others.iter().any(|end| name.ends_with(end)) => {
                Fit::Perhaps
            }
            _ => Fit::No,
        }
    }

    fn knows(&self, _path: &FilePath, head: &glance::Head) -> bool {
        head.text().lines().any(|line| line.starts_with(START))
    }

    fn places(&self, store: &Arc<dyn Store>, file: &FilePath) -> Result<Vec<Place>, LayoutError> {
        let place = |part: Part| {
            let name = Name::parse(&part.id).ok()?;
            Some(Place { path: file.join(&name), id: part.id })
        };
        Ok(parts(store, file)?.into_iter().filter_map(place).collect())
    }

    fn survey(&self, store: &Arc<dyn Store>, place: &Place) -> Result<Survey, LayoutError> {
        let missing = || LayoutError::NoSession { id: place.id.clone() };
        let file = place.path.parent().ok_or_else(missing)?;
        let part = parts(store, &file)?.into_iter().find(|part| part.id == place.id);
        let part = part.ok_or_else(missing)?;
        let mut talk = Talk {
            surveyor: Surveyor::of_file(&file),
            run: None,
            tip: None,
            part: &part,
            model: String::new(),
            usage: Usage::default(),
        };
        lines(store, &file, part.span.clone(), |at, line| talk.line(at, line))?;
        talk.finish_run();
        let mut surveyor = talk.surveyor;
        surveyor.survey.usage = (!talk.usage.models.is_empty()).then_some(talk.usage);
        Ok(surveyor.finish(Forks::Ways, talk.tip))
    }

    fn fetch(
        &self,
        store: &Arc<dyn Store>,
        files: &[FilePath],
    ) -> Result<Box<dyn Fetch>, LayoutError> {
        let file = files.first().cloned().unwrap_or_default();
        Ok(Box::new(Runs { store: Arc::clone(store), file }))
    }

    fn mending(&self, _file: &FilePath) -> Result<&'static Mending, &'static str> {
        Err("its Markdown has no records")
    }

    fn id(&self, _record: &Tree) -> Option<String> {
        None
    }

    fn drafts(&self, record: &Tree) -> Vec<Draft> {
        let text = text_of(record).unwrap_or_default();
        vec![match voice(text.as_bytes()) {
            Voice::Start => Draft::bookkeeping("aider", title(&text).unwrap_or_default()),
            Voice::User => Draft::new(Kind::User, "user", bare(&text, "####")),
            Voice::Program => Draft::new(Kind::Event, "aider", bare(&text, ">")),
            Voice::Model => Draft::new(Kind::Assistant, "assistant", text.trim()),
        }]
    }
}
