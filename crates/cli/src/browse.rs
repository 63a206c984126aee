//! A browser for sessions on the terminal: a list, a preview, and search as one types.
//!
//! `keys -> Model (pure) -> screen (pure) -> terminal`: what is shown after which key is decided without a terminal.
//! What has to be read for that is a [`Wish`] of the model, which is granted here.

mod model;
mod screen;

use std::collections::HashMap;
use std::io;
use std::path::Path;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use everturn::layout::Reader;
use everturn::scan::Rules;
use everturn_catalog::{Detail, Query, Search, Session, Sessions, Snippet, Sort, entry, open};
use everturn_export::{Choices, Export, Format, Mask, Style};
use ratatui::Terminal as Screen;
use ratatui::backend::CrosstermBackend;

use crate::catalog::{Collection, age};
use crate::commands::Context;
use crate::error::{Error, Stop};
use crate::exit::Exit;
use crate::output::harmless;
use crate::replay::{self, Input, Player, Terminal};
use crate::target::Existing;
use crate::{settings, stories};

use model::{Key, Line, Model, Row, Wish};

/// How many hits of a search are shown.
const MOST_HITS: usize = 200;

/// How many entries a preview shows, and how many characters of each.
const PREVIEWED: usize = 12;
const EXCERPT: usize = 400;

/// How many entries are read at once in a session that was opened.
const PAGE: u64 = 200;

/// How many characters around what was found are shown.
const SNIPPET: usize = 100;

/// Lets the user look around until it is enough.
pub(crate) fn run(context: &mut Context) -> Result<Exit, Stop> {
    let mut collection = context.collection()?;
    let sessions = collection.sessions(Detail::All)?;
    let catalog = &mut collection.catalog;
    // What is there is searched at once; what is new since is read when the first search finds no index.
    let search = catalog.searcher(&collection.sources, &sessions);
    let mut browser = Browser { collection, sessions, search, readers: HashMap::new() };
    let mut model = Model::new(browser.rows(), browser.collection.place());
    context.out.flush()?;
    let failed = |cause| Error::new(Exit::Request, "the terminal failed").caused_by(cause);
    let mut terminal = Some(Terminal::take().map_err(failed)?);
    let new_screen = || Screen::new(CrosstermBackend::new(io::stdout()));
    let mut screen = new_screen().map_err(failed)?;
    let mut wish = model.first_wish();
    loop {
        match wish.take() {
            Some(Wish::Quit) => {
                drop(terminal);
                browser.collection.mention_notes();
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
        wish = match terminal.wait_for(None, meaning).map_err(failed)? {
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
    sessions: Sessions,
    search: Option<Search>,
    readers: HashMap<usize, Box<dyn Reader>>,
}

impl Browser {
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
                turn: None,
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
            Wish::Preview { session, turn } => {
                let lines = self.preview(session, turn);
                model.preview(session, lines.unwrap_or_else(|error| vec![Line::Note(error)]));
            }
            Wish::Search(text) => match self.find(&text) {
                Ok(rows) => model.found(&text, rows),
                Err(error) => model.say(error),
            },
            Wish::Read { session, turn } => match self.page(session, turn) {
                Ok((lines, at)) => model.show(session, lines, at),
                Err(error) => model.say(error),
            },
            Wish::Export(session) => {
                let said = self.export(session).unwrap_or_else(|error| error);
                model.say(said);
            }
            Wish::Replay(_) | Wish::Quit => {}
        }
    }

    /// The end of a session, or what stands around a turn of it.
    fn preview(&mut self, session: usize, turn: Option<u64>) -> Result<Vec<Line>, String> {
        let reader = self.reader(session)?;
        let all = reader.turns().map_err(|error| error.to_string())?;
        let last = *all.end();
        let from = match turn {
            Some(turn) => turn.saturating_sub(1),
            None => last.saturating_sub(PREVIEWED as u64 - 1),
        };
        let entries = reader.entries(from.max(1)..=last).map_err(|error| error.to_string())?;
        let mut lines = read(entries, PREVIEWED, Some(EXCERPT))?;
        if lines.is_empty() {
            lines.push(Line::Note("nothing was said yet".to_owned()));
        }
        Ok(lines)
    }

    /// A part of a session in which a turn stands, and where it begins there.
    fn page(&mut self, session: usize, turn: Option<u64>) -> Result<(Vec<Line>, usize), String> {
        let reader = self.reader(session)?;
        let all = reader.turns().map_err(|error| error.to_string())?;
        let from = turn.unwrap_or(1).saturating_sub(PAGE / 2).max(1);
        let to = (from + PAGE).min(*all.end());
        let entries = reader.entries(from..=to).map_err(|error| error.to_string())?;
        let lines = read(entries, usize::MAX, None)?;
        let at = lines
            .iter()
            .position(|line| matches!(line, Line::Heading { turn: at, .. } if Some(*at) >= turn));
        Ok((lines, at.unwrap_or(0)))
    }

    fn find(&mut self, text: &str) -> Result<Vec<Row>, String> {
        let query = Query::parse(text, settings::now()).map_err(|error| error.to_string())?;
        if self.search.is_none() {
            let Collection { catalog, sources, .. } = &mut self.collection;
            catalog.update(sources, &self.sessions, settings::clock(), &mut |_| {});
            self.search = catalog.searcher(sources, &self.sessions);
        }
        let limit = (MOST_HITS, Sort::Relevance);
        let found = match &self.search {
            Some(search) => {
                search.find(&self.sessions, &query, limit).map_err(|error| error.to_string())?
            }
            None => {
                let Collection { catalog, sources, .. } = &mut self.collection;
                catalog.search(sources, &self.sessions, &query, limit)
            }
        };
        let mut rows = Vec::new();
        for hit in &found.hits {
            let Ok(Some(entry)) =
                self.reader(hit.session).map(|reader| entry(reader, hit).ok().flatten())
            else {
                continue;
            };
            let id = self.session(hit.session).map(|one| one.summary.place.id.clone());
            let snippet = Snippet::of(&entry.text, &query, SNIPPET);
            rows.push(Row {
                session: hit.session,
                turn: Some(hit.turn),
                title: one_line(&snippet.text),
                about: one_line(&format!("{}#{}", id.unwrap_or_default(), hit.turn)),
                folded: String::new(),
            });
        }
        Ok(rows)
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
        let (path, existing) = (Path::new(&name), Existing::Kept);
        stories::write_file(&export, Format::Markdown, path, existing, Error::from)
            .map_err(|error| error.to_string())?;
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

/// Entries as lines to be shown.
fn read(
    mut entries: Box<dyn everturn::layout::Stream<Item = everturn::view::Entry> + '_>,
    most: usize,
    excerpt: Option<usize>,
) -> Result<Vec<Line>, String> {
    let mut lines = Vec::new();
    let mut count = 0;
    while let Some(entry) = entries.next() {
        let entry = entry.map_err(|error| error.to_string())?;
        let time = entry.time.map_or_else(String::new, |time| format!("  {time}"));
        let words = one_line(&format!("[{}] {}{time}", entry.turn, entry.speaker));
        lines.push(Line::Heading { turn: entry.turn, words });
        let text = harmless(entry.text.trim_end());
        let cut: String = text.chars().take(excerpt.unwrap_or(usize::MAX)).collect();
        let more = if cut.len() < text.len() { "…" } else { "" };
        lines.push(Line::Text(format!("{cut}{more}")));
        count += 1;
        if count >= most {
            break;
        }
    }
    Ok(lines)
}

/// Text that somebody else wrote, on one line.
fn one_line(text: &str) -> String {
    harmless(text).replace(['\n', '\t'], " ")
}
