//! [`BrowseModel`]: the state of the browser, and the effect of each key.

use super::view::{
    BrowseKey, BrowseRequest, BrowseView, EntryPosition, ListRow, PageLine, Preview,
    ScrollPosition, ScrollTarget, SessionPage,
};

/// The complete state of the browser.
#[derive(Debug, Clone)]
pub(crate) struct BrowseModel {
    sessions: Vec<ListRow>,
    pub(crate) place: String,
    /// The typed text.
    pub(crate) query: String,
    /// Sessions whose titles match, then the matching entries.
    pub(crate) rows: Vec<ListRow>,
    pub(crate) selected: usize,
    pub(crate) preview: Option<Preview>,
    pub(crate) view: BrowseView,
    pub(crate) message: String,
    /// The progress of the index update, while it runs.
    pub(crate) reading: String,
    /// The number of screen lines of the list or session; set by the screen.
    pub(crate) height: usize,
    /// The maximum scroll position of a session; set by the screen.
    pub(crate) most: usize,
    /// The entry at the top of the screen, and how many of its lines are above; set by the screen.
    pub(crate) top: Option<(EntryPosition, usize)>,
}

impl BrowseModel {
    pub(crate) fn new(sessions: Vec<ListRow>, place: String) -> BrowseModel {
        BrowseModel {
            rows: sessions.clone(),
            sessions,
            place,
            query: String::new(),
            selected: 0,
            preview: None,
            view: BrowseView::List,
            message: String::new(),
            reading: String::new(),
            height: 10,
            most: 0,
            top: None,
        }
    }

    /// Returns the request to fulfill before the first key.
    pub(crate) fn first_request(&self) -> Option<BrowseRequest> {
        self.request_preview()
    }

    pub(crate) fn total(&self) -> usize {
        self.sessions.len()
    }

    fn row(&self) -> Option<&ListRow> {
        self.rows.get(self.selected)
    }

    /// Requests the preview of the selected row.
    pub(crate) fn request_preview(&self) -> Option<BrowseRequest> {
        let row = self.row()?;
        Some(BrowseRequest::Preview { session: row.session, at: row.at })
    }

    pub(crate) fn set_message(&mut self, message: String) {
        self.message = message;
    }

    /// Stores a preview, unless the selection has changed since.
    pub(crate) fn preview(
        &mut self,
        (session, at): (usize, Option<EntryPosition>),
        lines: Vec<PageLine>,
    ) {
        if self.row().is_some_and(|row| (row.session, row.at) == (session, at)) {
            self.preview = Some(Preview { is_end: at.is_none(), lines });
        }
    }

    /// Stores search hits, unless the query has changed since, and requests their preview.
    pub(crate) fn show_hits(
        &mut self,
        query: &str,
        hits: Vec<ListRow>,
        more: bool,
    ) -> Option<BrowseRequest> {
        if self.query != query {
            return None;
        }
        self.rows.retain(|row| row.at.is_none());
        if self.view == BrowseView::List {
            let at_least = if more { "more than " } else { "" };
            let so_far = if self.reading.is_empty() { "" } else { " so far" };
            self.message = format!("{at_least}{} found{so_far}", hits.len());
        }
        self.rows.extend(hits);
        self.selected = self.selected.min(self.rows.len().saturating_sub(1));
        if self.rows.is_empty() {
            self.preview = None;
        }
        self.request_preview()
    }

    /// Repeats the search, because the index has more content.
    pub(crate) fn refreshed(&self) -> Option<BrowseRequest> {
        (!self.query.trim().is_empty()).then(|| BrowseRequest::Search(self.query.clone()))
    }

    /// Shows a part of a session at a scroll position.
    pub(crate) fn show(&mut self, session: usize, page: SessionPage, scroll: ScrollPosition) {
        self.message.clear();
        self.view = BrowseView::Session { session, page, scroll };
    }

