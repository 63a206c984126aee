//! Plain text, 80 columns wide.

use everturn::view::{Mark, MarkKind};

use crate::choices::{Choices, Style};
use crate::columns::{spread, wrap};
use crate::export::{ExportError, Shape};
use crate::facts::{facts, minute};
use crate::piece::{Changes, Piece, Role, Said};
use crate::source::{Cover, Outline};
use unicode_width::UnicodeWidthStr;

const WIDTH: usize = 80;

/// How wide what things are called may be.
const LABEL: usize = 11;

pub(crate) struct Plain<'c> {
    choices: &'c Choices,
}

/// Lines with something before each; lines that are empty stay so.
fn indented(text: &str, before: &str) -> String {
    let lines = wrap(text.trim_end(), WIDTH - before.width());
    let line = |line: &String| match line.is_empty() {
        true => format!("{}\n", before.trim_end()),
        false => format!("{before}{line}\n"),
    };
    lines.iter().map(line).collect()
}

/// A title with a line below it.
fn underlined(title: &str, line: &str) -> String {
    let lines = wrap(title, WIDTH);
    let width = lines.iter().map(|line| line.width()).max().unwrap_or(0).max(1);
    format!("{}\n{}\n", lines.join("\n"), line.repeat(width))
}

impl<'c> Plain<'c> {
    pub(crate) fn new(choices: &'c Choices) -> Plain<'c> {
        Plain { choices }
    }

    fn is_rich(&self) -> bool {
        self.choices.style != Style::Minimal
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

    fn said(&self, said: &Said) -> String {
        let role = said.role();
        let note = role.note().map(|note| format!(" ({note})")).unwrap_or_default();
        let who = format!("{}{note}", said.speaker);
        let heading = match self.is_rich() {
            true => {
                let left = format!("[{}] {who}", said.turn);
                let time = said.time.map(minute).unwrap_or_default();
                let lines = wrap(&left, WIDTH);
                match lines.as_slice() {
                    [line] if !time.is_empty() => format!("{}\n", spread(line, &time, WIDTH)),
                    lines => format!("{}\n", lines.join("\n")),
                }
            }
            false if role == Role::Narrator => String::new(),
            false => indented(&format!("{who}:"), ""),
        };
        let body = match role {
            Role::Player => indented(&said.text, "> "),
            Role::Call | Role::Answer => {
                let (name, rest) = said.tool();
                let name = name.filter(|name| *name != said.speaker);
                let name = name.map(|name| indented(&name, "    ")).unwrap_or_default();
                let rest = if rest.is_empty() { rest } else { indented(&rest, "      ") };
                format!("{name}{rest}")
            }
            Role::Thought | Role::Aside => indented(&said.text, "    "),
            _ => indented(&said.text, ""),
        };
        let lines = format!("{heading}{body}");
        let trimmed: String = lines.lines().map(|line| format!("{}\n", line.trim_end())).collect();
        format!("\n{trimmed}")
    }

    fn changes(changes: &Changes) -> String {
        let line = |place: &str, words: &str| {
            let lines = wrap(&format!("{place}: {words}"), WIDTH - 6);
            let mut before = "    * ";
            let mut text = String::new();
            for line in lines {
                text.push_str(&format!("{before}{line}\n"));
                before = "      ";
            }
            text
        };
        let lines = changes.lines.iter().map(|change| line(&change.place, &change.words()));
        format!("\n{}", lines.collect::<String>())
    }
}

impl Shape for Plain<'_> {
    fn begin(&mut self, cover: &Cover, outline: &Outline) -> Result<String, ExportError> {
        let mut text = underlined(&cover.title, "=");
        if self.choices.metadata {
            text.push('\n');
            for (name, value) in facts(cover, outline) {
                let mut label = format!("{name:<LABEL$}");
                for line in wrap(&value, WIDTH - LABEL) {
                    text.push_str(&format!("{label}{line}\n"));
                    label = " ".repeat(LABEL);
                }
            }
        }
        Ok(text)
    }

    fn piece(&mut self, piece: &Piece) -> Result<String, ExportError> {
        Ok(match piece {
            Piece::Heading(mark) => self.heading(mark),
            Piece::Turn { .. } => String::new(),
            Piece::Changes(changes) if changes.lines.is_empty() => String::new(),
            Piece::Said(said) => self.said(said),
            Piece::Changes(changes) => Plain::changes(changes),
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
