//! [`Terminal`]: takes over the terminal, draws, reads keys, and restores it.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crossterm::Command;
use crossterm::cursor::{Hide, MoveTo, Show};
use crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use crossterm::style::{Attribute, SetAttribute};
use crossterm::terminal::{
    Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode,
    enable_raw_mode, size,
};
use signal_hook::consts::{SIGINT, SIGTERM};

use super::player::ReplayKey;

/// Whether the terminal is taken over and must be restored.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// The maximum delay before a signal is noticed.
const LONGEST_WAIT: Duration = Duration::from_millis(100);

/// An input event.
pub(crate) enum TerminalInput<K> {
    /// A key with a meaning.
    Key(K),
    /// Nothing within the given time.
    Nothing,
    /// An event after which the screen must be redrawn.
    Redraw,
    /// A request to end the process.
    End,
}

/// The terminal while it is taken over.
pub(crate) struct Terminal {
    ended: Arc<AtomicBool>,
}

impl Terminal {
    /// Takes over the terminal; it is restored when this is dropped, and when the program panics.
    pub(crate) fn take() -> io::Result<Terminal> {
        let ended = Arc::new(AtomicBool::new(false));
        // SIGHUP is not handled: the terminal is gone, there is nothing to restore, reading from it never ends, and
        // the process must end.
        for signal in [SIGINT, SIGTERM] {
            signal_hook::flag::register(signal, Arc::clone(&ended))?;
        }
        enable_raw_mode()?;
        TAKEN.store(true, Ordering::SeqCst);
        let terminal = Terminal { ended };
        send(&[&ansi(&EnterAlternateScreen), &ansi(&Hide)])?;
        Ok(terminal)
    }

    /// Returns columns and rows.
    pub(super) fn size(&self) -> io::Result<(usize, usize)> {
        let (columns, rows) = size()?;
        Ok((usize::from(columns), usize::from(rows)))
    }

    /// Returns the output that shows these lines; the first and the last are bars.
    pub(super) fn picture(&self, lines: &[String]) -> String {
        let mut picture = String::new();
        let last = lines.len().saturating_sub(1);
        for (row, line) in (0..).zip(lines) {
            let bar = usize::from(row) == last || row == 0;
            picture.push_str(&ansi(&MoveTo(0, row)));
            if bar {
                picture.push_str(&ansi(&SetAttribute(Attribute::Reverse)));
            }
            picture.push_str(line);
            picture.push_str(&ansi(&SetAttribute(Attribute::Reset)));
            picture.push_str(&ansi(&Clear(ClearType::UntilNewLine)));
        }
        picture
    }

    /// Waits for a key, without limit if no time is given.
    pub(super) fn wait(&self, patience: Option<Duration>) -> io::Result<TerminalInput<ReplayKey>> {
        self.wait_for(patience, meaning)
    }

    /// Waits for a key to which `meaning` assigns a value.
    pub(crate) fn wait_for<K>(
        &self,
        patience: Option<Duration>,
        meaning: impl Fn(KeyEvent) -> Option<K>,
    ) -> io::Result<TerminalInput<K>> {
        let start = Instant::now();
        loop {
            if self.ended.load(Ordering::SeqCst) {
                return Ok(TerminalInput::End);
            }
            let left = patience.map(|patience| patience.saturating_sub(start.elapsed()));
            if left.is_some_and(|left| left.is_zero()) {
                return Ok(TerminalInput::Nothing);
            }
            let pause = left.unwrap_or(LONGEST_WAIT).min(LONGEST_WAIT);
            match event::poll(pause) {
                Ok(false) => continue,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                other => other?,
            };
            match event::read()? {
                Event::Key(key) if key.kind != KeyEventKind::Release => {
                    if let Some(key) = meaning(key) {
                        return Ok(TerminalInput::Key(key));
                    }
                }
                Event::Resize(..) => return Ok(TerminalInput::Redraw),
                _ => {}
            }
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        restore();
    }
}

/// Restores the terminal, if it is taken over.
pub(crate) fn restore() {
    if TAKEN.swap(false, Ordering::SeqCst) {
        // A terminal that is gone does not need to be restored.
        send(&[&ansi(&Show), &ansi(&LeaveAlternateScreen)]).ok();
        disable_raw_mode().ok();
    }
}

fn send(texts: &[&str]) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    for text in texts {
        io::Write::write_all(&mut stdout, text.as_bytes())?;
    }
    io::Write::flush(&mut stdout)
}

