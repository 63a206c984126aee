//! A browser for sessions on the terminal: a list, a preview, and search as one types.
//!
//! `keys -> Model (pure) -> screen (pure) -> terminal`: what is shown after which key is decided without a terminal.
//! What has to be read for that is a [`Wish`] of the model, which is granted here.

mod model;
mod reading;
mod screen;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::io;
use std::ops::{ControlFlow, RangeInclusive};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use everturn::layout::{LayoutError, Reader};
use everturn::scan::Rules;
use everturn::view::Entry;
use everturn_catalog::{Detail, Found, Hit, Query, Search, Session, Sessions, Snippet, Sort, open};
use everturn_export::{Choices, Export, Format, Mask, Style};
use ratatui::Terminal as Screen;
use ratatui::backend::CrosstermBackend;

use crate::catalog::{Collection, age};
use crate::commands::Context;
use crate::error::{Error, Stop};
use crate::exit::Exit;
use crate::output::{Output, harmless};
use crate::replay::{self, Input, Player, Terminal};
use crate::target::{Existing, Target as File};
use crate::{overview, settings, stories};

use model::{At, Key, Line, Model, Page, Row, Scroll, Target, Wish};
use reading::Reading;

/// How many hits of a search are shown.
const MOST_HITS: usize = 200;

/// How many entries a preview shows, and how many characters of each.
const PREVIEWED: usize = 12;
const EXCERPT: usize = 400;

/// How many turns are read at once in a session that was opened.
const PAGE: u64 = 200;

/// How often it is looked whether the index is up to date.
const TICK: Duration = Duration::from_millis(100);

/// How many characters around what was found are shown.
const SNIPPET: usize = 100;

/// Lets the user look around until it is enough.
pub(crate) fn run(context: &mut Context) -> Result<Exit, Stop> {
    let mut collection = context.collection()?;
    let sessions = collection.sessions(Detail::All)?;
    if sessions.sessions.is_empty() && context.root.is_none() {
        return Ok(overview::first_steps());
    }
    let mut browser = Browser::new(collection, sessions);
    let mut model = Model::new(browser.rows(), browser.collection.place());
    context.out.flush()?;
    let failed = |cause| Error::new(Exit::Request, "the terminal failed").caused_by(cause);
    let mut terminal = Some(Terminal::take().map_err(failed)?);
    let new_screen = || Screen::new(CrosstermBackend::new(io::stdout()));
    let mut screen = new_screen().map_err(failed)?;
    let mut wish = model.first_wish();
    browser.start_reading();
    loop {
        match wish.take().or_else(|| browser.follow(&mut model)) {
            Some(Wish::Quit) => {
                drop(terminal);
                browser.mention_notes();
                return Ok(Exit::Fine);
            }
            Some(Wish::Replay(session)) => {
                // The replay takes the terminal itself.
                drop(terminal.take());
                let said = browser.replay(session, context);
                terminal = Some(Terminal::take().map_err(failed)?);
                screen = new_screen().map_err(failed)?;
                model.say(said);
            }
            Some(other) => browser.grant(other, &mut model),
            None => {}
        }
        screen.draw(|frame| screen::draw(&mut model, frame)).map_err(failed)?;
        let Some(terminal) = &terminal else { continue };
        let patience = browser.reading.is_some().then_some(TICK);
        wish = match terminal.wait_for(patience, meaning).map_err(failed)? {
            Input::Key(key) => model.press(key),
            Input::End => Some(Wish::Quit),
            Input::Redraw | Input::Nothing => None,
        };
    }
}

/// What a key is for.
fn meaning(key: KeyEvent) -> Option<Key> {
    if key.modifiers.contains(KeyModifiers::CONTROL) {
        return Some(match key.code {
            KeyCode::Char('c' | 'd') => Key::Quit,
            KeyCode::Char('r') => Key::Replay,
            KeyCode::Char('e') => Key::Export,
            KeyCode::Char('u') => Key::Clear,
            _ => return None,
        });
    }
    Some(match key.code {
        KeyCode::Up => Key::Up,
        KeyCode::Down => Key::Down,
        KeyCode::PageUp => Key::PageUp,
        KeyCode::PageDown => Key::PageDown,
        KeyCode::Home => Key::First,
        KeyCode::End => Key::Last,
        KeyCode::Enter | KeyCode::Right => Key::Open,
        KeyCode::Esc | KeyCode::Left => Key::Back,
        KeyCode::Backspace => Key::Erase,
        KeyCode::Char(character) => Key::Type(character),
        _ => return None,
    })
}

