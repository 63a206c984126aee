//! What the browser shows and is asked for: keys, requests, and the parts of the screen.

use std::ops::RangeInclusive;

/// A key of the browser.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BrowseKey {
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

/// Work to be done before the screen is drawn again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum BrowseRequest {
    /// Read the end of a session, or an entry and those after it.
    Preview {
        session: usize,
        at: Option<EntryPosition>,
    },
    /// Run a query.
    Search(String),
    /// Read a part of a session.
    Read {
        session: usize,
        to: ScrollTarget,
    },
    Replay(usize),
    Export(usize),
    Quit,
}

/// The position of an entry: its turn, and its number in the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct EntryPosition {
    pub(crate) turn: u64,
    pub(crate) seq: u64,
}

/// The part of a session to show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ScrollTarget {
    Start,
    End,
    /// A number of screen lines below or above the start of an entry.
    Entry {
        at: EntryPosition,
        rows: isize,
    },
}

/// A session in the list, or a search hit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ListRow {
    pub(crate) session: usize,
    /// The entry of a hit.
    pub(crate) at: Option<EntryPosition>,
    pub(crate) title: String,
    pub(crate) about: String,
    /// The text that the list filter matches.
    pub(crate) folded: String,
}

/// A line of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PageLine {
    Heading { at: EntryPosition, words: String },
    Text(String),
    Note(String),
}

/// The current view.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum BrowseView {
    /// The list with its preview.
    List,
    /// A session, with its scroll position.
    Session { session: usize, page: SessionPage, scroll: ScrollPosition },
}

/// A part of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SessionPage {
    pub(crate) lines: Vec<PageLine>,
    /// The turns that were read, and all turns of the session.
    pub(crate) turns: RangeInclusive<u64>,
    pub(crate) all: RangeInclusive<u64>,
}

impl SessionPage {
    pub(super) fn is_first(&self) -> bool {
        self.turns.start() <= self.all.start()
    }

    pub(super) fn is_last(&self) -> bool {
        self.turns.end() >= self.all.end()
    }
}

/// The preview beside the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Preview {
    /// Whether it is the end of a session, so that its last line matters most.
    pub(crate) is_end: bool,
    pub(crate) lines: Vec<PageLine>,
}

/// The scroll position of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ScrollPosition {
    /// A number of screen lines after or before the line with this index.
    To { line: usize, rows: isize },
    /// A number of screen lines from the top.
    By(usize),
}
