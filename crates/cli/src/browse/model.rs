//! Where the browser is, and what each key does to it.

use std::ops::RangeInclusive;

/// What a key asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Key {
    Up,
    Down,
    PageUp,
    PageDown,
    First,
    Last,
    Open,
    Back,
    Erase,
    Clear,
    Type(char),
    Replay,
    Export,
    Quit,
}

/// What has to be read, or done, before the screen is drawn again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Wish {
    /// The end of a session, or an entry and what comes after it.
    Preview {
        session: usize,
        at: Option<At>,
    },
    /// What a query finds.
    Search(String),
    /// A part of a session.
    Read {
        session: usize,
        to: Target,
    },
    Replay(usize),
    Export(usize),
    Quit,
}

/// An entry of a session: its turn, and its place among all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct At {
    pub(crate) turn: u64,
    pub(crate) seq: u64,
}

/// What of a session is to be seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target {
    Start,
    End,
    /// So many lines of the screen below the beginning of an entry, or above it.
    Entry {
        at: At,
        rows: isize,
    },
}

/// A session in the list, or an entry that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) session: usize,
    /// The entry that was found.
    pub(crate) at: Option<At>,
    pub(crate) title: String,
    pub(crate) about: String,
    /// By what it is found in the list.
    pub(crate) folded: String,
}

/// A line of what was said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Line {
    Heading { at: At, words: String },
    Text(String),
    Note(String),
}

/// What fills the screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum View {
    /// The list with its preview.
    List,
    /// A session, scrolled down by so many lines of the screen, or to one of its own lines.
    Session { session: usize, page: Page, scroll: Scroll },
}

/// A part of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Page {
    pub(crate) lines: Vec<Line>,
    /// The turns that were read, and all that there are.
    pub(crate) turns: RangeInclusive<u64>,
    pub(crate) all: RangeInclusive<u64>,
}

impl Page {
    fn is_first(&self) -> bool {
        self.turns.start() <= self.all.start()
    }

    fn is_last(&self) -> bool {
        self.turns.end() >= self.all.end()
    }
}

/// What stands beside the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Preview {
    /// Whether it is the end of a session, so that its last line matters most.
    pub(crate) is_end: bool,
    pub(crate) lines: Vec<Line>,
}

/// How far a session is scrolled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scroll {
    /// To the line with this number among those that were read, and so many lines of the screen on, or back.
    To { line: usize, rows: isize },
    /// By so many lines of the screen.
    By(usize),
}

/// Everything that decides what is shown.
#[derive(Debug, Clone)]
pub(crate) struct Model {
    sessions: Vec<Row>,
    pub(crate) place: String,
    /// What was typed.
    pub(crate) query: String,
    /// Sessions whose titles have it, then the entries that have it.
    pub(crate) rows: Vec<Row>,
    pub(crate) selected: usize,
    pub(crate) preview: Option<Preview>,
    pub(crate) view: View,
    pub(crate) message: String,
    /// How far the index is read, while it is.
    pub(crate) reading: String,
    /// How many lines the list or the session has on the screen; the screen says so.
    pub(crate) height: usize,
    /// How far a session can be scrolled; the screen says so.
    pub(crate) most: usize,
    /// The entry at the top of the screen, and how many lines of it are above; the screen says so.
    pub(crate) top: Option<(At, usize)>,
}

impl Model {
    pub(crate) fn new(sessions: Vec<Row>, place: String) -> Model {
        Model {
            rows: sessions.clone(),
            sessions,
            place,
            query: String::new(),
            selected: 0,
            preview: None,
            view: View::List,
            message: String::new(),
            reading: String::new(),
            height: 10,
            most: 0,
            top: None,
        }
    }

    /// What is to be read before anything was pressed.
    pub(crate) fn first_wish(&self) -> Option<Wish> {
        self.look()
    }

    pub(crate) fn total(&self) -> usize {
        self.sessions.len()
    }

    fn row(&self) -> Option<&Row> {
        self.rows.get(self.selected)
    }