struct Browser {
    collection: Collection,
    sessions: Arc<Sessions>,
    search: Option<Search>,
    /// The index while it is brought up to date.
    reading: Option<Reading>,
    readers: HashMap<usize, Box<dyn Reader>>,
    /// What has to be said when the terminal is given back.
    notes: Vec<String>,
}

impl Browser {
    fn new(mut collection: Collection, sessions: Sessions) -> Browser {
        // What is there is searched at once.
        let search = collection.catalog.searcher(&collection.sources, &sessions);
        let notes = collection.catalog.take_notes();
        let sessions = Arc::new(sessions);
        let (reading, readers) = (None, HashMap::new());
        Browser { collection, sessions, search, reading, readers, notes }
    }

    fn start_reading(&mut self) {
        let (sources, sessions) = (self.collection.sources.clone(), Arc::clone(&self.sessions));
        let catalog = self.collection.another_catalog();
        self.reading = Some(Reading::start(catalog, sources, sessions, settings::clock()));
    }

    /// Tells how far the index is read; when it is, what was asked for is asked for again.
    fn follow(&mut self, model: &mut Model) -> Option<Wish> {
        let has_ended = self.end_reading();
        model.reading = self.reading.as_ref().map_or_else(String::new, Reading::how_far);
        if has_ended { model.refreshed() } else { None }
    }

    /// Takes in the index if it is up to date by now.
    fn end_reading(&mut self) -> bool {
        let Some(reading) = self.reading.take_if(|reading| reading.is_done()) else { return false };
        self.notes.extend(reading.finish());
        let Collection { catalog, sources, .. } = &mut self.collection;
        self.search = catalog.searcher(sources, &self.sessions);
        true
    }

    fn mention_notes(&mut self) {
        self.notes.extend(self.collection.catalog.take_notes());
        self.notes.dedup();
        for note in &self.notes {
            Output::status(note);
        }
    }

    fn session(&self, at: usize) -> Option<&Session> {
        self.sessions.sessions.get(at)
    }

    /// All sessions, as rows of the list.
    fn rows(&self) -> Vec<Row> {
        let now = settings::now();
        let row = |(at, session): (usize, &Session)| {
            let summary = &session.summary;
            let turns = summary.turns.map_or_else(|| "?".to_owned(), |turns| turns.to_string());
            let title = match summary.title == summary.place.id {
                true => summary.place.id.clone(),
                false => format!("{}  {}", summary.place.id, summary.title),
            };
            Row {
                session: at,
                at: None,
                title: one_line(&title),
                about: format!("{} {turns} {}", summary.layout, age(summary.updated, now)),
                folded: title.to_lowercase(),
            }
        };
        self.sessions.sessions.iter().enumerate().map(row).collect()
    }

    fn reader(&mut self, at: usize) -> Result<&dyn Reader, String> {
        if !self.readers.contains_key(&at) {
            let session = self.session(at).ok_or("the session is gone")?;
            let reader =
                open(&self.collection.sources, session).map_err(|error| error.to_string())?;
            // A session is opened anew now and then, and only few stay open.
            self.readers.clear();
            self.readers.insert(at, reader.ok_or("the session is gone")?);
        }
        self.readers
            .get(&at)
            .map(|reader| &**reader)
            .ok_or_else(|| "the session is gone".to_owned())
    }

    /// Reads what the model needs to go on.
    fn grant(&mut self, wish: Wish, model: &mut Model) {
        match wish {
            Wish::Preview { session, at } => {
                let lines = self.preview(session, at);
                let lines = lines.unwrap_or_else(|error| vec![Line::Note(error)]);
                model.preview((session, at), lines);
            }
            Wish::Search(text) => {
                let next = match self.find(&text) {
                    Ok((rows, more)) => model.found(&text, rows, more),
                    Err(error) => {
                        model.say(error);
                        model.look()
                    }
                };
                if let Some(next) = next {
                    self.grant(next, model);
                }
            }
            Wish::Read { session, to } => match self.page(session, to) {
                Ok((page, scroll)) => model.show(session, page, scroll),
                Err(error) => model.say(error),
            },
            Wish::Export(session) => {
                let said = self.export(session).unwrap_or_else(|error| error);
                model.say(said);
            }
            Wish::Replay(_) | Wish::Quit => {}
        }
    }

