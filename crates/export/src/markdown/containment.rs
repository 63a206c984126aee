//! Contains the Markdown of a message, so that it cannot affect the document around it.
//!
//! A text keeps its emphasis, lists, tables, quotes and code. Everything that could change the surrounding document is
//! neutralized: HTML, headings, link and footnote definitions, unclosed fences, remote images, and links to anything
//! but the web and mail.

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, LinkType, OffsetIter, Options, Parser, Tag};

/// How often a text is parsed again after an edit.
const ROUNDS: usize = 6;

/// The maximum length of a text that is parsed.
const LONGEST: usize = 1 << 20;

/// The maximum nesting depth.
const DEEPEST: usize = 48;

const OPTIONS: Options = Options::ENABLE_TABLES
    .union(Options::ENABLE_STRIKETHROUGH)
    .union(Options::ENABLE_FOOTNOTES)
    .union(Options::ENABLE_TASKLISTS);

/// A range of the text and its replacement.
type TextEdit = (Range<usize>, String);

/// Returns the text in a form that is safe anywhere between empty lines.
pub(super) fn contain_markdown(text: &str) -> String {
    let mut text = text.trim_end().to_owned();
    if text.len() <= LONGEST {
        for _ in 0..ROUNDS {
            match find_edits(&text) {
                Some(edits) if edits.is_empty() => return text.trim_end().to_owned(),
                Some(edits) => text = apply_edits(&text, edits),
                None => break,
            }
        }
    }
    // A text that cannot be neutralized is shown as code.
    super::fence_code(&text, "text").trim_end().to_owned()
}

fn apply_edits(text: &str, mut edits: Vec<TextEdit>) -> String {
    edits.sort_by_key(|(range, _)| (range.start, range.end));
    let mut out = String::with_capacity(text.len() + 16);
    let mut at = 0;
    for (range, new) in edits {
        // Of two overlapping edits, the second is found again in the next round.
        if range.start < at {
            continue;
        }
        out.push_str(text.get(at..range.start).unwrap_or_default());
        out.push_str(&new);
        at = range.end;
    }
    out.push_str(text.get(at..).unwrap_or_default());
    out
}

/// Returns the edits that a text needs; `None` if it is nested too deeply to parse.
fn find_edits(text: &str) -> Option<Vec<TextEdit>> {
    let mut events: OffsetIter<'_> = Parser::new_ext(text, OPTIONS).into_offset_iter();
    let mut edits: Vec<TextEdit> = Vec::new();
    let definitions = events.reference_definitions().iter();
    edits.extend(definitions.map(|(_, definition)| insert_before(definition.span.start, "\\")));
    let mut depth = 0;
    for (event, range) in events.by_ref() {
        let part = text.get(range.clone()).unwrap_or_default();
        match &event {
            Event::Html(_) | Event::InlineHtml(_) if part.contains('<') => {
                edits.push((range, part.replace('<', "&lt;")));
            }
            Event::Start(Tag::Heading { .. }) => edits.push((range, bold(part))),
            Event::Start(Tag::FootnoteDefinition(_)) => {
                edits.push(insert_before(range.start, "\\"));
            }
            Event::Start(Tag::Image { .. }) => {
                edits.push((range.start..range.start + 1, String::new()));
            }
            Event::Start(Tag::Link { dest_url, link_type, .. }) if !is_harmless(dest_url) => {
                match link_type {
                    LinkType::Autolink | LinkType::Email => {
                        edits.push((range.start..range.start + 1, "&lt;".to_owned()));
                    }
                    _ => edits.push(insert_before(range.start, "\\")),
                }
            }
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(_))) if depth == 0 => {
                edits.extend(unclosed(part).map(|fence| (range.end..range.end, fence)));
            }
            _ => {}
        }
        match event {
            Event::Start(_) => depth += 1,
            Event::End(_) => depth -= 1,
            _ => {}
        }
        if depth > DEEPEST {
            return None;
        }
    }
    Some(edits)
}

