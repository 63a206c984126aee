//! A terminal browser for sessions: a list, a preview, and search as you type.
//!
//! `keys -> BrowseModel (pure) -> screen (pure) -> terminal`: the screen after each key is decided without a terminal.
//! Data that the model needs is requested with a [`BrowseRequest`], which is fulfilled here.

mod background_update;
mod model;
mod screen;
mod view;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::io;
use std::ops::{ControlFlow, RangeInclusive};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use everturn::format::{SessionError, SessionReader};
use everturn::model::Entry;
use everturn::scan::SecretRules;
use everturn_catalog::{
    CatalogListing, CatalogSearch, CatalogSession, Query, SearchHit, SearchResults, Snippet,
    SortOrder, SummaryDetail, open_session,
};
use everturn_export::{Export, ExportFormat, ExportOptions, ExportStyle, SecretMask};
use ratatui::Terminal as Screen;
use ratatui::backend::CrosstermBackend;

use crate::atomic_file::{AtomicFile as File, ExistingFile};
use crate::catalog::{SourceCollection, age, collection};
use crate::context::Context;
use crate::error::{EarlyExit, Error};
use crate::exit::Exit;
use crate::output::{Output, escape_controls};
use crate::replay::{self, ReplayPlayer, Terminal, TerminalInput};
use crate::{exports, overview, settings};

use background_update::BackgroundUpdate;
use model::BrowseModel;
use view::{
    BrowseKey, BrowseRequest, EntryPosition, ListRow, PageLine, ScrollPosition, ScrollTarget,
    SessionPage,
};

/// The maximum number of search hits shown.
const MOST_HITS: usize = 200;

/// The number of entries in a preview, and the number of characters of each.
const PREVIEWED: usize = 12;
const EXCERPT: usize = 400;

/// The number of turns read at once in an open session.
const PAGE: u64 = 200;

/// How often the index update is polled.
const TICK: Duration = Duration::from_millis(100);

/// The number of characters shown around a match.
const SNIPPET: usize = 100;

/// Runs the browser until the user quits.
pub(crate) fn run(context: &mut Context) -> Result<Exit, EarlyExit> {
    let mut collection = collection(context)?;
    let sessions = collection.sessions(SummaryDetail::All)?;
    if sessions.sessions.is_empty() && context.root.is_none() {
        return Ok(overview::first_steps());
    }
    let mut browser = Browser::new(collection, sessions);
    let mut model = BrowseModel::new(browser.rows(), browser.collection.place());
    context.out.flush()?;
    let failed = |cause| Error::new(Exit::Request, "the terminal failed").caused_by(cause);
    let mut terminal = Some(Terminal::take().map_err(failed)?);
    let new_screen = || Screen::new(CrosstermBackend::new(io::stdout()));
    let mut screen = new_screen().map_err(failed)?;
    let mut wish = model.first_request();
    browser.start_index_update();
    loop {
        match wish.take().or_else(|| browser.poll_index_update(&mut model)) {
            Some(BrowseRequest::Quit) => {
                drop(terminal);
                browser.mention_notes();
                return Ok(Exit::Success);
            }
            Some(BrowseRequest::Replay(session)) => {
                // The replay takes over the terminal.
                drop(terminal.take());
                let said = browser.replay(session, context);
                terminal = Some(Terminal::take().map_err(failed)?);
                screen = new_screen().map_err(failed)?;
                model.set_message(said);
            }
            Some(other) => browser.fulfill(other, &mut model),
            None => {}
        }
        screen.draw(|frame| screen::draw(&mut model, frame)).map_err(failed)?;
        let Some(terminal) = &terminal else { continue };
        let patience = browser.index_update.is_some().then_some(TICK);
        wish = match terminal.wait_for(patience, meaning).map_err(failed)? {
            TerminalInput::Key(key) => model.press(key),
            TerminalInput::End => Some(BrowseRequest::Quit),
            TerminalInput::Redraw | TerminalInput::Nothing => None,
        };
    }
}