    /// The end of a session, or an entry of it and what comes after.
    fn preview(&mut self, session: usize, at: Option<At>) -> Result<Vec<Line>, String> {
        let reader = self.reader(session)?;
        let last = *reader.turns().map_err(|error| words(&error))?.end();
        let from = match at {
            Some(at) => at.turn,
            None => last.saturating_sub(PREVIEWED as u64 - 1).max(1),
        };
        let mut shown: VecDeque<Entry> = VecDeque::new();
        let mut entries = reader.entries(from..=last.max(from)).map_err(|error| words(&error))?;
        while let Some(entry) = entries.next() {
            let entry = entry.map_err(|error| words(&error))?;
            if at.is_some_and(|at| entry.seq < at.seq) || !is_shown(&entry, at) {
                continue;
            }
            shown.push_back(entry);
            if shown.len() > PREVIEWED {
                shown.pop_front();
            }
            // Of an entry that was found it is seen how it goes on, of others how they end.
            if at.is_some() && shown.len() == PREVIEWED {
                break;
            }
        }
        let mut lines: Vec<Line> =
            shown.iter().flat_map(|entry| lines(entry, Some(EXCERPT))).collect();
        if lines.is_empty() {
            lines.push(Line::Note("nothing was said yet".to_owned()));
        }
        Ok(lines)
    }

    /// The part of a session in which something stands, and how far to go there.
    fn page(&mut self, session: usize, to: Target) -> Result<(Page, Scroll), String> {
        let reader = self.reader(session)?;
        let last = (*reader.turns().map_err(|error| words(&error))?.end()).max(1);
        let (turns, found) = match to {
            Target::Start => (1..=PAGE.min(last), None),
            Target::End => (last.saturating_sub(PAGE - 1).max(1)..=last, None),
            Target::Entry { at, .. } => (around(at.turn, last), Some(at)),
        };
        let mut all = Vec::new();
        let mut entries = reader.entries(turns.clone()).map_err(|error| words(&error))?;
        while let Some(entry) = entries.next() {
            let entry = entry.map_err(|error| words(&error))?;
            if is_shown(&entry, found) {
                all.extend(lines(&entry, None));
            }
        }
        let scroll = match to {
            Target::Start => Scroll::By(0),
            Target::End => Scroll::By(usize::MAX),
            Target::Entry { at, rows } => {
                let is_there =
                    |line: &Line| matches!(line, Line::Heading { at: other, .. } if *other >= at);
                Scroll::To { line: all.iter().position(is_there).unwrap_or(all.len()), rows }
            }
        };
        Ok((Page { lines: all, turns, all: 1..=last }, scroll))
    }

    /// The entries that a query finds, and whether there are more.
    fn find(&mut self, text: &str) -> Result<(Vec<Row>, bool), String> {
        let query =
            Query::parse(text, settings::now()).map_err(|error| one_line(&error.to_string()))?;
        self.end_reading();
        let Collection { catalog, sources, .. } = &mut self.collection;
        if self.search.is_none() && self.reading.is_some() {
            // Of an index that is being made, there may be something by now.
            self.search = catalog.searcher(sources, &self.sessions);
            drop(catalog.take_notes());
        }
        let limit = (MOST_HITS, Sort::Relevance);
        let found = match &self.search {
            Some(search) => {
                search.find(&self.sessions, &query, limit).map_err(|error| error.to_string())?
            }
            // It is asked for again when the index is there.
            None if self.reading.is_some() => Found::default(),
            None => catalog.search(sources, &self.sessions, &query, limit),
        };
        let answered = found.similar.as_ref().unwrap_or(&query);
        Ok((self.hits(&found.hits, answered), found.more))
    }