    /// The preview of what is selected.
    pub(crate) fn look(&self) -> Option<Wish> {
        let row = self.row()?;
        Some(Wish::Preview { session: row.session, at: row.at })
    }

    pub(crate) fn say(&mut self, message: String) {
        self.message = message;
    }

    /// Takes in what a preview shows, unless something else was selected since.
    pub(crate) fn preview(&mut self, (session, at): (usize, Option<At>), lines: Vec<Line>) {
        if self.row().is_some_and(|row| (row.session, row.at) == (session, at)) {
            self.preview = Some(Preview { is_end: at.is_none(), lines });
        }
    }

    /// Takes in what a search has found, unless something else was typed since, and asks for the preview of it.
    pub(crate) fn found(&mut self, query: &str, hits: Vec<Row>, more: bool) -> Option<Wish> {
        if self.query != query {
            return None;
        }
        self.rows.retain(|row| row.at.is_none());
        if self.view == View::List {
            let at_least = if more { "more than " } else { "" };
            let so_far = if self.reading.is_empty() { "" } else { " so far" };
            self.message = format!("{at_least}{} found{so_far}", hits.len());
        }
        self.rows.extend(hits);
        self.selected = self.selected.min(self.rows.len().saturating_sub(1));
        if self.rows.is_empty() {
            self.preview = None;
        }
        self.look()
    }

    /// There is more to be found than when it was last asked for.
    pub(crate) fn refreshed(&self) -> Option<Wish> {
        (!self.query.trim().is_empty()).then(|| Wish::Search(self.query.clone()))
    }

    /// Takes in a part of a session, and where in it one begins.
    pub(crate) fn show(&mut self, session: usize, page: Page, scroll: Scroll) {
        self.message.clear();
        self.view = View::Session { session, page, scroll };
    }

    /// What a key does.
    pub(crate) fn press(&mut self, key: Key) -> Option<Wish> {
        self.message.clear();
        let session = match &self.view {
            View::Session { session, .. } => Some(*session),
            View::List => self.row().map(|row| row.session),
        };
        match key {
            Key::Quit => return Some(Wish::Quit),
            Key::Replay => return session.map(Wish::Replay),
            Key::Export => return session.map(Wish::Export),
            _ => {}
        }
        match self.view {
            View::List => self.press_in_list(key),
            View::Session { .. } => self.press_in_session(key),
        }
    }

    fn press_in_list(&mut self, key: Key) -> Option<Wish> {
        let last = self.rows.len().saturating_sub(1);
        let page = self.height.max(1);
        match key {
            Key::Up => self.selected = self.selected.saturating_sub(1),
            Key::Down => self.selected = (self.selected + 1).min(last),
            Key::PageUp => self.selected = self.selected.saturating_sub(page),
            Key::PageDown => self.selected = (self.selected + page).min(last),
            Key::First => self.selected = 0,
            Key::Last => self.selected = last,
            Key::Open => {
                let row = self.row()?;
                let to = row.at.map_or(Target::Start, |at| Target::Entry { at, rows: 0 });
                return Some(Wish::Read { session: row.session, to });
            }
            Key::Back if self.query.is_empty() => return Some(Wish::Quit),
            Key::Back | Key::Clear => {
                self.query.clear();
                return self.typed();
            }
            Key::Erase => {
                self.query.pop();
                return self.typed();
            }
            Key::Type(character) => {
                self.query.push(character);
                return self.typed();
            }
            Key::Replay | Key::Export | Key::Quit => {}
        }
        self.look()
    }

    /// Narrows the list to what was typed, and asks for what was said.
    fn typed(&mut self) -> Option<Wish> {
        self.selected = 0;
        let query = self.query.to_lowercase();
        let fits = |row: &&Row| query.is_empty() || row.folded.contains(query.trim());
        self.rows = self.sessions.iter().filter(fits).cloned().collect();
        if self.query.trim().is_empty() {
            return self.look();
        }
        Some(Wish::Search(self.query.clone()))
    }

