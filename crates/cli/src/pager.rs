//! [`Pager`]: shows long output page by page on a terminal, with the program in `PAGER`, or `less`.

use std::io::{self, IsTerminal, Write};
use std::process::{Child, ChildStdin, Command, Stdio};

use crate::settings;

/// The pager, and its options if the user has set none: it ends by itself if everything fits, keeps colours, and
/// leaves the text on the screen.
const PROGRAM: &str = "less";
const OPTIONS: (&str, &str) = ("LESS", "FRX");

/// A running pager.
pub(crate) struct Pager {
    /// `None` after the end of the output.
    input: Option<ChildStdin>,
    child: Child,
}

impl Pager {
    /// Starts the pager if output goes to a terminal. `None` without one, or if it cannot be started.
    pub(crate) fn start() -> Option<Pager> {
        if !io::stdout().is_terminal() || !io::stdin().is_terminal() {
            return None;
        }
        let words = settings::variable("PAGER").unwrap_or_else(|| PROGRAM.to_owned());
        let mut words = words.split_whitespace();
        let mut command = Command::new(words.next()?);
        command.args(words).stdin(Stdio::piped());
        if !settings::is_set(OPTIONS.0) {
            command.env(OPTIONS.0, OPTIONS.1);
        }
        let mut child = command.spawn().ok()?;
        Some(Pager { input: child.stdin.take(), child })
    }
}

impl Write for Pager {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.input {
            Some(input) => input.write(bytes),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.input.as_mut().map_or(Ok(()), Write::flush)
    }
}

impl Drop for Pager {
    fn drop(&mut self) {
        // The pager ends when the user leaves it, which needs the end of the output.
        self.input = None;
        self.child.wait().ok();
    }
}