/// Maps a key event to a key of the browser.
fn meaning(key: KeyEvent) -> Option<BrowseKey> {
    if key.modifiers.contains(KeyModifiers::CONTROL) {
        return Some(match key.code {
            KeyCode::Char('c' | 'd') => BrowseKey::Quit,
            KeyCode::Char('r') => BrowseKey::Replay,
            KeyCode::Char('e') => BrowseKey::Export,
            KeyCode::Char('u') => BrowseKey::Clear,
            _ => return None,
        });
    }
    Some(match key.code {
        KeyCode::Up => BrowseKey::Up,
        KeyCode::Down => BrowseKey::Down,
        KeyCode::PageUp => BrowseKey::PageUp,
        KeyCode::PageDown => BrowseKey::PageDown,
        KeyCode::Home => BrowseKey::First,
        KeyCode::End => BrowseKey::Last,
        KeyCode::Enter | KeyCode::Right => BrowseKey::Open,
        KeyCode::Esc | KeyCode::Left => BrowseKey::Back,
        KeyCode::Backspace => BrowseKey::Erase,
        KeyCode::Char(character) => BrowseKey::Type(character),
        _ => return None,
    })
}

struct Browser {
    collection: SourceCollection,
    sessions: Arc<CatalogListing>,
    search: Option<CatalogSearch>,
    /// The running index update.
    index_update: Option<BackgroundUpdate>,
    readers: HashMap<usize, Box<dyn SessionReader>>,
    /// Messages to print after the terminal is restored.
    notes: Vec<String>,
}

impl Browser {
    fn new(mut collection: SourceCollection, sessions: CatalogListing) -> Browser {
        // The existing index is searched at once.
        let search = collection.catalog.searcher(&collection.sources, &sessions);
        let notes = collection.catalog.take_notes();
        let sessions = Arc::new(sessions);
        let (reading, readers) = (None, HashMap::new());
        Browser { collection, sessions, search, index_update: reading, readers, notes }
    }

    fn start_index_update(&mut self) {
        let (sources, sessions) = (self.collection.sources.clone(), Arc::clone(&self.sessions));
        let catalog = self.collection.another_catalog();
        self.index_update =
            Some(BackgroundUpdate::start(catalog, sources, sessions, settings::clock()));
    }

    /// Shows the progress of the index update; when it is done, repeats the last request.
    fn poll_index_update(&mut self, model: &mut BrowseModel) -> Option<BrowseRequest> {
        let has_ended = self.finish_index_update();
        model.reading =
            self.index_update.as_ref().map_or_else(String::new, BackgroundUpdate::progress_text);
        if has_ended { model.refreshed() } else { None }
    }

    /// Switches to the updated index if the update is done.
    fn finish_index_update(&mut self) -> bool {
        let Some(reading) = self.index_update.take_if(|reading| reading.is_done()) else {
            return false;
        };
        self.notes.extend(reading.finish());
        let SourceCollection { catalog, sources, .. } = &mut self.collection;
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

    fn session(&self, at: usize) -> Option<&CatalogSession> {
        self.sessions.sessions.get(at)
    }

    /// Returns all sessions as rows of the list.
    fn rows(&self) -> Vec<ListRow> {
        let now = settings::now();
        let row = |(at, session): (usize, &CatalogSession)| {
            let summary = &session.summary;
            let turns = summary.turns.map_or_else(|| "?".to_owned(), |turns| turns.to_string());
            let title = match summary.title == summary.session.id {
                true => summary.session.id.clone(),
                false => format!("{}  {}", summary.session.id, summary.title),
            };
            ListRow {
                session: at,
                at: None,
                title: one_line(&title),
                about: format!("{} {turns} {}", summary.layout, age(summary.updated, now)),
                folded: title.to_lowercase(),
            }
        };
        self.sessions.sessions.iter().enumerate().map(row).collect()
    }

    fn reader(&mut self, at: usize) -> Result<&dyn SessionReader, String> {
        if !self.readers.contains_key(&at) {
            let session = self.session(at).ok_or("the session no longer exists")?;
            let reader = open_session(&self.collection.sources, session)
                .map_err(|error| error.to_string())?;
            // Only a few sessions stay open; a session is reopened when needed.
            self.readers.clear();
            self.readers.insert(at, reader.ok_or("the session no longer exists")?);
        }
        self.readers
            .get(&at)
            .map(|reader| &**reader)
            .ok_or_else(|| "the session no longer exists".to_owned())
    }

    /// Reads the data that the model requested.
    fn fulfill(&mut self, wish: BrowseRequest, model: &mut BrowseModel) {
        match wish {
            BrowseRequest::Preview { session, at } => {
                let lines = self.preview(session, at);
                let lines = lines.unwrap_or_else(|error| vec![PageLine::Note(error)]);
                model.preview((session, at), lines);
            }
            BrowseRequest::Search(text) => {
                let next = match self.find(&text) {
                    Ok((rows, more)) => model.show_hits(&text, rows, more),
                    Err(error) => {
                        model.set_message(error);
                        model.request_preview()
                    }
                };
                if let Some(next) = next {
                    self.fulfill(next, model);
                }
            }
            BrowseRequest::Read { session, to } => match self.page(session, to) {
                Ok((page, scroll)) => model.show(session, page, scroll),
                Err(error) => model.set_message(error),
            },
            BrowseRequest::Export(session) => {
                let said = self.export(session).unwrap_or_else(|error| error);
                model.set_message(said);
            }
            BrowseRequest::Replay(_) | BrowseRequest::Quit => {}
        }
    }

    /// Reads the end of a session, or an entry and those after it.
    fn preview(
        &mut self,
        session: usize,
        at: Option<EntryPosition>,
    ) -> Result<Vec<PageLine>, String> {
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
            // A preview of a hit shows how it continues; other previews show the end.
            if at.is_some() && shown.len() == PREVIEWED {
                break;
            }
        }
        let mut lines: Vec<PageLine> =
            shown.iter().flat_map(|entry| lines(entry, Some(EXCERPT))).collect();
        if lines.is_empty() {
            lines.push(PageLine::Note("no messages yet".to_owned()));
        }
        Ok(lines)
    }

