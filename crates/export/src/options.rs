//! What to export: [`ExportFormat`], [`ExportStyle`], [`ExportPart`] and [`ExportOptions`].

use std::path::Path;
use std::str::FromStr;

use everturn::model::{Entry, EntryKind};
use everturn_typeset::Options as Pages;

use crate::piece::SpeakerRole;

/// An output format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportFormat {
    /// Plain text, 80 columns wide.
    Text,
    /// Markdown, with front matter.
    Markdown,
    /// One self-contained HTML file.
    Html,
    /// Pages, typeset like a book.
    Pdf,
    /// An e-book.
    Epub,
    /// A chat-log document, which can be imported again.
    Json,
}

impl ExportFormat {
    /// All formats.
    pub const ALL: &[ExportFormat] = &[
        ExportFormat::Text,
        ExportFormat::Markdown,
        ExportFormat::Html,
        ExportFormat::Pdf,
        ExportFormat::Epub,
        ExportFormat::Json,
    ];

    /// The name on the command line, which is also the file extension.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            ExportFormat::Text => "txt",
            ExportFormat::Markdown => "md",
            ExportFormat::Html => "html",
            ExportFormat::Pdf => "pdf",
            ExportFormat::Epub => "epub",
            ExportFormat::Json => "json",
        }
    }

    /// Returns the format for the extension of a file name.
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

    /// Returns whether secrets are masked by default: in formats meant to be shown to others.
    #[must_use]
    pub fn masks_secrets(self) -> bool {
        matches!(
            self,
            ExportFormat::Markdown | ExportFormat::Html | ExportFormat::Pdf | ExportFormat::Epub
        )
    }

    /// Returns whether the output is bytes rather than text, so that it needs a file.
    #[must_use]
    pub fn is_binary(self) -> bool {
        matches!(self, ExportFormat::Pdf | ExportFormat::Epub)
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
            "epub" => Ok(ExportFormat::Epub),
            "json" => Ok(ExportFormat::Json),
            _ => {
                let names: Vec<&str> =
                    ExportFormat::ALL.iter().map(|format| format.as_str()).collect();
                Err(format!("unknown format {name:?}; known formats: {}", names.join(", ")))
            }
        }
    }
}

/// How much is shown around the text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ExportStyle {
    /// Only the text.
    Minimal,
    /// Everything that helps to read it.
    #[default]
    Rich,
    /// Defined by the user's template.
    Custom,
}

impl ExportStyle {
    /// The name on the command line.
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
        found.ok_or_else(|| format!("unknown style {name:?}; known styles: minimal, rich, custom"))
    }
}

/// An optional part of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportPart {
    /// The metadata of the session, such as its creation time.
    Metadata,
    /// States and state changes.
    Snapshots,
    /// Out-of-character messages.
    Ooc,
    /// The thinking of a model.
    Thinking,
    /// Tool calls and their results.
    Tools,
}

impl ExportPart {
    /// All parts.
    pub const ALL: &[ExportPart] = &[
        ExportPart::Metadata,
        ExportPart::Snapshots,
        ExportPart::Ooc,
        ExportPart::Thinking,
        ExportPart::Tools,
    ];

    /// The name on the command line.
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
            format!("unknown part {name:?}; known parts: {}", names.join(", "))
        })
    }
}

/// Which parts of a session are exported, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportOptions {
    /// How much is shown around the text.
    pub style: ExportStyle,
    /// The metadata of the session.
    pub metadata: bool,
    /// States and state changes.
    pub snapshots: bool,
    /// Out-of-character messages.
    pub ooc: bool,
    /// The thinking of a model.
    pub thinking: bool,
    /// Tool calls and their results.
    pub tools: bool,
    /// The only speaker to export.
    pub speaker: Option<String>,
    /// The first turn, if not that of the session.
    pub first: Option<u64>,
    /// The last turn, if not that of the session.
    pub last: Option<u64>,
    /// The language of the text as a BCP 47 tag, if known.
    pub language: Option<String>,
    /// Paper size and fonts.
    pub pages: Pages,
}

impl ExportOptions {
    /// Returns the defaults: everything in a document that can be imported again, only the text in the minimal style,
    /// and the parts that are of interest to readers in the rich style.
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

    /// Includes or excludes a part.
    pub fn set(&mut self, part: ExportPart, wanted: bool) {
        match part {
            ExportPart::Metadata => self.metadata = wanted,
            ExportPart::Snapshots => self.snapshots = wanted,
            ExportPart::Ooc => self.ooc = wanted,
            ExportPart::Thinking => self.thinking = wanted,
            ExportPart::Tools => self.tools = wanted,
        }
    }

    /// Returns whether an entry is exported.
    #[must_use]
    pub fn includes(&self, entry: &Entry) -> bool {
        self.includes_kind(&entry.kind)
            && self.speaker.as_ref().is_none_or(|speaker| *speaker == entry.speaker)
    }

    fn includes_kind(&self, kind: &EntryKind) -> bool {
        // Bookkeeping of a program is not meant to be read; it is included only together with thinking.
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