    /// Hits as rows. Each session is opened once, and read once: some find an entry only by what stands before it.
    fn hits(&mut self, hits: &[Hit], query: &Query) -> Vec<Row> {
        let mut places: BTreeMap<usize, HashMap<u64, usize>> = BTreeMap::new();
        // A session is opened along its main line, so what only its branches say is left to `search`.
        for (place, hit) in hits.iter().enumerate().filter(|(_, hit)| hit.branch == 0) {
            places.entry(hit.session).or_default().insert(hit.seq, place);
        }
        let mut rows: BTreeMap<usize, Row> = BTreeMap::new();
        for (session, mut wanted) in places {
            let turns = || hits.iter().filter(|hit| hit.session == session).map(|hit| hit.turn);
            let (Some(first), Some(last)) = (turns().min(), turns().max()) else { continue };
            let id = self.session(session).map(|one| one.summary.place.id.clone());
            let id = id.unwrap_or_default();
            // A session that went away since is one hit less.
            let Ok(reader) = self.reader(session) else { continue };
            let Ok(mut entries) = reader.entries(first..=last) else { continue };
            while let Some(Ok(entry)) = entries.next() {
                let Some(place) = wanted.remove(&entry.seq) else { continue };
                let snippet = Snippet::of(&entry.text, query, SNIPPET);
                let row = Row {
                    session,
                    at: Some(At { turn: entry.turn, seq: entry.seq }),
                    title: one_line(&snippet.text),
                    about: one_line(&format!("{id}#{}", entry.turn)),
                    folded: String::new(),
                };
                rows.insert(place, row);
                if wanted.is_empty() {
                    break;
                }
            }
        }
        rows.into_values().collect()
    }

    /// Writes the story to a new file in the directory in which the process works.
    fn export(&mut self, session: usize) -> Result<String, String> {
        let summary = self.session(session).map(|one| one.summary.clone());
        let summary = summary.ok_or("the session is gone")?;
        let name = format!("{}.md", summary.place.id.replace(['/', '\\'], "-"));
        let reader = self.reader(session)?;
        let choices = Choices::usual(Format::Markdown, Style::Rich);
        let mask = Format::Markdown.masks().then(|| Rules::standard() as &dyn Mask);
        let (template, now) = (None, settings::now());
        let export = Export { summary: &summary, reader, choices: &choices, mask, template, now };
        // The line that tells how far it is would stand in the middle of the screen.
        let write = || {
            let mut file = File::create(Path::new(&name), Existing::Kept)?;
            let written =
                export.write(Format::Markdown, &mut file, &mut |_| ControlFlow::Continue(()));
            written.map_err(|error| stories::failed(error, Error::from))?;
            file.finish()
        };
        write().map_err(|error: Error| error.to_string())?;
        Ok(format!("written to {name}"))
    }

    fn replay(&mut self, session: usize, context: &mut Context) -> String {
        let Some(one) = self.session(session) else { return "the session is gone".to_owned() };
        let path = self.collection.shown(one);
        let mut play = || -> Result<(), Error> {
            let (found, reader) = context.read(&path)?;
            let all = reader.turns().map_err(|error| found.failed(error))?;
            let first = all.start() + 1;
            if first > *all.end() {
                return Err(Error::new(Exit::Request, "the session has no turns yet"));
            }
            let player = Player::new(first, *all.end(), first, None);
            match replay::play(player, &found, &*reader, context) {
                Err(Stop::Failed(error)) => Err(error),
                _ => Ok(()),
            }
        };
        play().map_or_else(|error| error.to_string(), |()| String::new())
    }
}

/// The turns of a part of a session around one of them.
fn around(turn: u64, last: u64) -> RangeInclusive<u64> {
    let from = turn.saturating_sub(PAGE / 2).max(1);
    from..=from.saturating_add(PAGE - 1).min(last.max(from))
}

/// Whether people are shown an entry: what programs keep for themselves is not, unless it was looked for.
fn is_shown(entry: &Entry, found: Option<At>) -> bool {
    !entry.kind.is_bookkeeping() || found.is_some_and(|at| at.seq == entry.seq)
}

/// An entry as lines, with so many characters of its text.
fn lines(entry: &Entry, excerpt: Option<usize>) -> [Line; 2] {
    let time = entry.time.map_or_else(String::new, |time| format!("  {time}"));
    let heading = one_line(&format!("[{}] {}{time}", entry.turn, entry.speaker));
    let text = harmless(entry.text.trim_end());
    let cut: String = text.chars().take(excerpt.unwrap_or(usize::MAX)).collect();
    let more = if cut.len() < text.len() { "…" } else { "" };
    let at = At { turn: entry.turn, seq: entry.seq };
    [Line::Heading { at, words: heading }, Line::Text(format!("{cut}{more}"))]
}

/// What is wrong with a session, in words.
fn words(error: &LayoutError) -> String {
    error.to_string()
}

/// Text that somebody else wrote, on one line.
fn one_line(text: &str) -> String {
    harmless(text).replace(['\n', '\t'], " ")
}
