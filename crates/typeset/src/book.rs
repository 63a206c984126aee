//! What a book says: its front matter, its chapters, and the blocks that they are made of.

/// A whole book.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Book {
    /// What stands on the title page, and what the file says about itself.
    pub front: FrontMatter,
    /// The chapters, in reading order.
    pub chapters: Vec<Chapter>,
}

/// What stands on the title page, and what the file says about itself. What is empty is left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FrontMatter {
    /// The title; also in the running heads.
    pub title: String,
    /// The subtitle.
    pub subtitle: String,
    /// Who wrote it.
    pub author: String,
    /// The lines at the foot of the title page, such as a date in words.
    pub imprint: String,
    /// The language as a BCP 47 tag, such as `en` or `de-AT`. It chooses hyphenation, and the word for
    /// the contents.
    pub language: String,
    /// When the file says that it was made. There is no clock here.
    pub date: Option<PdfDate>,
}

/// A moment in Coordinated Universal Time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PdfDate {
    /// The year.
    pub year: u16,
    /// The month, from 1.
    pub month: u8,
    /// The day, from 1.
    pub day: u8,
    /// The hour, from 0.
    pub hour: u8,
    /// The minute, from 0.
    pub minute: u8,
    /// The second, from 0.
    pub second: u8,
}

/// A chapter, which starts on a new page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chapter {
    /// The title; also in the running heads, the contents and the outline. A chapter without one is in
    /// none of them.
    pub title: String,
    /// What it is made of.
    pub blocks: Vec<Block>,
}

/// A piece of a chapter. In every text, a line feed ends a line and not the paragraph.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Block {
    /// A heading within a chapter; also in the outline.
    Heading {
        /// 1 for a section, 2 and more for what is below it.
        level: u8,
        /// The words of it.
        text: Vec<TextRun>,
    },
    /// A paragraph of the text.
    Paragraph(Vec<TextRun>),
    /// Who speaks in what follows.
    Speaker(SpeakerLine),
    /// A paragraph that somebody else wrote.
    Quotation(Vec<TextRun>),
    /// An item of a list.
    Item {
        /// 0 for a list, 1 for a list within an item, and so on.
        depth: u8,
        /// What stands before it.
        marker: ListMarker,
        /// The words of it.
        text: Vec<TextRun>,
    },
    /// Text whose lines and spaces are kept. Lines that are too long go on after an arrow.
    Code(String),
    /// A pause between scenes.
    Break,
    /// Something that is told and not said: a tool that was called, a state that changed.
    Note {
        /// What it is, in a word or two.
        label: String,
        /// What it says.
        text: Vec<TextRun>,
    },
}

/// Who speaks, and what is known about that.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpeakerLine {
    /// The name.
    pub who: String,
    /// The time, as it is to be read; may be empty.
    pub when: String,
    /// The kind of what is said, such as `out of character`; may be empty.
    pub kind: String,
    /// The number of the turn, which stands in the margin.
    pub turn: Option<u64>,
}

/// What stands before an item of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListMarker {
    /// A bullet.
    Bullet,
    /// A number.
    Number(u64),
    /// Nothing: the item goes on with another paragraph.
    None,
}

/// A piece of text in one style.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TextRun {
    /// The text.
    pub text: String,
    /// How it is meant.
    pub style: RunStyle,
}

/// How a piece of text is meant. The plain style is the default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct RunStyle {
    /// Strongly.
    pub bold: bool,
    /// With stress, or as a title.
    pub italic: bool,
    /// As something a machine reads; never hyphenated.
    pub code: bool,
    /// As the words of a link. There is nothing to click on: what a session links to is not trusted.
    pub link: bool,
}

impl TextRun {
    /// Plain text.
    pub fn plain(text: impl Into<String>) -> Self {
        Self { text: text.into(), style: RunStyle::default() }
    }

    /// Bold text.
    pub fn bold(text: impl Into<String>) -> Self {
        Self { text: text.into(), style: RunStyle { bold: true, ..RunStyle::default() } }
    }

    /// Italic text.
    pub fn italic(text: impl Into<String>) -> Self {
        Self { text: text.into(), style: RunStyle { italic: true, ..RunStyle::default() } }
    }

    /// Code among words.
    pub fn code(text: impl Into<String>) -> Self {
        Self { text: text.into(), style: RunStyle { code: true, ..RunStyle::default() } }
    }

    /// The words of a link.
    pub fn link(text: impl Into<String>) -> Self {
        Self { text: text.into(), style: RunStyle { link: true, ..RunStyle::default() } }
    }
}
