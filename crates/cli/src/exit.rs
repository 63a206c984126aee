//! The exit codes: who must act next, as a number that scripts can rely on.

use std::process::ExitCode;

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// It did what it was asked.
    Success,
    /// It was understood but cannot be done; the user asks for something else.
    Request,
    /// It was not understood; the user corrects the command line.
    Usage,
    /// A check found something; the user looks at the findings.
    Findings,
    /// Stored data is damaged; the user repairs it.
    Damaged,
    /// Another process is at work on the same session; the user waits.
    Busy,
    /// Everturn itself is at fault; its authors act.
    Internal,
}

impl Exit {
    /// Every way to end, in the order of the codes.
    pub(crate) const ALL: [Exit; 7] = [
        Exit::Success,
        Exit::Request,
        Exit::Usage,
        Exit::Findings,
        Exit::Damaged,
        Exit::Busy,
        Exit::Internal,
    ];

    /// The number that the calling process sees.
    pub(crate) const fn code(self) -> u8 {
        match self {
            Exit::Success => 0,
            Exit::Request => 1,
            Exit::Usage => 2,
            Exit::Findings => 3,
            Exit::Damaged => 4,
            Exit::Busy => 5,
            // EX_SOFTWARE of sysexits.h.
            Exit::Internal => 70,
        }
    }

    /// The same in words, for the help text.
    const fn meaning(self) -> &'static str {
        match self {
            Exit::Success => "fine",
            Exit::Request => "the request cannot be met",
            Exit::Usage => "wrong usage",
            Exit::Findings => "a check has findings",
            Exit::Damaged => "stored data is damaged",
            Exit::Busy => "another process is writing to the session",
            Exit::Internal => "internal error",
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit.code())
    }
}

/// The codes and their meaning, a line each, for the help text and the manual page.
pub(crate) fn table() -> String {
    let lines = Exit::ALL.map(|exit| format!("  {:<4}{}", exit.code(), exit.meaning()));
    format!("Exit status:\n{}", lines.join("\n"))
}
