//! A terminal browser for sessions: a list, a preview, and search as you type.
//!
//! `keys -> BrowseModel (pure) -> screen (pure) -> terminal`: the screen after each key is decided without a terminal.
//! Data that the model needs is requested with a [`BrowseRequest`], which is fulfilled here.

mod background_reader;
mod background_update;
mod model;
mod reader;
mod screen;
mod view;

use std::io;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use everturn::scan::SecretRules;
use everturn_catalog::{CatalogListing, CatalogSession, SummaryDetail};
use everturn_export::{Export, ExportFormat, ExportOptions, ExportStyle, SecretMask};
use ratatui::Terminal as Screen;
use ratatui::backend::CrosstermBackend;

use crate::atomic_file::{AtomicFile as File, ExistingFile};
use crate::catalog::{SourceCollection, age, collection};
use crate::context::Context;
use crate::error::{EarlyExit, Error};
use crate::exit::Exit;
use crate::output::Output;
use crate::replay::{self, ReplayPlayer, Terminal, TerminalInput};
use crate::session_line::{ShortIds, project_word, titled};
use crate::{exports, overview, settings};

use background_reader::{BackgroundAnswer, BackgroundReader};
use background_update::BackgroundUpdate;
use model::BrowseModel;
use reader::{BrowseReader, one_line};
use view::{BrowseKey, BrowseRequest, ListRow};

/// How often the index update is polled, and the thread that searches and reads previews.
const TICK: Duration = Duration::from_millis(100);
const SOON: Duration = Duration::from_millis(15);

/// Runs the browser until the user quits.
pub(crate) fn run(context: &mut Context) -> Result<Exit, EarlyExit> {
    let mut collection = collection(context)?;
    let mut sessions = collection.sessions(SummaryDetail::All)?;
    collection.catalog.add_indexed_turns(&collection.sources, &mut sessions.sessions);
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
        let wished = wish.take().or_else(|| browser.poll_index_update(&mut model));
        match wished.or_else(|| browser.poll_background(&mut model)) {
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
        let patience = match browser.background.is_busy() {
            true => Some(SOON),
            false => browser.index_update.is_some().then_some(TICK),
        };
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
    ids: Arc<ShortIds>,
    /// Searches and reads previews, so that typing never waits.
    background: BackgroundReader,
    /// The running index update.
    index_update: Option<BackgroundUpdate>,
    reader: BrowseReader,
    /// Messages to print after the terminal is restored.
    notes: Vec<String>,
}

impl Browser {
    fn new(mut collection: SourceCollection, sessions: CatalogListing) -> Browser {
        let notes = collection.catalog.take_notes();
        let ids = Arc::new(ShortIds::new(&sessions));
        let sessions = Arc::new(sessions);
        let background = BackgroundReader::start(
            collection.another_catalog(),
            collection.sources.clone(),
            Arc::clone(&sessions),
            Arc::clone(&ids),
        );
        let sources = collection.sources.clone();
        let reader = BrowseReader::new(sources, Arc::clone(&sessions), Arc::clone(&ids));
        let index_update = None;
        Browser { collection, sessions, ids, background, index_update, reader, notes }
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
        self.background.note_update(has_ended, self.index_update.is_some());
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
        true
    }

    /// Shows what the background thread has found or read.
    fn poll_background(&mut self, model: &mut BrowseModel) -> Option<BrowseRequest> {
        match self.background.answer()? {
            BackgroundAnswer::Found { query, result: Ok(found) } => {
                let is_current = model.query == query;
                let next = model.show_hits(&query, found.rows, found.more);
                if is_current && found.is_similar {
                    model.message.push_str("; no exact match, these are similar words");
                }
                next
            }
            BackgroundAnswer::Found { query, result: Err(error) } => {
                if model.query == query {
                    model.set_message(error);
                }
                model.request_preview()
            }
            BackgroundAnswer::Preview { of, lines } => {
                model.preview(of, lines);
                None
            }
        }
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
            let id = &summary.session.id;
            let (short, project) = (self.ids.short(id), project_word(session));
            let age = age(summary.updated, now);
            ListRow {
                session: at,
                at: None,
                title: titled(session),
                about: one_line(&format!("{short}  {age}  {project}  {turns} turns")),
                folded: format!("{id} {}", summary.title).to_lowercase(),
            }
        };
        self.sessions.sessions.iter().enumerate().map(row).collect()
    }

    /// Reads the data that the model requested.
    fn fulfill(&mut self, wish: BrowseRequest, model: &mut BrowseModel) {
        match wish {
            BrowseRequest::Preview { session, at } => self.background.preview(session, at),
            BrowseRequest::Search(text) => self.background.search(text),
            BrowseRequest::Read { session, to } => match self.reader.page(session, to) {
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

    /// Exports a session to a new file in the current directory.
    fn export(&mut self, session: usize) -> Result<String, String> {
        let summary = self.session(session).map(|one| one.summary.clone());
        let summary = summary.ok_or("the session no longer exists")?;
        let name = format!("{}.md", summary.session.id.replace(['/', '\\'], "-"));
        let reader = self.reader.reader(session)?;
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