    /// Reads the part of a session around a target, and returns the scroll position.
    fn page(
        &mut self,
        session: usize,
        to: ScrollTarget,
    ) -> Result<(SessionPage, ScrollPosition), String> {
        let reader = self.reader(session)?;
        let last = (*reader.turns().map_err(|error| words(&error))?.end()).max(1);
        let (turns, found) = match to {
            ScrollTarget::Start => (1..=PAGE.min(last), None),
            ScrollTarget::End => (last.saturating_sub(PAGE - 1).max(1)..=last, None),
            ScrollTarget::Entry { at, .. } => (around(at.turn, last), Some(at)),
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
            ScrollTarget::Start => ScrollPosition::By(0),
            ScrollTarget::End => ScrollPosition::By(usize::MAX),
            ScrollTarget::Entry { at, rows } => {
                let is_there = |line: &PageLine| matches!(line, PageLine::Heading { at: other, .. } if *other >= at);
                ScrollPosition::To {
                    line: all.iter().position(is_there).unwrap_or(all.len()),
                    rows,
                }
            }
        };
        Ok((SessionPage { lines: all, turns, all: 1..=last }, scroll))
    }

    /// Returns the entries that match a query, and whether there are more.
    fn find(&mut self, text: &str) -> Result<(Vec<ListRow>, bool), String> {
        let query =
            Query::parse(text, settings::now()).map_err(|error| one_line(&error.to_string()))?;
        self.finish_index_update();
        let SourceCollection { catalog, sources, .. } = &mut self.collection;
        if self.search.is_none() && self.index_update.is_some() {
            // An index that is being built may have content by now.
            self.search = catalog.searcher(sources, &self.sessions);
            drop(catalog.take_notes());
        }
        let limit = (MOST_HITS, SortOrder::Relevance);
        let found = match &self.search {
            Some(search) => {
                search.find(&self.sessions, &query, limit).map_err(|error| error.to_string())?
            }
            // The query is repeated when the index is ready.
            None if self.index_update.is_some() => SearchResults::default(),
            None => catalog.search(sources, &self.sessions, &query, limit),
        };
        let answered = found.similar.as_ref().unwrap_or(&query);
        Ok((self.hits(&found.hits, answered), found.more))
    }