fn insert_before(at: usize, what: &str) -> TextEdit {
    (at..at, what.to_owned())
}

/// Returns whether a link leads to the web, to a mail address, or stays within the document.
fn is_harmless(url: &str) -> bool {
    match url.split_once(':') {
        None => true,
        Some((scheme, _)) if scheme.contains(['/', '?', '#']) => true,
        Some((scheme, _)) => {
            ["http", "https", "mailto"].iter().any(|fine| scheme.eq_ignore_ascii_case(fine))
        }
    }
}

/// Returns a heading as a bold line of its own.
fn bold(heading: &str) -> String {
    let text = heading.trim_end();
    let end = heading.get(text.len()..).unwrap_or_default();
    let words = match text.strip_prefix('#') {
        Some(rest) => rest.trim_start_matches('#').trim().trim_end_matches('#').trim_end(),
        // A setext heading: the underline is dropped.
        None => text.rsplit_once('\n').map_or(text, |(above, _)| above.trim_end()),
    };
    match words.is_empty() {
        true => end.to_owned(),
        false => format!("**{words}**{end}"),
    }
}

/// Returns the closing fence that a code block lacks.
fn unclosed(block: &str) -> Option<String> {
    let block = block.trim_end_matches('\n');
    let first = block.lines().next().unwrap_or_default().trim_start();
    let mark = first.chars().next().unwrap_or('`');
    let length = first.chars().take_while(|c| *c == mark).count();
    let last = block.lines().next_back().unwrap_or_default().trim();
    let closes = last.len() >= length && last.chars().all(|c| c == mark);
    let is_closed = closes && block.lines().nth(1).is_some();
    (!is_closed).then(|| format!("\n{}\n", mark.to_string().repeat(length)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expect: &str) {
        let contained = contain_markdown(text);
        assert_eq!(contained, expect, "{text:?}");
        assert_eq!(find_edits(&contained).map(|edits| edits.len()), Some(0), "{contained:?}");
    }

    #[test]
    fn what_reaches_nowhere_stays() {
        for text in [
            "plain *and* **bold** with `code <b>`",
            "- a\n- b\n  - c\n\n1. d",
            "| a | b |\n|---|---|\n| 1 | 2 |",
            "> quoted\n> more",
            "```rust\nlet a: Vec<String>;\n# not a heading\n```",
            "[a link](https://example.org) and <https://example.org>",
            "    indented <code>",
            "1 < 2",
        ] {
            check(text, text);
        }
    }

    #[test]
    fn what_reaches_further_is_defused() {
        check("# A *title*\n\ntext", "**A *title***\n\ntext");
        check("Title\n=====\ntext", "**Title**\ntext");
        check("> ## quoted", "> **quoted**");
        check("<script>x</script>", "&lt;script>x&lt;/script>");
        check("a <b>c</b> d", "a &lt;b>c&lt;/b> d");
        check("<div>\n# x\n</div>", "&lt;div>\n**x**\n&lt;/div>");
        check("</details>", "&lt;/details>");
        check("<!-- hidden", "&lt;!-- hidden");
        check("```\nnever closed", "```\nnever closed\n```");
        check("~~~~\nnever closed\n~~~", "~~~~\nnever closed\n~~~\n~~~~");
        check("[x]: javascript:alert(1)\n\n[x]", "\\[x]: javascript:alert(1)\n\n\\[x]");
        check("[x](javascript:alert(1))", "\\[x](javascript:alert(1))");
        check("<javascript:alert(1)>", "&lt;javascript:alert(1)>");
        check("![x](https://example.org/a.png)", "[x](https://example.org/a.png)");
        check("![x](data:image/svg+xml,y)", "\\[x](data:image/svg+xml,y)");
        check("[^1]: a note", "\\[^1]: a note");
        check("#", "");
    }

    #[test]
    fn what_cannot_be_looked_through_is_shown_as_it_is() {
        let deep = "> ".repeat(500) + "x";
        assert_eq!(contain_markdown(&deep), format!("```text\n{deep}\n```"));
    }
}
