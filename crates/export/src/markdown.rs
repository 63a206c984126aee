//! Writes Markdown for code hosts and note-taking programs, with front matter.
//!
//! Messages keep their own Markdown as far as it cannot affect the rest of the document: see `containment`.

mod containment;

use everturn::markup;
use everturn::model::{Mark, MarkKind};

use crate::error::ExportError;
use crate::facts::{format_count, format_minute};
use crate::options::{ExportOptions, ExportStyle};
use crate::output::PieceWriter;
use crate::piece::{ExportPiece, Message, SpeakerRole, TurnChanges};
use crate::source::{SessionCover, SessionOutline};
use containment::contain_markdown;

pub(crate) struct MarkdownWriter<'c> {
    choices: &'c ExportOptions,
    /// The speaker of the last message, unless a heading came after it.
    last_speaker: Option<String>,
}

/// Escapes text so that Markdown shows it literally, on one line.
fn escape_markdown(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_ascii_punctuation()
            && !matches!(character, ',' | ';' | '/' | '%' | '"' | '\'')
        {
            // These characters matter only where a list could begin, and read better unescaped.
            if !matches!(character, '.' | ':' | '?' | '(' | ')' | '-' | '+' | '=' | '{' | '}') {
                shown.push('\\');
            }
        }
        shown.push(character);
    }
    // Characters that have a meaning at the start of a line.
    match shown.chars().next() {
        Some('-' | '+' | '=') => format!("\\{shown}"),
        Some(digit) if digit.is_ascii_digit() => match shown.find(|c: char| !c.is_ascii_digit()) {
            Some(at) if shown.get(at..).is_some_and(|rest| rest.starts_with(['.', ')'])) => {
                let (number, rest) = shown.split_at(at);
                format!("{number}\\{rest}")
            }
            _ => shown,
        },
        _ => shown,
    }
}

/// Returns a code block whose fence nothing in the text can close.
fn fence_code(text: &str, language: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}{language}\n{}\n{fence}\n", text.trim_end_matches('\n'))
}

/// Returns inline code.
fn code(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let ticks = "`".repeat(longest + 1);
    let odd = text.is_empty() || text.starts_with(['`', ' ']) || text.ends_with(['`', ' ']);
    let gap = if odd { " " } else { "" };
    // A vertical bar would end a table cell, but the code is never inside a table.
    format!("{ticks}{gap}{text}{gap}{ticks}")
}

fn quote_lines(text: &str) -> String {
    let line = |line: &str| match line.is_empty() {
        true => ">\n".to_owned(),
        false => format!("> {line}\n"),
    };
    text.trim_end().lines().map(line).collect()
}

/// Returns a collapsible section.
fn details(summary: &str, inside: &str) -> String {
    format!(
        "\n<details>\n<summary>{}</summary>\n\n{inside}\n</details>\n",
        markup::escape_html(summary)
    )
}

/// Returns a quoted YAML string.
fn yaml_string(text: &str) -> String {
    serde_json::to_string(text).unwrap_or_default()
}

fn front_matter(cover: &SessionCover, outline: &SessionOutline) -> String {
    let mut lines = vec![
        ("title", yaml_string(&cover.title)),
        ("session", yaml_string(&cover.id)),
        ("layout", yaml_string(cover.layout)),
        ("status", yaml_string(&cover.status)),
    ];
    lines.extend(cover.parent.as_ref().map(|parent| ("branch_of", yaml_string(parent))));
    lines.extend(cover.created.map(|time| ("created", time.to_string())));
    lines.extend(cover.updated.map(|time| ("updated", time.to_string())));
    lines.push(("turns", outline.turns.to_string()));
    lines.push(("entries", outline.entries.to_string()));
    let speakers: Vec<String> =
        outline.speakers.iter().map(|speaker| yaml_string(&speaker.name)).collect();
    lines.push(("speakers", format!("[{}]", speakers.join(", "))));
    lines.push(("exported", cover.now.to_string()));
    let lines = lines.into_iter().map(|(key, value)| format!("{key}: {value}\n"));
    format!("---\n{}---\n\n", lines.collect::<String>())
}

