//! The content of a book: [`Book`], [`FrontMatter`], [`Chapter`], and the [`Block`]s and [`TextRun`]s in them.

/// A whole book.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Book {
    /// The content of the title page, and the metadata of the file.
    pub front: FrontMatter,
    /// The chapters, in reading order.
    pub chapters: Vec<Chapter>,
}

/// The content of the title page, and the metadata of the file. Empty fields are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FrontMatter {
    /// The title, also used in the running heads.
    pub title: String,
    /// The subtitle.
    pub subtitle: String,
    /// The author.
    pub author: String,
    /// The lines at the foot of the title page, such as a date in words.
    pub imprint: String,
    /// The language as a BCP 47 tag, such as `en` or `de-AT`. It selects the hyphenation, and the heading of the
    /// contents.
    pub language: String,
    /// The creation date in the metadata. This crate reads no clock.
    pub date: Option<PdfDate>,
}

/// A point in time in UTC.
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
    /// The title, also used in the running heads, the contents and the outline. A chapter without a title appears in
    /// none of them.
    pub title: String,
    /// The content of the chapter.
    pub blocks: Vec<Block>,
}

/// A block of a chapter. In every text, a line feed ends the line but not the paragraph.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Block {
    /// A heading within a chapter, also listed in the outline.
    Heading {
        /// 1 for a section, 2 and more for its subsections.
        level: u8,
        /// The text of the heading.
        text: Vec<TextRun>,
    },
    /// A text paragraph.
    Paragraph(Vec<TextRun>),
    /// The speaker of the following blocks.
    Speaker(SpeakerLine),
    /// A quoted paragraph.
    Quotation {
        /// 0 for a quotation, 1 for a quotation within one, and so on.
        depth: u8,
        /// The text of the paragraph.
        text: Vec<TextRun>,
    },
    /// An item of a list.
    Item {
        /// 0 for a top-level list, 1 for a list within an item, and so on.
        depth: u8,
        /// The marker before the item.
        marker: ListMarker,
        /// The text of the item.
        text: Vec<TextRun>,
    },
    /// Preformatted text. Lines that are too long continue after an arrow.
    Code(String),
    /// A table.
    Table(TableBlock),
    /// A picture. One that cannot be decoded is replaced by its caption.
    Picture(PictureBlock),
    /// A scene break.
    Break,
    /// A note outside the dialogue, such as a tool call or a state change.
    Note {
        /// The kind of note, in a word or two.
        label: String,
        /// The text of the note.
        text: Vec<TextRun>,
    },
}

/// A table, whose first row is its head.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableBlock {
    /// How the cells of each column are aligned.
    pub columns: Vec<ColumnAlign>,
    /// The cells, row by row.
    pub rows: Vec<Vec<Vec<TextRun>>>,
}

/// How the cells of a column are aligned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ColumnAlign {
    /// At the start of the line.
    #[default]
    Left,
    /// In the middle.
    Center,
    /// At the end of the line.
    Right,
}

/// A picture with its caption, which is also its alternative text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PictureBlock {
    /// The file.
    pub data: PictureData,
    /// The caption; may be empty.
    pub caption: String,
}

/// The file of a picture, by its format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PictureData {
    /// A PNG file.
    Png(Vec<u8>),
    /// A JPEG file.
    Jpeg(Vec<u8>),
    /// A GIF file, of which the first picture is shown.
    Gif(Vec<u8>),
    /// A WebP file.
    Webp(Vec<u8>),
}

/// The speaker, time, kind and turn number of the following text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpeakerLine {
    /// The name.
    pub who: String,
    /// The time in display form; may be empty.
    pub when: String,
    /// The kind of message, such as `out of character`; may be empty.
    pub kind: String,
    /// The turn number, which is printed in the margin.
    pub turn: Option<u64>,
}

/// The marker before a list item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListMarker {
    /// A bullet.
    Bullet,
    /// A number.
    Number(u64),
    /// A box, checked if the task is done.
    Task(bool),
    /// No marker: another paragraph of the same item.
    None,
}

/// A piece of text in one style.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TextRun {
    /// The text.
    pub text: String,
    /// The style of the text.
    pub style: RunStyle,
}

/// The style of a piece of text. The default is plain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct RunStyle {
    /// Bold.
    pub bold: bool,
    /// Italic: emphasis, or a title.
    pub italic: bool,
    /// Struck through.
    pub struck: bool,
    /// Inline code; never hyphenated.
    pub code: bool,
    /// The text of a link. It is not clickable, because the targets of links in a session are not trusted.
    pub link: bool,
}

impl TextRun {
    /// Creates plain text.
    pub fn plain(text: impl Into<String>) -> Self {
        Self { text: text.into(), style: RunStyle::default() }
    }

    /// Creates bold text.
    pub fn bold(text: impl Into<String>) -> Self {
        Self { text: text.into(), style: RunStyle { bold: true, ..RunStyle::default() } }
    }

    /// Creates italic text.
    pub fn italic(text: impl Into<String>) -> Self {
        Self { text: text.into(), style: RunStyle { italic: true, ..RunStyle::default() } }
    }

    /// Creates text that is struck through.
    pub fn struck(text: impl Into<String>) -> Self {
        Self { text: text.into(), style: RunStyle { struck: true, ..RunStyle::default() } }
    }

    /// Creates inline code.
    pub fn code(text: impl Into<String>) -> Self {
        Self { text: text.into(), style: RunStyle { code: true, ..RunStyle::default() } }
    }

    /// Creates the text of a link.
    pub fn link(text: impl Into<String>) -> Self {
        Self { text: text.into(), style: RunStyle { link: true, ..RunStyle::default() } }
    }
}
