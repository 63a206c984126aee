//! What of a session is exported, in which format and style.

use std::path::Path;
use std::str::FromStr;

use everturn::view::{Entry, Kind};
use everturn_typeset::Options as Pages;

use crate::piece::Role;

/// How a session is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Plain text, 80 columns wide.
    Text,
    /// Markdown, with front matter.
    Markdown,
    /// One HTML file that needs nothing else.
    Html,
    /// Pages, typeset like a book.
    Pdf,
    /// A chat-log document, which can be imported again.
    Json,
}

impl Format {
    /// Every format there is.
    pub const ALL: &[Format] =
        &[Format::Text, Format::Markdown, Format::Html, Format::Pdf, Format::Json];

    /// The name that users write, which is also how its files end.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Format::Text => "txt",
            Format::Markdown => "md",
            Format::Html => "html",
            Format::Pdf => "pdf",
            Format::Json => "json",
        }
    }

    /// The format that the ending of a file's name stands for.
    ///
    /// ```
    /// use std::path::Path;
    ///
    /// use everturn_export::Format;
    ///
    /// assert_eq!(Format::of(Path::new("a/story.md")), Some(Format::Markdown));
    /// assert_eq!(Format::of(Path::new("story")), None);
    /// ```
    #[must_use]
    pub fn of(file: &Path) -> Option<Format> {
        file.extension()?.to_str()?.parse().ok()
    }

    /// Whether secrets are masked unless somebody says otherwise: in what is made to be shown to others.
    #[must_use]
    pub fn masks(self) -> bool {
        matches!(self, Format::Markdown | Format::Html | Format::Pdf)
    }
}

impl FromStr for Format {
    type Err = String;

    fn from_str(name: &str) -> Result<Format, String> {
        match name.to_ascii_lowercase().as_str() {
            "txt" | "text" => Ok(Format::Text),
            "md" | "markdown" => Ok(Format::Markdown),
            "html" | "htm" => Ok(Format::Html),
            "pdf" => Ok(Format::Pdf),
            "json" => Ok(Format::Json),
            _ => {
                let names: Vec<&str> = Format::ALL.iter().map(|format| format.as_str()).collect();
                Err(format!("{name:?} is no format; there are {}", names.join(", ")))
            }
        }
    }
}

/// How much is said around the words.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Style {
    /// The words alone.
    Minimal,
    /// Everything that helps to read them.
    #[default]
    Rich,
    /// Whatever the user's own template says.
    Custom,
}

impl Style {
    /// The name that users write.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Style::Minimal => "minimal",
            Style::Rich => "rich",
            Style::Custom => "custom",
        }
    }
}

impl FromStr for Style {
    type Err = String;

    fn from_str(name: &str) -> Result<Style, String> {
        let all = [Style::Minimal, Style::Rich, Style::Custom];
        let found = all.into_iter().find(|style| style.as_str() == name);
        found.ok_or_else(|| format!("{name:?} is no style; there are minimal, rich, custom"))
    }
}

/// A part of a session that may be left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// What is known of the session, such as when it was made.
    Metadata,
    /// States, and the changes of the state.
    Snapshots,
    /// What was said out of character.
    Ooc,
    /// What a model thought before it spoke.
    Thinking,
    /// Calls of tools and their answers.
    Tools,
}

impl Part {
    /// Every part there is.
    pub const ALL: &[Part] =
        &[Part::Metadata, Part::Snapshots, Part::Ooc, Part::Thinking, Part::Tools];

    /// The name that users write.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Part::Metadata => "metadata",
            Part::Snapshots => "snapshots",
            Part::Ooc => "ooc",
            Part::Thinking => "thinking",
            Part::Tools => "tools",
        }
    }
}

impl FromStr for Part {
    type Err = String;

