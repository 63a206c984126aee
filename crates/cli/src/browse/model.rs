//! Where the browser is, and what each key does to it.

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
    /// The end of a session, or what stands around a turn.
    Preview {
        session: usize,
        turn: Option<u64>,
    },
    /// What a query finds.
    Search(String),
    /// The entries of a session, from its beginning or around a turn.
    Read {
        session: usize,
        turn: Option<u64>,
    },
    Replay(usize),
    Export(usize),
    Quit,
}

/// A session in the list, or an entry that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) session: usize,
    /// The turn that was found.
    pub(crate) turn: Option<u64>,
    pub(crate) title: String,
    pub(crate) about: String,
    /// By what it is found in the list.
    pub(crate) folded: String,
}

/// A line of what was said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Line {
    Heading { turn: u64, words: String },
    Text(String),
    Note(String),
}

/// What fills the screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum View {
    /// The list with its preview.
    List,
    /// A session, scrolled down by so many lines of the screen, or to one of its own lines.
    Session { session: usize, lines: Vec<Line>, scroll: Scroll },
}

/// How far a session is scrolled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scroll {
    /// To the line with this number among those that were read.
    To(usize),
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
    pub(crate) preview: Option<(usize, Vec<Line>)>,
    pub(crate) view: View,
    pub(crate) message: String,
    /// How many lines the list or the session has on the screen; the screen says so.
    pub(crate) height: usize,
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
            height: 10,
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

    /// The preview of what is selected, unless it is there.
    fn look(&self) -> Option<Wish> {
        let row = self.row()?;
        Some(Wish::Preview { session: row.session, turn: row.turn })
    }

    pub(crate) fn say(&mut self, message: String) {
        self.message = message;
    }

    /// Takes in what a preview shows, unless something else was selected since.
    pub(crate) fn preview(&mut self, session: usize, lines: Vec<Line>) {
        if self.row().is_some_and(|row| row.session == session) {
            self.preview = Some((session, lines));
        }
    }

    /// Takes in what a search has found, unless something else was typed since.
    pub(crate) fn found(&mut self, query: &str, hits: Vec<Row>) {
        if self.query != query {
            return;
        }
        self.rows.retain(|row| row.turn.is_none());
        self.message = format!("{} found", hits.len());
        self.rows.extend(hits);
    }

    /// Takes in the entries of a session, and begins at one of the lines.
    pub(crate) fn show(&mut self, session: usize, lines: Vec<Line>, at: usize) {
        self.message.clear();
        self.view = View::Session { session, lines, scroll: Scroll::To(at) };
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
                return Some(Wish::Read { session: row.session, turn: row.turn });
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
        let height = self.height.max(1);
        let View::Session { scroll, .. } = &mut self.view else { return None };
        let at = match *scroll {
            Scroll::By(at) | Scroll::To(at) => at,
        };
        *scroll = Scroll::By(match key {
            Key::Up | Key::Type('k') => at.saturating_sub(1),
            Key::Down | Key::Type('j') => at.saturating_add(1),
            Key::PageUp | Key::Type('b') => at.saturating_sub(height),
            Key::PageDown | Key::Type(' ') => at.saturating_add(height),
            Key::First | Key::Type('g') => 0,
            Key::Last | Key::Type('G') => usize::MAX,
            Key::Back | Key::Type('q') => {
                self.view = View::List;
                return self.look();
            }
            _ => at,
        });
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(session: usize, title: &str) -> Row {
        let (title, folded) = (title.to_owned(), title.to_lowercase());
        Row { session, turn: None, title, about: "game 3 1d".to_owned(), folded }
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
        let preview = |session| Some(Wish::Preview { session, turn: None });
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
        let hit = Row { turn: Some(7), ..row(1, "…the tower…") };
        model.found("tow", vec![hit.clone()]);
        assert_eq!(model.rows.len(), 2, "what was found for less is too late");
        model.found("tower", vec![hit]);
        assert_eq!(titles(&model), ["The old Tower", "A tower of sand", "…the tower…"]);
        model.press(Key::Last);
        assert_eq!(model.press(Key::Open), Some(Wish::Read { session: 1, turn: Some(7) }));
        assert_eq!(model.press(Key::Back), Some(Wish::Preview { session: 0, turn: None }));
        assert_eq!((model.query.as_str(), model.rows.len()), ("", 3));
        model.press(Key::Type('x'));
        assert_eq!(model.press(Key::Erase), Some(Wish::Preview { session: 0, turn: None }));
    }

    #[test]
    fn a_session_is_scrolled_and_left() {
        let mut model = model();
        model.show(1, vec![Line::Text("a".to_owned())], 0);
        assert_eq!(model.press(Key::Down), None);
        assert!(matches!(model.view, View::Session { session: 1, scroll: Scroll::By(1), .. }));
        model.press(Key::PageDown);
        assert!(matches!(model.view, View::Session { scroll: Scroll::By(11), .. }));
        model.press(Key::Type('g'));
        assert!(matches!(model.view, View::Session { scroll: Scroll::By(0), .. }));
        assert_eq!(model.press(Key::Export), Some(Wish::Export(1)));
        assert_eq!(model.press(Key::Back), Some(Wish::Preview { session: 0, turn: None }));
        assert_eq!(model.view, View::List);
    }
}
