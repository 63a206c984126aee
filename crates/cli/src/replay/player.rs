//! [`ReplayPlayer`]: the state of a replay, and the effect of each key.

use std::time::Duration;

/// A key of the replay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReplayKey {
    Next,
    Back,
    First,
    Last,
    Play,
    Faster,
    Slower,
    Up,
    Down,
    PageUp,
    PageDown,
    Quit,
}

/// The speed in turns per second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ReplaySpeed(f64);

/// The minimum and maximum speed.
const SLOWEST: f64 = 1.0 / 64.0;
const FASTEST: f64 = 64.0;

impl ReplaySpeed {
    /// The default: a turn every two seconds.
    const USUAL: ReplaySpeed = ReplaySpeed(0.5);

    /// Parses a speed.
    pub(crate) fn parse(text: &str) -> Result<ReplaySpeed, String> {
        match text.parse::<f64>() {
            Ok(speed) if (SLOWEST..=FASTEST).contains(&speed) => Ok(ReplaySpeed(speed)),
            _ => Err(format!("a speed is a number from {SLOWEST} to {FASTEST}")),
        }
    }

    fn times(self, factor: f64) -> ReplaySpeed {
        ReplaySpeed((self.0 * factor).clamp(SLOWEST, FASTEST))
    }

    /// Returns the time between two turns.
    fn pause(self) -> Duration {
        Duration::from_secs_f64(1.0 / self.0)
    }
}

impl std::fmt::Display for ReplaySpeed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} turns/s", self.0)
    }
}

/// The state of a replay.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ReplayPlayer {
    first: u64,
    last: u64,
    turn: u64,
    speed: ReplaySpeed,
    is_playing: bool,
    is_over: bool,
    /// The number of lines of the turn above the screen.
    scroll: usize,
    /// The number of lines that fit on the screen, and of all lines, when it was last drawn.
    shown: usize,
    lines: usize,
}

impl ReplayPlayer {
    /// Creates a replay of turns `first` to `last` that begins with `turn`; with a speed, it plays.
    pub(crate) fn new(
        first: u64,
        last: u64,
        turn: u64,
        speed: Option<ReplaySpeed>,
    ) -> ReplayPlayer {
        ReplayPlayer {
            first,
            last,
            turn: turn.clamp(first, last.max(first)),
            speed: speed.unwrap_or(ReplaySpeed::USUAL),
            is_playing: speed.is_some(),
            is_over: false,
            scroll: 0,
            shown: 1,
            lines: 1,
        }
    }

    pub(crate) fn turn(&self) -> u64 {
        self.turn
    }

    pub(crate) fn is_over(&self) -> bool {
        self.is_over
    }

    /// Returns how long to wait for a key before [`ReplayPlayer::tick`]; `None` if it is paused.
    pub(crate) fn patience(&self) -> Option<Duration> {
        self.is_playing.then(|| self.speed.pause())
    }

    /// Advances after the time between two turns has passed.
    pub(crate) fn tick(&mut self) {
        if self.is_playing {
            self.go_to(self.turn.saturating_add(1));
            self.is_playing = self.turn < self.last;
        }
    }

    /// Handles a key.
    pub(crate) fn press(&mut self, key: ReplayKey) {
        match key {
            ReplayKey::Next => self.go_to(self.turn.saturating_add(1)),
            ReplayKey::Back => self.go_to(self.turn.saturating_sub(1)),
            ReplayKey::First => self.go_to(self.first),
            ReplayKey::Last => self.go_to(self.last),
            ReplayKey::Play => {
                if !self.is_playing && self.turn == self.last {
                    // At the end, playing starts over.
                    self.go_to(self.first);
                }
                self.is_playing = !self.is_playing && self.turn < self.last;
            }
            ReplayKey::Faster => self.speed = self.speed.times(2.0),
            ReplayKey::Slower => self.speed = self.speed.times(0.5),
            ReplayKey::Up => self.scroll_to(self.scroll.saturating_sub(1)),
            ReplayKey::Down => self.scroll_to(self.scroll + 1),
            ReplayKey::PageUp => self.scroll_to(self.scroll.saturating_sub(self.shown)),
            ReplayKey::PageDown => self.scroll_to(self.scroll + self.shown),
            ReplayKey::Quit => self.is_over = true,
        }
    }

    fn go_to(&mut self, turn: u64) {
        let turn = turn.clamp(self.first, self.last.max(self.first));
        if turn != self.turn {
            (self.turn, self.scroll) = (turn, 0);
        }
    }

    fn scroll_to(&mut self, line: usize) {
        self.scroll = line.min(self.lines.saturating_sub(self.shown));
    }

