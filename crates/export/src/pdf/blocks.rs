//! Converts Markdown to the blocks of a book.

use everturn_typeset::{Block, ColumnAlign, ListMarker, RunStyle, TableBlock, TextRun};
use pulldown_cmark::{Alignment, Event, Options, Parser, Tag, TagEnd};

/// The maximum length of a text that is parsed as Markdown.
const LONGEST: usize = 1 << 20;

/// The maximum nesting depth.
const DEEPEST: usize = 48;

/// The maximum size of a paragraph in bytes; longer ones are split.
const PARAGRAPH: usize = 16 << 10;

/// Converts a Markdown text to blocks.
pub(super) fn markdown_blocks(text: &str) -> Vec<Block> {
    let options = Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TABLES
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_FOOTNOTES;
    if text.len() > LONGEST {
        return plain_blocks(text);
    }
    let mut maker = BlockBuilder::default();
    let mut depth = 0usize;
    for event in Parser::new_ext(text, options) {
        match &event {
            Event::Start(_) => depth += 1,
            Event::End(_) => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > DEEPEST {
            return plain_blocks(text);
        }
        maker.handle_event(event);
    }
    maker.flush();
    maker.blocks
}

/// Converts a text without Markdown to paragraphs of limited size.
pub(super) fn plain_blocks(text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    for paragraph in text.split("\n\n").filter(|paragraph| !paragraph.trim().is_empty()) {
        let mut rest = paragraph;
        while !rest.is_empty() {
            let end = if rest.len() <= PARAGRAPH {
                rest.len()
            } else {
                let most = rest.floor_char_boundary(PARAGRAPH);
                let space = rest.get(..most).and_then(|part| part.rfind([' ', '\n']));
                space.map_or(most, |at| at + 1)
            };
            let (part, more) = rest.split_at(end);
            blocks.push(Block::Paragraph(vec![TextRun::plain(part)]));
            rest = more;
        }
    }
    blocks
}

#[derive(Default)]
struct BlockBuilder {
    blocks: Vec<Block>,
    runs: Vec<TextRun>,
    /// The number of open elements of each kind.
    bold: usize,
    italic: usize,
    struck: usize,
    link: usize,
    quotes: usize,
    /// The open lists, with the number of the next item.
    lists: Vec<Option<u64>>,
    marker: Option<ListMarker>,
    code: Option<String>,
    /// The open table.
    table: Option<TableBlock>,
    /// The label of the open footnote.
    footnote: Option<String>,
}

impl BlockBuilder {
    fn add_text(&mut self, text: &str, code: bool) {
        if let Some(block) = &mut self.code {
            block.push_str(text);
            return;
        }
        let style = RunStyle {
            bold: self.bold > 0,
            italic: self.italic > 0,
            struck: self.struck > 0,
            code,
            link: self.link > 0,
        };
        let cell = self.table.as_mut().map(|table| table.rows.last_mut()?.last_mut());
        let Some(runs) = cell.unwrap_or(Some(&mut self.runs)) else { return };
        match runs.last_mut() {
            Some(run) if run.style == style => run.text.push_str(text),
            _ => runs.push(TextRun { text: text.to_owned(), style }),
        }
    }

    /// Ends the current paragraph.
    fn flush(&mut self) {
        let mut text = std::mem::take(&mut self.runs);
        if let Some(last) = text.last_mut() {
            last.text.truncate(last.text.trim_end().len());
        }
        if text.iter().all(|run| run.text.trim().is_empty()) {
            return;
        }
        if let Some(label) = &mut self.footnote {
            let label = std::mem::take(label);
            self.blocks.push(Block::Note { label, text });
            return;
        }
        let depth = self.lists.len().checked_sub(1);
        self.blocks.push(match depth {
            Some(depth) => Block::Item {
                depth: u8::try_from(depth).unwrap_or(u8::MAX),
                marker: self.marker.take().unwrap_or(ListMarker::None),
                text,
            },
            None if self.quotes > 0 => {
                Block::Quotation { depth: u8::try_from(self.quotes - 1).unwrap_or(u8::MAX), text }
            }
            None => Block::Paragraph(text),
        });
    }

    fn handle_event(&mut self, event: Event<'_>) {
        match event {
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => {
                self.add_text(&text, false);
            }
            Event::Code(text) => self.add_text(&text, true),
            Event::SoftBreak | Event::HardBreak => self.add_text("\n", false),
            Event::TaskListMarker(is_done) => self.marker = Some(ListMarker::Task(is_done)),
            Event::FootnoteReference(label) => self.add_text(&format!("[{label}]"), false),
            Event::Rule => {
                self.flush();
                self.blocks.push(Block::Break);
            }
            Event::Start(tag) => self.start(&tag),
            Event::End(tag) => self.end(tag),
            _ => {}
        }
    }

    fn start(&mut self, tag: &Tag<'_>) {
        match tag {
            Tag::Heading { .. } => {
                self.flush();
                self.bold += 1;
            }
            Tag::Strong => self.bold += 1,
            Tag::Emphasis => self.italic += 1,
            Tag::Strikethrough => self.struck += 1,
            Tag::FootnoteDefinition(label) => {
                self.flush();
                self.footnote = Some(format!("[{label}]"));
            }
            Tag::Link { .. } | Tag::Image { .. } => self.link += 1,
            Tag::BlockQuote(_) => {
                self.flush();
                self.quotes += 1;
            }
            Tag::List(first) => {
                self.flush();
                self.lists.push(*first);
            }
            Tag::Item => {
                let number = self.lists.last_mut().and_then(|next| {
                    let number = (*next)?;
                    *next = number.checked_add(1);
                    Some(number)
                });
                self.marker = Some(number.map_or(ListMarker::Bullet, ListMarker::Number));
            }
            Tag::CodeBlock(_) => {
                self.flush();
                self.code = Some(String::new());
            }
            Tag::Table(columns) => {
                self.flush();
                let align = |column: &Alignment| match column {
                    Alignment::Right => ColumnAlign::Right,
                    Alignment::Center => ColumnAlign::Center,
                    Alignment::None | Alignment::Left => ColumnAlign::Left,
                };
                let columns = columns.iter().map(align).collect();
                self.table = Some(TableBlock { columns, rows: Vec::new() });
            }
            Tag::TableHead | Tag::TableRow => {
                self.table.iter_mut().for_each(|table| table.rows.push(Vec::new()));
            }
            Tag::TableCell => {
                if let Some(row) = self.table.as_mut().and_then(|table| table.rows.last_mut()) {
                    row.push(Vec::new());
                }
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::Item | TagEnd::HtmlBlock => self.flush(),
            TagEnd::Heading(_) => {
                self.flush();
                self.bold = self.bold.saturating_sub(1);
            }
            TagEnd::Strong => self.bold = self.bold.saturating_sub(1),
            TagEnd::Emphasis => self.italic = self.italic.saturating_sub(1),
            TagEnd::Strikethrough => self.struck = self.struck.saturating_sub(1),
            TagEnd::FootnoteDefinition => {
                self.flush();
                self.footnote = None;
            }
            TagEnd::Link | TagEnd::Image => self.link = self.link.saturating_sub(1),
            TagEnd::BlockQuote(_) => {
                self.flush();
                self.quotes = self.quotes.saturating_sub(1);
            }
            TagEnd::List(_) => {
                self.flush();
                self.lists.pop();
            }
            TagEnd::CodeBlock => {
                let code = self.code.take().unwrap_or_default();
                self.blocks.push(Block::Code(code.trim_end_matches('\n').to_owned()));
            }
            TagEnd::Table => {
                self.blocks.extend(self.table.take().map(Block::Table));
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(depth: u8, marker: ListMarker, text: &str) -> Block {
        Block::Item { depth, marker, text: vec![TextRun::plain(text)] }
    }

    #[test]
    fn markdown_becomes_blocks() {
        let text = |text: &str| vec![TextRun::plain(text)];
        let check = |markdown: &str, expect: &[Block]| {
            assert_eq!(markdown_blocks(markdown), expect, "{markdown:?}");
        };
        check(
            "a *b* `c`\nd",
            &[Block::Paragraph(vec![
                TextRun::plain("a "),
                TextRun::italic("b"),
                TextRun::plain(" "),
                TextRun::code("c"),
                TextRun::plain("\nd"),
            ])],
        );
        check(
            "# Title\n\ntext",
            &[Block::Paragraph(vec![TextRun::bold("Title")]), Block::Paragraph(text("text"))],
        );
        let quotation = |depth, words: &str| Block::Quotation { depth, text: text(words) };
        check("> q\n\n---", &[quotation(0, "q"), Block::Break]);
        check("> q\n>\n> > r\n>\n> s", &[quotation(0, "q"), quotation(1, "r"), quotation(0, "s")]);
        check("~~no~~", &[Block::Paragraph(vec![TextRun::struck("no")])]);
        check(
            "- [x] a\n- [ ] b",
            &[item(0, ListMarker::Task(true), "a"), item(0, ListMarker::Task(false), "b")],
        );
        check(
            "a[^n]\n\n[^n]: c",
            &[
                Block::Paragraph(text("a[n]")),
                Block::Note { label: "[n]".to_owned(), text: text("c") },
            ],
        );
        check(
            "- a\n  1. b\n  2. c\n- d",
            &[
                item(0, ListMarker::Bullet, "a"),
                item(1, ListMarker::Number(1), "b"),
                item(1, ListMarker::Number(2), "c"),
                item(0, ListMarker::Bullet, "d"),
            ],
        );
        check("- a\n\n  b", &[item(0, ListMarker::Bullet, "a"), item(0, ListMarker::None, "b")]);
        check("```rust\nlet a;\n```", &[Block::Code("let a;".to_owned())]);
        let table = TableBlock {
            columns: vec![ColumnAlign::Left, ColumnAlign::Right],
            rows: vec![vec![text("a"), text("bc")], vec![text("123"), vec![TextRun::italic("4")]]],
        };
        check("| a | bc |\n|---|--:|\n| 123 | *4* |", &[Block::Table(table)]);
        check(
            "<b>x</b> [y](javascript:z)",
            &[Block::Paragraph(vec![TextRun::plain("<b>x</b> "), TextRun::link("y")])],
        );
        check("<div>\nx\n</div>", &[Block::Paragraph(text("<div>\nx\n</div>"))]);
        check("", &[]);
    }

    #[test]
    fn a_long_text_is_cut_into_paragraphs_and_nothing_is_lost() {
        let long = "word ".repeat(10_000) + "\n\n" + &"語".repeat(10_000);
        let said: String = plain_blocks(&long)
            .into_iter()
            .map(|block| match block {
                Block::Paragraph(runs) => {
                    assert!(runs[0].text.len() <= PARAGRAPH);
                    runs[0].text.clone()
                }
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(said, long.replace("\n\n", ""));
        assert!(matches!(markdown_blocks(&"> ".repeat(500)).as_slice(), [Block::Paragraph(_)]));
    }
}