    /// Handles a key.
    pub(crate) fn press(&mut self, key: BrowseKey) -> Option<BrowseRequest> {
        self.message.clear();
        let session = match &self.view {
            BrowseView::Session { session, .. } => Some(*session),
            BrowseView::List => self.row().map(|row| row.session),
        };
        match key {
            BrowseKey::Quit => return Some(BrowseRequest::Quit),
            BrowseKey::Replay => return session.map(BrowseRequest::Replay),
            BrowseKey::Export => return session.map(BrowseRequest::Export),
            _ => {}
        }
        match self.view {
            BrowseView::List => self.press_in_list(key),
            BrowseView::Session { .. } => self.press_in_session(key),
        }
    }

    fn press_in_list(&mut self, key: BrowseKey) -> Option<BrowseRequest> {
        let last = self.rows.len().saturating_sub(1);
        let page = self.height.max(1);
        match key {
            BrowseKey::Up => self.selected = self.selected.saturating_sub(1),
            BrowseKey::Down => self.selected = (self.selected + 1).min(last),
            BrowseKey::PageUp => self.selected = self.selected.saturating_sub(page),
            BrowseKey::PageDown => self.selected = (self.selected + page).min(last),
            BrowseKey::First => self.selected = 0,
            BrowseKey::Last => self.selected = last,
            BrowseKey::Open => {
                let row = self.row()?;
                let to =
                    row.at.map_or(ScrollTarget::Start, |at| ScrollTarget::Entry { at, rows: 0 });
                return Some(BrowseRequest::Read { session: row.session, to });
            }
            BrowseKey::Back if self.query.is_empty() => return Some(BrowseRequest::Quit),
            BrowseKey::Back | BrowseKey::Clear => {
                self.query.clear();
                return self.typed();
            }
            BrowseKey::Erase => {
                self.query.pop();
                return self.typed();
            }
            BrowseKey::Type(character) => {
                self.query.push(character);
                return self.typed();
            }
            BrowseKey::Replay | BrowseKey::Export | BrowseKey::Quit => {}
        }
        self.request_preview()
    }

    /// Filters the list by the typed text, and requests a search.
    fn typed(&mut self) -> Option<BrowseRequest> {
        self.selected = 0;
        let query = self.query.to_lowercase();
        let fits = |row: &&ListRow| query.is_empty() || row.folded.contains(query.trim());
        self.rows = self.sessions.iter().filter(fits).cloned().collect();
        if self.query.trim().is_empty() {
            return self.request_preview();
        }
        Some(BrowseRequest::Search(self.query.clone()))
    }

    fn press_in_session(&mut self, key: BrowseKey) -> Option<BrowseRequest> {
        let height = isize::try_from(self.height.max(1)).unwrap_or(isize::MAX);
        let BrowseView::Session { session, page, scroll } = &mut self.view else { return None };
        let (session, to) = (
            *session,
            match key {
                BrowseKey::Up | BrowseKey::Type('k') => return self.scroll(-1),
                BrowseKey::Down | BrowseKey::Type('j') => return self.scroll(1),
                BrowseKey::PageUp | BrowseKey::Type('b') => return self.scroll(-height),
                BrowseKey::PageDown | BrowseKey::Type(' ') => return self.scroll(height),
                BrowseKey::First | BrowseKey::Type('g') if page.is_first() => {
                    *scroll = ScrollPosition::By(0);
                    return None;
                }
                BrowseKey::Last | BrowseKey::Type('G') if page.is_last() => {
                    *scroll = ScrollPosition::By(usize::MAX);
                    return None;
                }
                BrowseKey::First | BrowseKey::Type('g') => ScrollTarget::Start,
                BrowseKey::Last | BrowseKey::Type('G') => ScrollTarget::End,
                BrowseKey::Back | BrowseKey::Type('q') => {
                    self.view = BrowseView::List;
                    return self.request_preview();
                }
                _ => return None,
            },
        );
        Some(BrowseRequest::Read { session, to })
    }