    /// Stores the number of lines; returns the first line to show.
    pub(super) fn fit(&mut self, lines: usize, shown: usize) -> usize {
        (self.lines, self.shown) = (lines, shown.max(1));
        self.scroll_to(self.scroll);
        self.scroll
    }

    /// Returns the position and the mode as text.
    pub(super) fn status(&self) -> String {
        let doing =
            if self.is_playing { format!("playing, {}", self.speed) } else { "paused".to_owned() };
        format!("turn {} of {}  {doing}", self.turn, self.last)
    }

    /// Returns whether there is more of the turn above or below the screen.
    pub(super) fn more(&self) -> &'static str {
        match (self.scroll > 0, self.scroll + self.shown < self.lines) {
            (false, false) => "",
            (true, false) => "more above",
            (false, true) => "more below",
            (true, true) => "more above and below",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn player() -> ReplayPlayer {
        ReplayPlayer::new(1, 5, 2, None)
    }

    /// Checks the turn after these keys.
    fn check(keys: &[ReplayKey], turn: u64) {
        let mut player = player();
        keys.iter().for_each(|key| player.press(*key));
        assert_eq!(player.turn(), turn, "{keys:?}");
    }

    #[test]
    fn keys_step_forth_and_back_and_stop_at_both_ends() {
        check(&[], 2);
        check(&[ReplayKey::Next], 3);
        check(&[ReplayKey::Next, ReplayKey::Next, ReplayKey::Back], 3);
        check(&[ReplayKey::Back, ReplayKey::Back, ReplayKey::Back], 1);
        check(&[ReplayKey::Last], 5);
        check(&[ReplayKey::Last, ReplayKey::Next], 5);
        check(&[ReplayKey::Last, ReplayKey::First], 1);
        check(&[ReplayKey::Up, ReplayKey::Down, ReplayKey::Faster], 2);
    }

    #[test]
    fn it_stands_still_until_it_plays_and_plays_until_the_end() {
        let mut player = player();
        player.tick();
        assert_eq!((player.turn(), player.patience()), (2, None));
        player.press(ReplayKey::Play);
        assert_eq!(player.patience(), Some(Duration::from_secs(2)));
        player.tick();
        assert_eq!(player.turn(), 3);
        player.press(ReplayKey::Back);
        assert_eq!((player.turn(), player.is_playing), (2, true));
        player.press(ReplayKey::Play);
        assert_eq!(player.patience(), None);
        player.press(ReplayKey::Play);
        (0..9).for_each(|_| player.tick());
        assert_eq!((player.turn(), player.patience()), (5, None));
        player.press(ReplayKey::Play);
        assert_eq!((player.turn(), player.is_playing), (1, true));
    }

    #[test]
    fn a_speed_that_was_given_starts_it_and_keys_change_it() {
        let mut player = ReplayPlayer::new(1, 5, 1, Some(ReplaySpeed::parse("4").unwrap()));
        assert_eq!(player.patience(), Some(Duration::from_millis(250)));
        player.press(ReplayKey::Slower);
        assert_eq!(player.patience(), Some(Duration::from_millis(500)));
        assert_eq!(player.status(), "turn 1 of 5  playing, 2 turns/s");
        (0..20).for_each(|_| player.press(ReplayKey::Faster));
        assert_eq!(player.speed, ReplaySpeed(64.0));
        for bad in ["0", "-1", "NaN", "inf", "1000", "fast", ""] {
            assert!(ReplaySpeed::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_long_turn_scrolls_within_its_lines_and_the_next_one_starts_at_its_top() {
        let mut player = player();
        assert_eq!(player.fit(25, 10), 0);
        assert_eq!(player.more(), "more below");
        player.press(ReplayKey::Down);
        player.press(ReplayKey::PageDown);
        assert_eq!((player.fit(25, 10), player.more()), (11, "more above and below"));
        player.press(ReplayKey::PageDown);
        assert_eq!((player.fit(25, 10), player.more()), (15, "more above"));
        // The window has grown.
        assert_eq!((player.fit(25, 30), player.more()), (0, ""));
        player.fit(25, 10);
        player.press(ReplayKey::PageDown);
        player.press(ReplayKey::PageUp);
        player.press(ReplayKey::Up);
        assert_eq!(player.scroll, 0);
        player.press(ReplayKey::PageDown);
        player.press(ReplayKey::Next);
        assert_eq!(player.scroll, 0);
    }

    #[test]
    fn it_is_over_when_the_user_says_so() {
        let mut player = player();
        assert!(!player.is_over());
        player.press(ReplayKey::Quit);
        assert!(player.is_over());
    }
}
