//! What of a session is exported, in which format and style.

use std::path::Path;
use std::str::FromStr;

use everturn::model::{Entry, EntryKind};
use everturn_typeset::Options as Pages;

use crate::piece::SpeakerRole;

/// How a session is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportFormat {
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

impl ExportFormat {
    /// Every format there is.
    pub const ALL: &[ExportFormat] = &[
        ExportFormat::Text,
        ExportFormat::Markdown,
        ExportFormat::Html,
        ExportFormat::Pdf,
        ExportFormat::Json,
    ];

    /// The name that users write, which is also how its files end.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            ExportFormat::Text => "txt",
            ExportFormat::Markdown => "md",
            ExportFormat::Html => "html",
            ExportFormat::Pdf => "pdf",
            ExportFormat::Json => "json",
        }
    }

    /// The format that the ending of a file's name stands for.
    ///
    /// ```
    /// use std::path::Path;
    ///
    /// use everturn_export::ExportFormat;
    ///
    /// assert_eq!(ExportFormat::from_path(Path::new("a/story.md")), Some(ExportFormat::Markdown));
    /// assert_eq!(ExportFormat::from_path(Path::new("story")), None);
    /// ```
    #[must_use]
    pub fn from_path(file: &Path) -> Option<ExportFormat> {
        file.extension()?.to_str()?.parse().ok()
    }

    /// Whether secrets are masked unless somebody says otherwise: in what is made to be shown to others.
    #[must_use]
    pub fn masks_secrets(self) -> bool {
        matches!(self, ExportFormat::Markdown | ExportFormat::Html | ExportFormat::Pdf)
    }
}

impl FromStr for ExportFormat {
    type Err = String;

    fn from_str(name: &str) -> Result<ExportFormat, String> {
        match name.to_ascii_lowercase().as_str() {
            "txt" | "text" => Ok(ExportFormat::Text),
            "md" | "markdown" => Ok(ExportFormat::Markdown),
            "html" | "htm" => Ok(ExportFormat::Html),
            "pdf" => Ok(ExportFormat::Pdf),
            "json" => Ok(ExportFormat::Json),
            _ => {
                let names: Vec<&str> =
                    ExportFormat::ALL.iter().map(|format| format.as_str()).collect();
                Err(format!("{name:?} is no format; there are {}", names.join(", ")))
            }
        }
    }
}

/// How much is said around the words.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ExportStyle {
    /// The words alone.
    Minimal,
    /// Everything that helps to read them.
    #[default]
    Rich,
    /// Whatever the user's own template says.
    Custom,
}

impl ExportStyle {
    /// The name that users write.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            ExportStyle::Minimal => "minimal",
            ExportStyle::Rich => "rich",
            ExportStyle::Custom => "custom",
        }
    }
}

impl FromStr for ExportStyle {
    type Err = String;

    fn from_str(name: &str) -> Result<ExportStyle, String> {
        let all = [ExportStyle::Minimal, ExportStyle::Rich, ExportStyle::Custom];
        let found = all.into_iter().find(|style| style.as_str() == name);
        found.ok_or_else(|| format!("{name:?} is no style; there are minimal, rich, custom"))
    }
}

/// A part of a session that may be left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportPart {
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

impl ExportPart {
    /// Every part there is.
    pub const ALL: &[ExportPart] = &[
        ExportPart::Metadata,
        ExportPart::Snapshots,
        ExportPart::Ooc,
        ExportPart::Thinking,
        ExportPart::Tools,
    ];

    /// The name that users write.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            ExportPart::Metadata => "metadata",
            ExportPart::Snapshots => "snapshots",
            ExportPart::Ooc => "ooc",
            ExportPart::Thinking => "thinking",
            ExportPart::Tools => "tools",
        }
    }
}

impl FromStr for ExportPart {
    type Err = String;

    fn from_str(name: &str) -> Result<ExportPart, String> {
        let found = ExportPart::ALL.iter().copied().find(|part| part.as_str() == name);
        found.ok_or_else(|| {
            let names: Vec<&str> = ExportPart::ALL.iter().map(|part| part.as_str()).collect();
            format!("{name:?} is no part; there are {}", names.join(", "))
        })
    }
}

/// What of a session is exported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportOptions {
    /// How much is said around the words.
    pub style: ExportStyle,
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

impl ExportOptions {
    /// What is usual: everything in a document that can be imported again, the words in the minimal style, and in
    /// the rich one what a reader wants to see.
    #[must_use]
    pub fn defaults_for(format: ExportFormat, style: ExportStyle) -> ExportOptions {
        let rich = style != ExportStyle::Minimal;
        let whole = style == ExportStyle::Custom || (format == ExportFormat::Json && rich);
        ExportOptions {
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
    pub fn set(&mut self, part: ExportPart, wanted: bool) {
        match part {
            ExportPart::Metadata => self.metadata = wanted,
            ExportPart::Snapshots => self.snapshots = wanted,
            ExportPart::Ooc => self.ooc = wanted,
            ExportPart::Thinking => self.thinking = wanted,
            ExportPart::Tools => self.tools = wanted,
        }
    }

    /// Whether an entry is wanted.
    #[must_use]
    pub fn includes(&self, entry: &Entry) -> bool {
        self.includes_kind(&entry.kind)
            && self.speaker.as_ref().is_none_or(|speaker| *speaker == entry.speaker)
    }

    fn includes_kind(&self, kind: &EntryKind) -> bool {
        // What a program keeps for itself is nothing to read; it goes where everything goes.
        if kind.is_bookkeeping() {
            return self.thinking;
        }
        match SpeakerRole::of(kind) {
            SpeakerRole::Call | SpeakerRole::Answer => self.tools,
            SpeakerRole::Aside => self.ooc,
            SpeakerRole::Thought => self.thinking,
            _ => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        for format in ExportFormat::ALL {
            assert_eq!(format.as_str().parse(), Ok(*format));
        }
        for part in ExportPart::ALL {
            assert_eq!(part.as_str().parse(), Ok(*part));
        }
        assert!("doc".parse::<ExportFormat>().is_err());
        assert!("words".parse::<ExportPart>().is_err());
        assert!("loud".parse::<ExportStyle>().is_err());
    }

    #[test]
    fn each_part_can_be_taken_in_and_left_out() {
        let kinds = ["tool_call", "tool_result", "ooc", "thinking", "narrator", "oracle"];
        let taken = |choices: &ExportOptions| -> Vec<&str> {
            kinds
                .into_iter()
                .filter(|kind| choices.includes_kind(&EntryKind::parse(kind)))
                .collect()
        };
        let mut choices = ExportOptions::defaults_for(ExportFormat::Text, ExportStyle::Minimal);
        assert_eq!(taken(&choices), ["narrator", "oracle"]);
        choices.set(ExportPart::Tools, true);
        assert_eq!(taken(&choices), ["tool_call", "tool_result", "narrator", "oracle"]);
        choices.set(ExportPart::Ooc, true);
        choices.set(ExportPart::Thinking, true);
        assert_eq!(taken(&choices), kinds);
        assert_eq!(
            taken(&ExportOptions::defaults_for(ExportFormat::Json, ExportStyle::Rich)),
            kinds
        );
    }
}