    /// Scrolls by a number of screen lines. At the end of the part that was read, requests more of the session, around
    /// the entry at the top.
    fn scroll(&mut self, rows: isize) -> Option<BrowseRequest> {
        let BrowseView::Session { session, page, scroll } = &mut self.view else { return None };
        let at = match *scroll {
            ScrollPosition::By(at) => at.min(self.most),
            ScrollPosition::To { .. } => 0,
        };
        let wanted = at.saturating_add_signed(rows);
        let is_above = rows < 0 && at < rows.unsigned_abs() && !page.is_first();
        let is_below = rows > 0 && wanted > self.most && !page.is_last();
        if !is_above && !is_below {
            *scroll = ScrollPosition::By(wanted);
            return None;
        }
        // A part may have nothing to show at all.
        let turn = if is_above { *page.turns.start() } else { *page.turns.end() };
        let (at, below) = self.top.unwrap_or((EntryPosition { turn, seq: 0 }, 0));
        let rows = isize::try_from(below).unwrap_or(isize::MAX).saturating_add(rows);
        Some(BrowseRequest::Read { session: *session, to: ScrollTarget::Entry { at, rows } })
    }
}

#[cfg(test)]
mod tests {
    use std::ops::RangeInclusive;

    use super::*;

    fn row(session: usize, title: &str) -> ListRow {
        let (title, folded) = (title.to_owned(), title.to_lowercase());
        ListRow { session, at: None, title, about: "game 3 1d".to_owned(), folded }
    }

    fn model() -> BrowseModel {
        let rows = vec![row(0, "The old Tower"), row(1, "Dragon"), row(2, "A tower of sand")];
        BrowseModel::new(rows, "store".to_owned())
    }

    fn titles(model: &BrowseModel) -> Vec<&str> {
        model.rows.iter().map(|row| row.title.as_str()).collect()
    }

    #[test]
    fn keys_move_through_the_list_and_ask_for_previews() {
        let mut model = model();
        let preview = |session| Some(BrowseRequest::Preview { session, at: None });
        assert_eq!(model.first_request(), preview(0));
        assert_eq!(model.press(BrowseKey::Down), preview(1));
        assert_eq!(model.press(BrowseKey::Last), preview(2));
        assert_eq!(model.press(BrowseKey::Down), preview(2));
        assert_eq!(model.press(BrowseKey::PageUp), preview(0));
        assert_eq!(model.press(BrowseKey::Up), preview(0));
        assert_eq!(model.press(BrowseKey::Replay), Some(BrowseRequest::Replay(0)));
        assert_eq!(model.press(BrowseKey::Export), Some(BrowseRequest::Export(0)));
        assert_eq!(model.press(BrowseKey::Back), Some(BrowseRequest::Quit));
        let mut empty = BrowseModel::new(Vec::new(), String::new());
        assert_eq!((empty.press(BrowseKey::Down), empty.press(BrowseKey::Open)), (None, None));
        assert_eq!(empty.press(BrowseKey::Quit), Some(BrowseRequest::Quit));
    }

