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
        self.blocks.push(PageBlock { look, drawn, text: text.into() });
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
                false => wrap_text(text.trim_end(), screen.width),
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

#[cfg(test)]
mod tests {
    use super::*;

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