impl<'c> MarkdownWriter<'c> {
    pub(crate) fn new(choices: &'c ExportOptions) -> MarkdownWriter<'c> {
        MarkdownWriter { choices, last_speaker: None }
    }

    fn is_rich(&self) -> bool {
        self.choices.style != ExportStyle::Minimal
    }

    fn heading(&self, mark: &Mark) -> String {
        let name = escape_markdown(&mark.name);
        let about = match mark.description.trim() {
            text if !text.is_empty() && self.is_rich() => format!("\n{}\n", contain_markdown(text)),
            _ => String::new(),
        };
        match mark.kind {
            MarkKind::Chapter => format!("\n## {name}\n{about}"),
            MarkKind::Scene => format!("\n### {name}\n{about}"),
            _ if self.is_rich() => {
                format!("\n*{}:* {name}\n{about}", escape_markdown(&mark.kind.to_string()))
            }
            _ => String::new(),
        }
    }

    fn message(&mut self, said: &Message) -> String {
        let role = said.role();
        let last = self.last_speaker.replace(said.speaker.clone());
        let is_labelled = self.is_rich() || last.as_ref() != Some(&said.speaker);
        let time = said.time.filter(|_| self.is_rich()).map(format_minute);
        if matches!(role, SpeakerRole::Call | SpeakerRole::Answer | SpeakerRole::Thought) {
            let (name, body) = match role {
                SpeakerRole::Thought => (None, contain_markdown(&said.text) + "\n"),
                _ => {
                    let (name, body) = said.tool();
                    let language = if body.starts_with(['{', '[']) { "json" } else { "text" };
                    (name, if body.is_empty() { body } else { fence_code(&body, language) })
                }
            };
            let name = name.filter(|name| *name != said.speaker).map(|name| format!(" {name}"));
            let (name, note) = (name.unwrap_or_default(), role.note().unwrap_or_default());
            return details(&format!("{} {note}{name} · {}", said.speaker, said.turn), &body);
        }
        let mut line = format!("**{}**", escape_markdown(&said.speaker));
        line.push_str(&role.note().map(|note| format!(" ({note})")).unwrap_or_default());
        if self.is_rich() {
            line.push_str(&format!(" · {}", said.turn));
        }
        line.push_str(&time.map(|time| format!(" · {time}")).unwrap_or_default());
        let text = contain_markdown(said.text.trim_end());
        let label = if is_labelled { format!("\n{line}\n") } else { String::new() };
        match role {
            SpeakerRole::Player | SpeakerRole::Aside => {
                format!("{label}\n{}", quote_lines(&text))
            }
            _ => format!("{label}\n{text}\n"),
        }
    }

    fn changes(changes: &TurnChanges) -> String {
        let lines = changes
            .lines
            .iter()
            .map(|change| format!("- {}: {}\n", code(&change.place), code(&change.describe())));
        let number = changes.lines.len() as u64;
        let summary =
            format!("{} in turn {}", format_count(number, "change", "changes"), changes.turn);
        details(&summary, &lines.collect::<String>())
    }
}

impl PieceWriter for MarkdownWriter<'_> {
    fn begin(
        &mut self,
        cover: &SessionCover,
        outline: &SessionOutline,
    ) -> Result<String, ExportError> {
        let before = match self.choices.metadata {
            true => front_matter(cover, outline),
            false => String::new(),
        };
        Ok(format!("{before}# {}\n", escape_markdown(&cover.title)))
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
            ExportPiece::Changes(changes) => MarkdownWriter::changes(changes),
        })
    }

    fn end(&mut self, state: &[(String, String)]) -> Result<String, ExportError> {
        let mut text = String::new();
        if !state.is_empty() {
            text.push_str("\n## State at the end\n");
        }
        for (scope, value) in state {
            text.push_str(&details(scope, &fence_code(value, "json")));
        }
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_shown_as_it_is_wherever_it_stands() {
        for (text, expect) in [
            ("plain name", "plain name"),
            (
                "*<b>* #1 [x](y) `c` a_b ~~z~~ | &amp; !",
                "\\*\\<b\\>\\* \\#1 \\[x\\](y) \\`c\\` a\\_b \\~\\~z\\~\\~ \\| \\&amp; \\!",
            ),
            ("1. list", "1\\. list"),
            ("12) list", "12\\) list"),
            ("- list", "\\- list"),
            ("+ list", "\\+ list"),
            ("=== line", "\\=== line"),
            ("a@b", "a\\@b"),
        ] {
            assert_eq!(escape_markdown(text), expect);
        }
    }

    #[test]
    fn nothing_closes_a_fence_or_code_but_its_end() {
        assert_eq!(fence_code("a\n```\nb\n", "text"), "````text\na\n```\nb\n````\n");
        assert_eq!(fence_code("a", ""), "```\na\n```\n");
        assert_eq!(code("a`b``c"), "```a`b``c```");
        assert_eq!(code("`"), "`` ` ``");
        assert_eq!(code(""), "`  `");
    }
}