    #[test]
    fn typing_narrows_the_list_and_searches() {
        let mut model = model();
        model.press(BrowseKey::Down);
        for character in "towe".chars() {
            model.press(BrowseKey::Type(character));
        }
        assert_eq!(
            model.press(BrowseKey::Type('r')),
            Some(BrowseRequest::Search("tower".to_owned()))
        );
        assert_eq!(titles(&model), ["The old Tower", "A tower of sand"]);
        assert_eq!(model.selected, 0);
        let at = EntryPosition { turn: 7, seq: 9 };
        let hit = ListRow { at: Some(at), ..row(1, "…the tower…") };
        assert_eq!(model.show_hits("tow", vec![hit.clone()], false), None);
        assert_eq!(model.rows.len(), 2, "what was found for less is too late");
        let preview = |session| Some(BrowseRequest::Preview { session, at: None });
        assert_eq!(model.show_hits("tower", vec![hit.clone()], true), preview(0));
        assert_eq!(model.message, "more than 1 found");
        assert_eq!(model.refreshed(), Some(BrowseRequest::Search("tower".to_owned())));
        model.preview((1, Some(at)), vec![PageLine::Note("of another row".to_owned())]);
        assert_eq!(model.preview, None);
        assert_eq!(titles(&model), ["The old Tower", "A tower of sand", "…the tower…"]);
        model.press(BrowseKey::Last);
        let to = ScrollTarget::Entry { at, rows: 0 };
        assert_eq!(model.press(BrowseKey::Open), Some(BrowseRequest::Read { session: 1, to }));
        assert_eq!(model.press(BrowseKey::Back), preview(0));
        assert_eq!((model.query.as_str(), model.rows.len()), ("", 3));
        model.press(BrowseKey::Type('x'));
        assert_eq!(model.press(BrowseKey::Erase), preview(0));
        assert_eq!(model.refreshed(), None);
        // The only result is also the one previewed.
        for character in "gold".chars() {
            model.press(BrowseKey::Type(character));
        }
        let found = model.show_hits("gold", vec![hit], false);
        assert_eq!(found, Some(BrowseRequest::Preview { session: 1, at: Some(at) }));
    }

    #[test]
    fn a_session_is_read_on_where_what_was_read_of_it_ends() {
        let mut model = model();
        let page =
            |turns: RangeInclusive<u64>| SessionPage { lines: Vec::new(), turns, all: 1..=700 };
        model.show(1, page(1..=200), ScrollPosition::By(0));
        (model.most, model.top) = (50, Some((EntryPosition { turn: 3, seq: 5 }, 2)));
        assert_eq!(model.press(BrowseKey::Down), None);
        assert_eq!(
            model.press(BrowseKey::Last),
            Some(BrowseRequest::Read { session: 1, to: ScrollTarget::End })
        );
        let read = |turn: u64, rows: isize| {
            let to = ScrollTarget::Entry { at: EntryPosition { turn, seq: 5 }, rows };
            Some(BrowseRequest::Read { session: 1, to })
        };
        model.show(1, page(1..=200), ScrollPosition::By(50));
        assert_eq!(model.press(BrowseKey::Down), read(3, 3));
        assert_eq!(model.press(BrowseKey::PageDown), read(3, 12));
        assert_eq!(model.press(BrowseKey::First), None);
        assert_eq!(model.press(BrowseKey::Up), None);
        model.show(1, page(501..=700), ScrollPosition::By(4));
        assert_eq!(model.press(BrowseKey::PageUp), read(3, -8));
        assert_eq!(model.press(BrowseKey::Up), None);
        assert_eq!(model.press(BrowseKey::Last), None);
        assert_eq!(
            model.press(BrowseKey::First),
            Some(BrowseRequest::Read { session: 1, to: ScrollTarget::Start })
        );
    }

    #[test]
    fn a_session_is_scrolled_and_left() {
        let mut model = model();
        let lines = vec![PageLine::Text("a".to_owned())];
        model.show(1, SessionPage { lines, turns: 1..=1, all: 1..=1 }, ScrollPosition::By(0));
        model.most = 20;
        assert_eq!(model.press(BrowseKey::Down), None);
        assert!(matches!(
            model.view,
            BrowseView::Session { session: 1, scroll: ScrollPosition::By(1), .. }
        ));
        model.press(BrowseKey::PageDown);
        assert!(matches!(model.view, BrowseView::Session { scroll: ScrollPosition::By(11), .. }));
        model.press(BrowseKey::Type('g'));
        assert!(matches!(model.view, BrowseView::Session { scroll: ScrollPosition::By(0), .. }));
        assert_eq!(model.press(BrowseKey::Export), Some(BrowseRequest::Export(1)));
        assert_eq!(
            model.press(BrowseKey::Back),
            Some(BrowseRequest::Preview { session: 0, at: None })
        );
        assert_eq!(model.view, BrowseView::List);
    }
}
