//! Draws the screen of a replay.

use super::player::ReplayPlayer;
use everturn_export::columns::{spread_line, truncate_width, wrap_text};

/// The content of a turn.
#[derive(Debug, Default)]
pub(super) struct ReplayPage {
    /// The entries: speaker and time, and the text.
    pub(super) entries: Vec<(String, String)>,
    /// The changes.
    pub(super) changes: Vec<String>,
    /// The findings.
    pub(super) findings: Vec<String>,
}

/// The keys in the bottom line, which ends before the first one that does not fit.
const KEYS: &[&str] =
    &["←/→ turn", "space play", "+/- speed", "↑/↓ scroll", "g/G first/last", "q quit"];

impl ReplayPage {
    /// Returns the lines of the page, wrapped.
    fn lines(&self, width: usize) -> Vec<String> {
        let mut lines = Vec::new();
        if self.entries.is_empty() {
            lines.push("(this turn has no entry)".to_owned());
        }
        for (heading, text) in &self.entries {
            lines.push(truncate_width(heading, width));
            if !text.is_empty() {
                lines.push(String::new());
                lines.extend(wrap_text(text, width));
            }
            lines.push(String::new());
        }
        for change in &self.changes {
            let wrapped = wrap_text(change, width.saturating_sub(4));
            let marks = std::iter::once("  * ").chain(std::iter::repeat("    "));
            lines.extend(wrapped.iter().zip(marks).map(|(line, mark)| format!("{mark}{line}")));
        }
        for finding in &self.findings {
            lines.extend(wrap_text(&format!("! {finding}"), width));
        }
        lines
    }
}

/// Returns the keys that fit into the width; the key to quit is always included.
fn keys(width: usize) -> String {
    let all = KEYS.join("  ");
    let fits = |text: &str| text.chars().count() <= width;
    if fits(&all) { all } else { "←/→ turn  q quit".to_owned() }
}

/// Returns the lines of a screen of this size: a bar, the turn, a bar.
pub(super) fn screen(
    player: &mut ReplayPlayer,
    page: &ReplayPage,
    session: &str,
    (columns, rows): (usize, usize),
) -> Vec<String> {
    let body = rows.saturating_sub(2);
    let lines = page.lines(columns);
    let top = player.fit(lines.len(), body);
    let mut screen =
        vec![spread_line(&format!("{session}  {}", player.status()), player.more(), columns)];
    screen
        .extend(lines.into_iter().skip(top).map(|line| truncate_width(&line, columns)).take(body));
    screen.resize(body + 1, String::new());
    screen.push(spread_line(&keys(columns), "", columns));
    screen.truncate(rows.max(1));
    screen
}

#[cfg(test)]
mod tests {
    use unicode_width::UnicodeWidthStr;

    use super::super::player::ReplayKey;
    use super::*;

    fn page() -> ReplayPage {
        ReplayPage {
            entries: vec![(
                "gm  2026-01-01T10:00:00Z".to_owned(),
                "門が開く。 The gate opens.".to_owned(),
            )],
            changes: vec!["world npcs.luna.trust: 0 -> 5".to_owned()],
            findings: Vec::new(),
        }
    }

    #[test]
    fn a_turn_stands_between_two_bars() {
        let mut player = ReplayPlayer::new(1, 3, 2, None);
        let lines = screen(&mut player, &page(), "session-abc", (50, 9));
        let expect = [
            "session-abc  turn 2 of 3  paused                  ",
            "gm  2026-01-01T10:00:00Z",
            "",
            "門が開く。 The gate opens.",
            "",
            "  * world npcs.luna.trust: 0 -> 5",
            "",
            "",
            "←/→ turn  q quit                                  ",
        ];
        assert_eq!(lines, expect);
        let wide = screen(&mut player, &page(), "session-abc", (80, 24));
        assert_eq!(wide.len(), 24);
        let bar = wide.last().unwrap();
        assert!(KEYS.iter().all(|key| bar.contains(key)), "{bar}");
    }

    #[test]
    fn nothing_is_ever_larger_than_the_screen() {
        let long = ReplayPage {
            entries: vec![("語".repeat(99), "長い話。 ".repeat(99))],
            changes: vec!["x".repeat(500)],
            findings: vec!["bad ".repeat(50)],
        };
        for size in [(80, 24), (20, 5), (3, 2), (1, 1), (2, 0), (0, 0), (200, 60)] {
            let mut player = ReplayPlayer::new(1, 3, 2, None);
            for key in [ReplayKey::Down, ReplayKey::PageDown, ReplayKey::Next] {
                let lines = screen(&mut player, &long, "session", size);
                assert_eq!(lines.len(), size.1.max(1), "{size:?}");
                let fits = |line: &String| line.width() <= size.0;
                assert!(lines.iter().all(fits), "{size:?}: {lines:?}");
                player.press(key);
            }
        }
    }

    #[test]
    fn scrolling_shows_the_rest_of_a_long_turn() {
        let text = (1..=30).map(|line| format!("line {line}")).collect::<Vec<_>>().join("\n");
        let long = ReplayPage { entries: vec![("gm".to_owned(), text)], ..ReplayPage::default() };
        let mut player = ReplayPlayer::new(1, 3, 2, None);
        let first = screen(&mut player, &long, "s", (40, 12));
        assert!(first.contains(&"line 1".to_owned()) && first[0].contains("more below"));
        (0..9).for_each(|_| player.press(ReplayKey::PageDown));
        let last = screen(&mut player, &long, "s", (40, 12));
        assert!(last.contains(&"line 30".to_owned()) && last[0].contains("more above"), "{last:?}");
    }

    #[test]
    fn a_turn_that_is_not_there_says_so() {
        let mut player = ReplayPlayer::new(1, 3, 2, None);
        let lines = screen(&mut player, &ReplayPage::default(), "s", (40, 4));
        assert_eq!(lines[1], "(this turn has no entry)");
    }
}
