//! Writes plain text, 80 columns wide.

use everturn::model::{Mark, MarkKind};

use crate::columns::{spread_line, wrap_text};
use crate::error::ExportError;
use crate::facts::{format_minute, session_facts};
use crate::options::{ExportOptions, ExportStyle};
use crate::output::PieceWriter;
use crate::piece::{ExportPiece, Message, SpeakerRole, TurnChanges};
use crate::source::{SessionCover, SessionOutline};
use unicode_width::UnicodeWidthStr;

const WIDTH: usize = 80;

/// The maximum width of labels.
const LABEL: usize = 13;

pub(crate) struct PlainTextWriter<'c> {
    choices: &'c ExportOptions,
    /// The speaker of the last message, unless a heading came after it.
    last_speaker: Option<String>,
}

/// Prefixes each line; empty lines stay empty.
fn indented(text: &str, before: &str) -> String {
    let lines = wrap_text(text.trim_end(), WIDTH - before.width());
    let line = |line: &String| match line.is_empty() {
        true => format!("{}\n", before.trim_end()),
        false => format!("{before}{line}\n"),
    };
    lines.iter().map(line).collect()
}

/// Returns a title with a line below it.
fn underlined(title: &str, line: &str) -> String {
    let lines = wrap_text(title, WIDTH);
    let width = lines.iter().map(|line| line.width()).max().unwrap_or(0).max(1);
    format!("{}\n{}\n", lines.join("\n"), line.repeat(width))
}

impl<'c> PlainTextWriter<'c> {
    pub(crate) fn new(choices: &'c ExportOptions) -> PlainTextWriter<'c> {
        PlainTextWriter { choices, last_speaker: None }
    }

    fn is_rich(&self) -> bool {
        self.choices.style != ExportStyle::Minimal
    }

    fn heading(&self, mark: &Mark) -> String {
        let about = match mark.description.trim() {
            "" => String::new(),
            text if self.is_rich() => format!("\n{}", indented(text, "")),
            _ => String::new(),
        };
        match mark.kind {
            MarkKind::Chapter => format!("\n\n{}{about}", underlined(&mark.name, "=")),
            MarkKind::Scene => format!("\n{}{about}", underlined(&mark.name, "-")),
            _ if self.is_rich() => {
                format!("\n{}{about}", indented(&format!("* {}: {}", mark.kind, mark.name), "  "))
            }
            _ => String::new(),
        }
    }

    fn message(&mut self, said: &Message) -> String {
        let role = said.role();
        let last = self.last_speaker.replace(said.speaker.clone());
        let note = role.note().map(|note| format!(" ({note})")).unwrap_or_default();
        let who = format!("{}{note}", said.speaker);
        let heading = match self.is_rich() {
            true => {
                let left = format!("[{}] {who}", said.turn);
                let time = said.time.map(format_minute).unwrap_or_default();
                let lines = wrap_text(&left, WIDTH);
                match lines.as_slice() {
                    [line] if !time.is_empty() => format!("{}\n", spread_line(line, &time, WIDTH)),
                    lines => format!("{}\n", lines.join("\n")),
                }
            }
            false if last.as_ref() == Some(&said.speaker) => String::new(),
            false => indented(&format!("{who}:"), ""),
        };
        let body = match role {
            SpeakerRole::Player => indented(&said.text, "> "),
            SpeakerRole::Call | SpeakerRole::Answer => {
                let (name, rest) = said.tool();
                let name = name.filter(|name| *name != said.speaker);
                let name = name.map(|name| indented(&name, "    ")).unwrap_or_default();
                let rest = if rest.is_empty() { rest } else { indented(&rest, "      ") };
                format!("{name}{rest}")
            }
            SpeakerRole::Thought | SpeakerRole::Aside => indented(&said.text, "    "),
            _ => indented(&said.text, ""),
        };
        let lines = format!("{heading}{body}");
        let trimmed: String = lines.lines().map(|line| format!("{}\n", line.trim_end())).collect();
        format!("\n{trimmed}")
    }

    fn changes(changes: &TurnChanges) -> String {
        let line = |place: &str, words: &str| {
            let lines = wrap_text(&format!("{place}: {words}"), WIDTH - 6);
            let mut before = "    * ";
            let mut text = String::new();
            for line in lines {
                text.push_str(&format!("{before}{line}\n"));
                before = "      ";
            }
            text
        };
        let lines = changes.lines.iter().map(|change| line(&change.place, &change.describe()));
        format!("\n{}", lines.collect::<String>())
    }
}

impl PieceWriter for PlainTextWriter<'_> {
    fn begin(
        &mut self,
        cover: &SessionCover,
        outline: &SessionOutline,
    ) -> Result<String, ExportError> {
        let mut text = underlined(&cover.title, "=");
        if self.choices.metadata {
            text.push('\n');
            for (name, value) in session_facts(cover, outline) {
                let mut label = format!("{name:<LABEL$}");
                for line in wrap_text(&value, WIDTH - LABEL) {
                    text.push_str(&format!("{label}{line}\n"));
                    label = " ".repeat(LABEL);
                }
            }
        }
        Ok(text)
    }

    fn piece(&mut self, piece: &ExportPiece) -> Result<String, ExportError> {
        Ok(match piece {
            ExportPiece::Heading(mark) => {
                self.last_speaker = None;
                self.heading(mark)
            }
            ExportPiece::Turn { .. } => String::new(),
            ExportPiece::Changes(changes) if changes.lines.is_empty() => String::new(),
            ExportPiece::Message(said) => self.message(said),
            ExportPiece::Changes(changes) => PlainTextWriter::changes(changes),
        })
    }

    fn end(&mut self, state: &[(String, String)]) -> Result<String, ExportError> {
        let mut text = String::new();
        for (scope, value) in state {
            text.push_str(&format!("\n\n{}\n", underlined(&format!("State: {scope}"), "-")));
            text.push_str(&indented(value, ""));
        }
        Ok(text)
    }
}
