//! Markdown for code hosts and note programs, with front matter.
//!
//! What was said keeps its own Markdown, as far as that cannot reach beyond it: see `contained`.

mod contained;

use everturn::markup;
use everturn::view::{Mark, MarkKind};

use crate::choices::{Choices, Style};
use crate::export::{ExportError, Shape};
use crate::facts::{count, minute};
use crate::piece::{Changes, Piece, Role, Said};
use crate::source::{Cover, Outline};
use contained::contained;

pub(crate) struct Markdown<'c> {
    choices: &'c Choices,
}

/// Text that Markdown shows as it is, on one line.
fn escaped(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_ascii_punctuation()
            && !matches!(character, ',' | ';' | '/' | '%' | '"' | '\'')
        {
            // Full stops matter only where a list could begin, and read better alone.
            if !matches!(character, '.' | ':' | '?' | '(' | ')' | '-' | '+' | '=' | '{' | '}') {
                shown.push('\\');
            }
        }
        shown.push(character);
    }
    // What a line may begin with.
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

/// A fence that nothing in the text can close.
fn fenced(text: &str, language: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}{language}\n{}\n{fence}\n", text.trim_end_matches('\n'))
}

/// Code within a line.
fn code(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let ticks = "`".repeat(longest + 1);
    let odd = text.is_empty() || text.starts_with(['`', ' ']) || text.ends_with(['`', ' ']);
    let gap = if odd { " " } else { "" };
    // A bar would end a cell of a table, but there are none around.
    format!("{ticks}{gap}{text}{gap}{ticks}")
}

fn quoted(text: &str) -> String {
    let line = |line: &str| match line.is_empty() {
        true => ">\n".to_owned(),
        false => format!("> {line}\n"),
    };
    text.trim_end().lines().map(line).collect()
}

/// Something that is opened by whoever wants to see it.
fn details(summary: &str, inside: &str) -> String {
    format!(
        "\n<details>\n<summary>{}</summary>\n\n{inside}\n</details>\n",
        markup::escaped(summary)
    )
}

/// A text of YAML, in quotes.
fn yaml(text: &str) -> String {
    serde_json::to_string(text).unwrap_or_default()
}

fn front_matter(cover: &Cover, outline: &Outline) -> String {
    let mut lines = vec![
        ("title", yaml(&cover.title)),
        ("session", yaml(&cover.id)),
        ("layout", yaml(cover.layout)),
        ("status", yaml(&cover.status)),
    ];
    lines.extend(cover.parent.as_ref().map(|parent| ("branch_of", yaml(parent))));
    lines.extend(cover.created.map(|time| ("created", time.to_string())));
    lines.extend(cover.updated.map(|time| ("updated", time.to_string())));
    lines.push(("turns", outline.turns.to_string()));
    lines.push(("entries", outline.entries.to_string()));
    let speakers: Vec<String> =
        outline.speakers.iter().map(|speaker| yaml(&speaker.name)).collect();
    lines.push(("speakers", format!("[{}]", speakers.join(", "))));
    lines.push(("exported", cover.now.to_string()));
    let lines = lines.into_iter().map(|(key, value)| format!("{key}: {value}\n"));
    format!("---\n{}---\n\n", lines.collect::<String>())
}

impl<'c> Markdown<'c> {
    pub(crate) fn new(choices: &'c Choices) -> Markdown<'c> {
        Markdown { choices }
    }

    fn is_rich(&self) -> bool {
        self.choices.style != Style::Minimal
    }

    fn heading(&self, mark: &Mark) -> String {
        let name = escaped(&mark.name);
        let about = match mark.description.trim() {
            text if !text.is_empty() && self.is_rich() => format!("\n{}\n", contained(text)),
            _ => String::new(),
        };
        match mark.kind {
            MarkKind::Chapter => format!("\n## {name}\n{about}"),
            MarkKind::Scene => format!("\n### {name}\n{about}"),
            _ if self.is_rich() => {
                format!("\n*{}:* {name}\n{about}", escaped(&mark.kind.to_string()))
            }
            _ => String::new(),
        }
    }

    fn said(&self, said: &Said) -> String {
        let role = said.role();
        let time = said.time.filter(|_| self.is_rich()).map(minute);
        if matches!(role, Role::Call | Role::Answer | Role::Thought) {
            let (name, body) = match role {
                Role::Thought => (None, contained(&said.text) + "\n"),
                _ => {
                    let (name, body) = said.tool();
                    let language = if body.starts_with(['{', '[']) { "json" } else { "text" };
                    (name, if body.is_empty() { body } else { fenced(&body, language) })
                }
            };
            let name = name.filter(|name| *name != said.speaker).map(|name| format!(" {name}"));
            let (name, note) = (name.unwrap_or_default(), role.note().unwrap_or_default());
            return details(&format!("{} {note}{name} · {}", said.speaker, said.turn), &body);
        }
        let mut line = format!("**{}**", escaped(&said.speaker));
        line.push_str(&role.note().map(|note| format!(" ({note})")).unwrap_or_default());
        if self.is_rich() {
            line.push_str(&format!(" · {}", said.turn));
        }
        line.push_str(&time.map(|time| format!(" · {time}")).unwrap_or_default());
        let text = contained(said.text.trim_end());
        match role {
            Role::Narrator if !self.is_rich() => format!("\n{text}\n"),
            Role::Player | Role::Aside => format!("\n{line}\n\n{}", quoted(&text)),
            _ => format!("\n{line}\n\n{text}\n"),
        }
    }

    fn changes(changes: &Changes) -> String {
        let lines = changes
            .lines
            .iter()
            .map(|change| format!("- {}: {}\n", code(&change.place), code(&change.words())));
        let number = changes.lines.len() as u64;
        let summary = format!("{} with turn {}", count(number, "change", "changes"), changes.turn);
        details(&summary, &lines.collect::<String>())
    }
}

impl Shape for Markdown<'_> {
    fn begin(&mut self, cover: &Cover, outline: &Outline) -> Result<String, ExportError> {
        let before = match self.choices.metadata {
            true => front_matter(cover, outline),
            false => String::new(),
        };
        Ok(format!("{before}# {}\n", escaped(&cover.title)))
    }

    fn piece(&mut self, piece: &Piece) -> Result<String, ExportError> {
        Ok(match piece {
            Piece::Heading(mark) => self.heading(mark),
            Piece::Turn { .. } => String::new(),
            Piece::Changes(changes) if changes.lines.is_empty() => String::new(),
            Piece::Said(said) => self.said(said),
            Piece::Changes(changes) => Markdown::changes(changes),
        })
    }

    fn end(&mut self, state: &[(String, String)]) -> Result<String, ExportError> {
        let mut text = String::new();
        if !state.is_empty() {
            text.push_str("\n## State at the end\n");
        }
        for (scope, value) in state {
            text.push_str(&details(scope, &fenced(value, "json")));
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
            assert_eq!(escaped(text), expect);
        }
    }

    #[test]
    fn nothing_closes_a_fence_or_code_but_its_end() {
        assert_eq!(fenced("a\n```\nb\n", "text"), "````text\na\n```\nb\n````\n");
        assert_eq!(fenced("a", ""), "```\na\n```\n");
        assert_eq!(code("a`b``c"), "```a`b``c```");
        assert_eq!(code("`"), "`` ` ``");
        assert_eq!(code(""), "`  `");
    }
}