    /// Returns hits as rows. Each session is read once: some formats find an entry only by reading from the start.
    fn hits(&mut self, hits: &[SearchHit], query: &Query) -> Vec<ListRow> {
        let mut places: BTreeMap<usize, HashMap<u64, usize>> = BTreeMap::new();
        // Sessions are opened along their main line, so hits in branches are left to `search`.
        for (place, hit) in hits.iter().enumerate().filter(|(_, hit)| hit.branch == 0) {
            places.entry(hit.session).or_default().insert(hit.seq, place);
        }
        let mut rows: BTreeMap<usize, ListRow> = BTreeMap::new();
        for (session, mut wanted) in places {
            let turns = || hits.iter().filter(|hit| hit.session == session).map(|hit| hit.turn);
            let (Some(first), Some(last)) = (turns().min(), turns().max()) else { continue };
            let id = self.session(session).map(|one| one.summary.session.id.clone());
            let id = id.unwrap_or_default();
            // A session that was removed since is skipped.
            let Ok(reader) = self.reader(session) else { continue };
            let Ok(mut entries) = reader.entries(first..=last) else { continue };
            while let Some(Ok(entry)) = entries.next() {
                let Some(place) = wanted.remove(&entry.seq) else { continue };
                let snippet = Snippet::of(&entry.readable_text(), query, SNIPPET);
                let row = ListRow {
                    session,
                    at: Some(EntryPosition { turn: entry.turn, seq: entry.seq }),
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

    /// Exports a session to a new file in the current directory.
    fn export(&mut self, session: usize) -> Result<String, String> {
        let summary = self.session(session).map(|one| one.summary.clone());
        let summary = summary.ok_or("the session no longer exists")?;
        let name = format!("{}.md", summary.session.id.replace(['/', '\\'], "-"));
        let reader = self.reader(session)?;
        let choices = ExportOptions::defaults_for(ExportFormat::Markdown, ExportStyle::Rich);
        let mask = ExportFormat::Markdown
            .masks_secrets()
            .then(|| SecretRules::standard() as &dyn SecretMask);
        let (template, now) = (None, settings::now());
        let export = Export {
            summary: &summary,
            reader,
            choices: &choices,
            mask,
            pictures: None,
            template,
            now,
        };
        // The progress line would appear in the middle of the screen.
        let write = || {
            let mut file = File::create(Path::new(&name), ExistingFile::Kept)?;
            let written =
                export.write(ExportFormat::Markdown, &mut file, &mut |_| ControlFlow::Continue(()));
            written.map_err(|error| exports::failed(error, Error::from))?;
            file.finish()
        };
        write().map_err(|error: Error| error.to_string())?;
        Ok(format!("written to {name}"))
    }

    fn replay(&mut self, session: usize, context: &mut Context) -> String {
        let Some(one) = self.session(session) else {
            return "the session no longer exists".to_owned();
        };
        let path = self.collection.shown(one);
        let mut play = || -> Result<(), Error> {
            let (found, reader) = context.read(&path)?;
            let all = reader.turns().map_err(|error| found.failed(error))?;
            let first = all.start() + 1;
            if first > *all.end() {
                return Err(Error::new(Exit::Request, "the session has no turns yet"));
            }
            let player = ReplayPlayer::new(first, *all.end(), first, None);
            match replay::play(player, &found, &*reader, context) {
                Err(EarlyExit::Failed(error)) => Err(error),
                _ => Ok(()),
            }
        };
        play().map_or_else(|error| error.to_string(), |()| String::new())
    }
}

/// Returns the turns to read around a turn.
fn around(turn: u64, last: u64) -> RangeInclusive<u64> {
    let from = turn.saturating_sub(PAGE / 2).max(1);
    from..=from.saturating_add(PAGE - 1).min(last.max(from))
}

/// Returns whether an entry is shown: bookkeeping of programs is not, unless it is a hit.
fn is_shown(entry: &Entry, found: Option<EntryPosition>) -> bool {
    !entry.kind.is_bookkeeping() || found.is_some_and(|at| at.seq == entry.seq)
}

/// Returns an entry as lines, with a limited number of characters of its text.
fn lines(entry: &Entry, excerpt: Option<usize>) -> [PageLine; 2] {
    let time = entry.time.map_or_else(String::new, |time| format!("  {time}"));
    let heading = one_line(&format!("[{}] {}{time}", entry.turn, entry.speaker));
    let text = escape_controls(entry.readable_text().trim_end());
    let cut: String = text.chars().take(excerpt.unwrap_or(usize::MAX)).collect();
    let more = if cut.len() < text.len() { "…" } else { "" };
    let at = EntryPosition { turn: entry.turn, seq: entry.seq };
    [PageLine::Heading { at, words: heading }, PageLine::Text(format!("{cut}{more}"))]
}

/// Returns the message of a session error.
fn words(error: &SessionError) -> String {
    error.to_string()
}

/// Returns untrusted text on one line.
fn one_line(text: &str) -> String {
    escape_controls(text).replace(['\n', '\t'], " ")
}
