//! [`PlayPage`]: the output for a player: styled blocks of text that fit any width.

use clap::builder::styling::{AnsiColor, Style};

use crate::output::escape_controls;
use everturn_export::columns::{truncate_width, wrap_text};

/// The style of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BlockStyle {
    /// The story.
    Plain,
    /// Important text.
    Strong,
    /// Remarks beside the story.
    Faint,
    /// Errors.
    Alarm,
}

impl BlockStyle {
    fn style(self) -> Style {
        match self {
            BlockStyle::Plain => Style::new(),
            BlockStyle::Strong => Style::new().bold(),
            BlockStyle::Faint => Style::new().dimmed(),
            BlockStyle::Alarm => AnsiColor::Yellow.on_default(),
        }
    }
}

/// A block of text.
struct PageBlock {
    look: BlockStyle,
    /// Whether long lines are truncated instead of wrapped.
    drawn: bool,
    /// The text before the first line; the other lines are indented as far.
    lead: String,
    text: String,
}

/// Display options.
#[derive(Debug, Clone, Copy)]
pub(super) struct ScreenOptions {
    pub(super) width: usize,
    pub(super) colour: bool,
}

/// A page of output.
#[derive(Default)]
pub(super) struct PlayPage {
    blocks: Vec<PageBlock>,
}

impl PlayPage {
    fn add(&mut self, look: BlockStyle, drawn: bool, text: impl Into<String>) {
        self.blocks.push(PageBlock { look, drawn, lead: String::new(), text: text.into() });
    }

    /// Adds an item of a list: its text is wrapped beside its lead.
    pub(super) fn item(&mut self, look: BlockStyle, lead: String, text: impl Into<String>) {
        self.blocks.push(PageBlock { look, drawn: false, lead, text: text.into() });
    }

    /// Adds a text, which is wrapped.
    pub(super) fn say(&mut self, look: BlockStyle, text: impl Into<String>) {
        self.add(look, false, text);
    }

    /// Adds a line that must not be wrapped.
    pub(super) fn draw(&mut self, look: BlockStyle, line: impl Into<String>) {
        self.add(look, true, line);
    }

    /// Adds an empty line, unless there already is one or the page is empty.
    pub(super) fn gap(&mut self) {
        if self.blocks.last().is_some_and(|block| !block.text.is_empty()) {
            self.say(BlockStyle::Plain, "");
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// Renders the page as text. Apart from the styles, nothing in it can control the terminal.
    pub(super) fn render(&self, screen: ScreenOptions) -> String {
        let mut page = String::new();
        for block in &self.blocks {
            let text = escape_controls(&block.text);
            let lines = match block.drawn {
                true => text.lines().map(|line| truncate_width(line, screen.width)).collect(),
                false if block.lead.is_empty() => wrap_text(text.trim_end(), screen.width),
                false => hanging_lines(&block.lead, text.trim_end(), screen.width),
            };
            let style = if screen.colour { block.look.style() } else { Style::new() };
            for line in lines {
                match line.is_empty() {
                    true => page.push('\n'),
                    false => page.push_str(&format!("{style}{line}{style:#}\n")),
                }
            }
        }
        page
    }
}

/// The least width of the text beside a lead; in a narrower terminal it starts below the lead.
const LEAST_BESIDE: usize = 24;

/// Wraps a text beside its lead.
fn hanging_lines(lead: &str, text: &str, width: usize) -> Vec<String> {
    let indent = lead.chars().count();
    let (indent, first) = match width.saturating_sub(indent) {
        LEAST_BESIDE.. => (indent, lead),
        _ => (4.min(width / 2), ""),
    };
    let mut lines = match first.is_empty() {
        true => wrap_text(lead.trim_end(), width),
        false => Vec::new(),
    };
    for line in wrap_text(text, width.saturating_sub(indent).max(1)) {
        let before = if lines.is_empty() { first.to_owned() } else { " ".repeat(indent) };
        lines.push(before + &line);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_wrapped_beside_their_lead() {
        let mut page = PlayPage::default();
        page.item(
            BlockStyle::Plain,
            "/undo [N]  ".to_owned(),
            "take back the last turns of the story",
        );
        let shown = |width: usize| page.render(ScreenOptions { width, colour: false });
        assert_eq!(shown(60), "/undo [N]  take back the last turns of the story\n");
        assert_eq!(shown(36), "/undo [N]  take back the last turns\n           of the story\n");
        assert_eq!(shown(20), "/undo [N]\n    take back the\n    last turns of\n    the story\n");
    }

    #[test]
    fn pages_fit_their_width_and_cannot_drive_a_terminal() {
        let mut page = PlayPage::default();
        page.gap();
        page.say(BlockStyle::Strong, "one two three\u{1b}[2J");
        page.gap();
        page.gap();
        page.draw(BlockStyle::Plain, "├── a long line");
        let shown = page.render(ScreenOptions { width: 9, colour: false });
        assert_eq!(shown, "one two\nthree\\u{1\nb}[2J\n\n├── a lon\n");
        let shown = page.render(ScreenOptions { width: 40, colour: true });
        assert!(shown.starts_with("\u{1b}[1mone two three\\u{1b}[2J\u{1b}[0m\n"), "{shown:?}");
    }
}