fn ansi(command: &impl Command) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    command.write_ansi(&mut text).ok();
    text
}

/// Maps a key event to a key of the replay.
fn meaning(key: KeyEvent) -> Option<ReplayKey> {
    if key.modifiers.contains(KeyModifiers::CONTROL) {
        return matches!(key.code, KeyCode::Char('c' | 'd')).then_some(ReplayKey::Quit);
    }
    Some(match key.code {
        KeyCode::Right | KeyCode::Enter | KeyCode::Char('n' | 'l') => ReplayKey::Next,
        KeyCode::Left | KeyCode::Backspace | KeyCode::Char('p' | 'b' | 'h') => ReplayKey::Back,
        KeyCode::Home | KeyCode::Char('g') => ReplayKey::First,
        KeyCode::End | KeyCode::Char('G') => ReplayKey::Last,
        KeyCode::Char(' ') => ReplayKey::Play,
        KeyCode::Char('+' | '=') => ReplayKey::Faster,
        KeyCode::Char('-') => ReplayKey::Slower,
        KeyCode::Up | KeyCode::Char('k') => ReplayKey::Up,
        KeyCode::Down | KeyCode::Char('j') => ReplayKey::Down,
        KeyCode::PageUp => ReplayKey::PageUp,
        KeyCode::PageDown => ReplayKey::PageDown,
        KeyCode::Esc | KeyCode::Char('q') => ReplayKey::Quit,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::exit::Exit;
    use crate::panics;

    /// The child process of the test below, which gives it a terminal.
    #[test]
    #[ignore = "the test below runs it"]
    fn child() {
        let exit = panics::guard(|| {
            let _terminal = Terminal::take().unwrap();
            panic!("the sky fell");
        });
        assert_eq!(exit, Exit::Internal);
    }

    #[test]
    fn a_panic_gives_the_terminal_back_before_it_is_reported() {
        let output = Command::new("python3")
            .args(["-c", include_str!("../../tests/cli/terminal.py")])
            .arg(std::env::current_exe().unwrap())
            .args(["--exact", "replay::terminal::tests::child", "--ignored", "--nocapture"])
            .args(["--", "the sky fell", ""])
            .output()
            .unwrap();
        let told: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(told["exit"], 0, "{told}");
        assert_eq!(told["found"], serde_json::json!([true]), "{told}");
        assert_eq!(told["raw"][2], false, "{told}");
        let seen = told["seen"].as_str().unwrap();
        let at = |text: &str| seen.find(text).unwrap();
        assert!(at(&ansi(&EnterAlternateScreen)) < at(&ansi(&LeaveAlternateScreen)));
        assert!(at(&ansi(&LeaveAlternateScreen)) < at("internal error at "));
    }

    #[test]
    fn every_key_that_the_screen_names_means_something() {
        let key = |code| meaning(KeyEvent::new(code, KeyModifiers::NONE));
        assert_eq!(key(KeyCode::Right), Some(ReplayKey::Next));
        assert_eq!(key(KeyCode::Left), Some(ReplayKey::Back));
        assert_eq!(key(KeyCode::Char(' ')), Some(ReplayKey::Play));
        assert_eq!(key(KeyCode::Char('+')), Some(ReplayKey::Faster));
        assert_eq!(key(KeyCode::Char('-')), Some(ReplayKey::Slower));
        assert_eq!(key(KeyCode::Up), Some(ReplayKey::Up));
        assert_eq!(key(KeyCode::Down), Some(ReplayKey::Down));
        assert_eq!(key(KeyCode::Char('g')), Some(ReplayKey::First));
        assert_eq!(key(KeyCode::Char('G')), Some(ReplayKey::Last));
        assert_eq!(key(KeyCode::Char('q')), Some(ReplayKey::Quit));
        assert_eq!(key(KeyCode::Char('x')), None);
        let control = |code| meaning(KeyEvent::new(code, KeyModifiers::CONTROL));
        assert_eq!(control(KeyCode::Char('c')), Some(ReplayKey::Quit));
        assert_eq!(control(KeyCode::Char('q')), None);
    }
}
