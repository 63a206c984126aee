//! What a player is shown: blocks of text, each with a look, that fit any width.

use clap::builder::styling::{AnsiColor, Style};

use crate::output::harmless;
use everturn_export::columns::{cut, wrap};

/// How a block looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Look {
    /// The story.
    Plain,
    /// What matters most.
    Strong,
    /// Remarks beside the story.
    Faint,
    /// What went wrong.
    Alarm,
}

impl Look {
    fn style(self) -> Style {
        match self {
            Look::Plain => Style::new(),
            Look::Strong => Style::new().bold(),
            Look::Faint => Style::new().dimmed(),
            Look::Alarm => AnsiColor::Yellow.on_default(),
        }
    }
}

/// One text.
struct Block {
    look: Look,
    /// Whether its lines are cut where they are too long, and not broken.
    drawn: bool,
    text: String,
}

/// How a page is shown.
#[derive(Debug, Clone, Copy)]
pub(super) struct Screen {
    pub(super) width: usize,
    pub(super) colour: bool,
}

/// What is shown at once.
#[derive(Default)]
pub(super) struct Page {
    blocks: Vec<Block>,
}

impl Page {
    fn add(&mut self, look: Look, drawn: bool, text: impl Into<String>) {
        self.blocks.push(Block { look, drawn, text: text.into() });
    }

    /// Adds a text whose lines are broken where they must be.
    pub(super) fn say(&mut self, look: Look, text: impl Into<String>) {
        self.add(look, false, text);
    }

    /// Adds a line that loses its meaning when it is broken.
    pub(super) fn draw(&mut self, look: Look, line: impl Into<String>) {
        self.add(look, true, line);
    }

    /// Adds an empty line, unless there is one or nothing yet.
    pub(super) fn gap(&mut self) {
        if self.blocks.last().is_some_and(|block| !block.text.is_empty()) {
            self.say(Look::Plain, "");
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// The page as text. Nothing in it can drive a terminal but the looks.
    pub(super) fn render(&self, screen: Screen) -> String {
        let mut page = String::new();
        for block in &self.blocks {
            let text = harmless(&block.text);
            let lines = match block.drawn {
                true => text.lines().map(|line| cut(line, screen.width)).collect(),
                false => wrap(text.trim_end(), screen.width),
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
        let mut page = Page::default();
        page.gap();
        page.say(Look::Strong, "one two three\u{1b}[2J");
        page.gap();
        page.gap();
        page.draw(Look::Plain, "├── a long line");
        let shown = page.render(Screen { width: 9, colour: false });
        assert_eq!(shown, "one two\nthree\\u{1\nb}[2J\n\n├── a lon\n");
        let shown = page.render(Screen { width: 40, colour: true });
        assert!(shown.starts_with("\u{1b}[1mone two three\\u{1b}[2J\u{1b}[0m\n"), "{shown:?}");
    }
}