    fn from_str(name: &str) -> Result<Part, String> {
        let found = Part::ALL.iter().copied().find(|part| part.as_str() == name);
        found.ok_or_else(|| {
            let names: Vec<&str> = Part::ALL.iter().map(|part| part.as_str()).collect();
            format!("{name:?} is no part; there are {}", names.join(", "))
        })
    }
}

/// What of a session is exported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choices {
    /// How much is said around the words.
    pub style: Style,
    /// What is known of the session.
    pub metadata: bool,
    /// States, and the changes of the state.
    pub snapshots: bool,
    /// What was said out of character.
    pub ooc: bool,
    /// What a model thought before it spoke.
    pub thinking: bool,
    /// Calls of tools and their answers.
    pub tools: bool,
    /// The only speaker whose words are wanted.
    pub speaker: Option<String>,
    /// The first turn, if not that of the session.
    pub first: Option<u64>,
    /// The last turn, if not that of the session.
    pub last: Option<u64>,
    /// The language of the words, as a BCP 47 tag, if it is known.
    pub language: Option<String>,
    /// The size of pages, and where their fonts may come from.
    pub pages: Pages,
}

impl Choices {
    /// What is usual: everything in a document that can be imported again, the words in the minimal style, and in
    /// the rich one what a reader wants to see.
    #[must_use]
    pub fn usual(format: Format, style: Style) -> Choices {
        let rich = style != Style::Minimal;
        let whole = style == Style::Custom || (format == Format::Json && rich);
        Choices {
            style,
            metadata: rich,
            snapshots: rich,
            ooc: whole,
            thinking: whole,
            tools: rich,
            speaker: None,
            first: None,
            last: None,
            language: None,
            pages: Pages::default(),
        }
    }

    /// Takes a part in, or leaves it out.
    pub fn set(&mut self, part: Part, wanted: bool) {
        match part {
            Part::Metadata => self.metadata = wanted,
            Part::Snapshots => self.snapshots = wanted,
            Part::Ooc => self.ooc = wanted,
            Part::Thinking => self.thinking = wanted,
            Part::Tools => self.tools = wanted,
        }
    }

    /// Whether an entry is wanted.
    #[must_use]
    pub fn take(&self, entry: &Entry) -> bool {
        self.takes_kind(&entry.kind)
            && self.speaker.as_ref().is_none_or(|speaker| *speaker == entry.speaker)
    }

    fn takes_kind(&self, kind: &Kind) -> bool {
        // What a program keeps for itself is nothing to read; it goes where everything goes.
        if kind.is_bookkeeping() {
            return self.thinking;
        }
        match Role::of(kind) {
            Role::Call | Role::Answer => self.tools,
            Role::Aside => self.ooc,
            Role::Thought => self.thinking,
            _ => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        for format in Format::ALL {
            assert_eq!(format.as_str().parse(), Ok(*format));
        }
        for part in Part::ALL {
            assert_eq!(part.as_str().parse(), Ok(*part));
        }
        assert!("doc".parse::<Format>().is_err());
        assert!("words".parse::<Part>().is_err());
        assert!("loud".parse::<Style>().is_err());
    }

    #[test]
    fn each_part_can_be_taken_in_and_left_out() {
        let kinds = ["tool_call", "tool_result", "ooc", "thinking", "narrator", "oracle"];
        let taken = |choices: &Choices| -> Vec<&str> {
            kinds.into_iter().filter(|kind| choices.takes_kind(&Kind::parse(kind))).collect()
        };
        let mut choices = Choices::usual(Format::Text, Style::Minimal);
        assert_eq!(taken(&choices), ["narrator", "oracle"]);
        choices.set(Part::Tools, true);
        assert_eq!(taken(&choices), ["tool_call", "tool_result", "narrator", "oracle"]);
        choices.set(Part::Ooc, true);
        choices.set(Part::Thinking, true);
        assert_eq!(taken(&choices), kinds);
        assert_eq!(taken(&Choices::usual(Format::Json, Style::Rich)), kinds);
    }
}