    fn press_in_session(&mut self, key: Key) -> Option<Wish> {
        let height = isize::try_from(self.height.max(1)).unwrap_or(isize::MAX);
        let View::Session { session, page, scroll } = &mut self.view else { return None };
        let (session, to) = (
            *session,
            match key {
                Key::Up | Key::Type('k') => return self.scroll(-1),
                Key::Down | Key::Type('j') => return self.scroll(1),
                Key::PageUp | Key::Type('b') => return self.scroll(-height),
                Key::PageDown | Key::Type(' ') => return self.scroll(height),
                Key::First | Key::Type('g') if page.is_first() => {
                    *scroll = Scroll::By(0);
                    return None;
                }
                Key::Last | Key::Type('G') if page.is_last() => {
                    *scroll = Scroll::By(usize::MAX);
                    return None;
                }
                Key::First | Key::Type('g') => Target::Start,
                Key::Last | Key::Type('G') => Target::End,
                Key::Back | Key::Type('q') => {
                    self.view = View::List;
                    return self.look();
                }
                _ => return None,
            },
        );
        Some(Wish::Read { session, to })
    }

    /// Goes on by so many lines of the screen, or back. Where what was read ends and the session does not, more of it
    /// is asked for, around the entry at the top.
    fn scroll(&mut self, rows: isize) -> Option<Wish> {
        let View::Session { session, page, scroll } = &mut self.view else { return None };
        let at = match *scroll {
            Scroll::By(at) => at.min(self.most),
            Scroll::To { .. } => 0,
        };
        let wanted = at.saturating_add_signed(rows);
        let is_above = rows < 0 && at < rows.unsigned_abs() && !page.is_first();
        let is_below = rows > 0 && wanted > self.most && !page.is_last();
        if !is_above && !is_below {
            *scroll = Scroll::By(wanted);
            return None;
        }
        // A part may have nothing to show at all.
        let turn = if is_above { *page.turns.start() } else { *page.turns.end() };
        let (at, below) = self.top.unwrap_or((At { turn, seq: 0 }, 0));
        let rows = isize::try_from(below).unwrap_or(isize::MAX).saturating_add(rows);
        Some(Wish::Read { session: *session, to: Target::Entry { at, rows } })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(session: usize, title: &str) -> Row {
        let (title, folded) = (title.to_owned(), title.to_lowercase());
        Row { session, at: None, title, about: "game 3 1d".to_owned(), folded }
    }

    fn model() -> Model {
        let rows = vec![row(0, "The old Tower"), row(1, "Dragon"), row(2, "A tower of sand")];
        Model::new(rows, "store".to_owned())
    }

    fn titles(model: &Model) -> Vec<&str> {
        model.rows.iter().map(|row| row.title.as_str()).collect()
    }

    #[test]
    fn keys_move_through_the_list_and_ask_for_previews() {
        let mut model = model();
        let preview = |session| Some(Wish::Preview { session, at: None });
        assert_eq!(model.first_wish(), preview(0));
        assert_eq!(model.press(Key::Down), preview(1));
        assert_eq!(model.press(Key::Last), preview(2));
        assert_eq!(model.press(Key::Down), preview(2));
        assert_eq!(model.press(Key::PageUp), preview(0));
        assert_eq!(model.press(Key::Up), preview(0));
        assert_eq!(model.press(Key::Replay), Some(Wish::Replay(0)));
        assert_eq!(model.press(Key::Export), Some(Wish::Export(0)));
        assert_eq!(model.press(Key::Back), Some(Wish::Quit));
        let mut empty = Model::new(Vec::new(), String::new());
        assert_eq!((empty.press(Key::Down), empty.press(Key::Open)), (None, None));
        assert_eq!(empty.press(Key::Quit), Some(Wish::Quit));
    }

    #[test]
    fn typing_narrows_the_list_and_searches() {
        let mut model = model();
        model.press(Key::Down);
        for character in "towe".chars() {
            model.press(Key::Type(character));
        }
        assert_eq!(model.press(Key::Type('r')), Some(Wish::Search("tower".to_owned())));
        assert_eq!(titles(&model), ["The old Tower", "A tower of sand"]);
        assert_eq!(model.selected, 0);
        let at = At { turn: 7, seq: 9 };
        let hit = Row { at: Some(at), ..row(1, "…the tower…") };
        assert_eq!(model.found("tow", vec![hit.clone()], false), None);
        assert_eq!(model.rows.len(), 2, "what was found for less is too late");
        let preview = |session| Some(Wish::Preview { session, at: None });
        assert_eq!(model.found("tower", vec![hit.clone()], true), preview(0));
        assert_eq!(model.message, "more than 1 found");
        assert_eq!(model.refreshed(), Some(Wish::Search("tower".to_owned())));
        model.preview((1, Some(at)), vec![Line::Note("of another row".to_owned())]);
        assert_eq!(model.preview, None);
        assert_eq!(titles(&model), ["The old Tower", "A tower of sand", "…the tower…"]);
        model.press(Key::Last);
        let to = Target::Entry { at, rows: 0 };
        assert_eq!(model.press(Key::Open), Some(Wish::Read { session: 1, to }));
        assert_eq!(model.press(Key::Back), preview(0));
        assert_eq!((model.query.as_str(), model.rows.len()), ("", 3));
        model.press(Key::Type('x'));
        assert_eq!(model.press(Key::Erase), preview(0));
        assert_eq!(model.refreshed(), None);
        // What is found alone is what the preview is of.
        for character in "gold".chars() {
            model.press(Key::Type(character));
        }
        let found = model.found("gold", vec![hit], false);
        assert_eq!(found, Some(Wish::Preview { session: 1, at: Some(at) }));
    }

    #[test]
    fn a_session_is_read_on_where_what_was_read_of_it_ends() {
        let mut model = model();
        let page = |turns: RangeInclusive<u64>| Page { lines: Vec::new(), turns, all: 1..=700 };
        model.show(1, page(1..=200), Scroll::By(0));
        (model.most, model.top) = (50, Some((At { turn: 3, seq: 5 }, 2)));
        assert_eq!(model.press(Key::Down), None);
        assert_eq!(model.press(Key::Last), Some(Wish::Read { session: 1, to: Target::End }));
        let read = |turn: u64, rows: isize| {
            let to = Target::Entry { at: At { turn, seq: 5 }, rows };
            Some(Wish::Read { session: 1, to })
        };
        model.show(1, page(1..=200), Scroll::By(50));
        assert_eq!(model.press(Key::Down), read(3, 3));
        assert_eq!(model.press(Key::PageDown), read(3, 12));
        assert_eq!(model.press(Key::First), None);
        assert_eq!(model.press(Key::Up), None);
        model.show(1, page(501..=700), Scroll::By(4));
        assert_eq!(model.press(Key::PageUp), read(3, -8));
        assert_eq!(model.press(Key::Up), None);
        assert_eq!(model.press(Key::Last), None);
        assert_eq!(model.press(Key::First), Some(Wish::Read { session: 1, to: Target::Start }));
    }

    #[test]
    fn a_session_is_scrolled_and_left() {
        let mut model = model();
        let lines = vec![Line::Text("a".to_owned())];
        model.show(1, Page { lines, turns: 1..=1, all: 1..=1 }, Scroll::By(0));
        model.most = 20;
        assert_eq!(model.press(Key::Down), None);
        assert!(matches!(model.view, View::Session { session: 1, scroll: Scroll::By(1), .. }));
        model.press(Key::PageDown);
        assert!(matches!(model.view, View::Session { scroll: Scroll::By(11), .. }));
        model.press(Key::Type('g'));
        assert!(matches!(model.view, View::Session { scroll: Scroll::By(0), .. }));
        assert_eq!(model.press(Key::Export), Some(Wish::Export(1)));
        assert_eq!(model.press(Key::Back), Some(Wish::Preview { session: 0, at: None }));
        assert_eq!(model.view, View::List);
    }
}
