//! [`Exit`]: the exit codes, which tell scripts who must act next.

use std::process::ExitCode;

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// The command succeeded.
    Success,
    /// The request is valid but cannot be fulfilled; the user must change it.
    Request,
    /// The command line is invalid; the user must correct it.
    Usage,
    /// A check has findings; the user must review them.
    Findings,
    /// Stored data is damaged; the user must repair it.
    Damaged,
    /// Another process is using the session; the user must wait.
    Busy,
    /// A bug in Everturn.
    Internal,
}

impl Exit {
    /// All variants, in the order of the codes.
    pub(crate) const ALL: [Exit; 7] = [
        Exit::Success,
        Exit::Request,
        Exit::Usage,
        Exit::Findings,
        Exit::Damaged,
        Exit::Busy,
        Exit::Internal,
    ];

    /// The numeric exit code.
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

    /// The name in errors with `--json`.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Exit::Success => "success",
            Exit::Request => "request",
            Exit::Usage => "usage",
            Exit::Findings => "findings",
            Exit::Damaged => "damaged",
            Exit::Busy => "busy",
            Exit::Internal => "internal",
        }
    }

    /// The description for the help text.
    const fn meaning(self) -> &'static str {
        match self {
            Exit::Success => "success",
            Exit::Request => "request failed",
            Exit::Usage => "usage error",
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

/// Returns the codes and their meanings in a few lines, for the help text.
pub(crate) fn summary() -> String {
    let mut text = "Exit status:".to_owned();
    let mut width = text.len();
    for exit in Exit::ALL {
        let end = if exit == Exit::Internal { "." } else { ";" };
        let part = format!(" {} {}{end}", exit.code(), exit.meaning());
        if width + part.len() > 80 {
            text.push_str("\n ");
            width = 1;
        }
        width += part.len();
        text.push_str(&part);
    }
    text
}

/// Returns the codes and their meanings, one per line, for the manual page.
pub(crate) fn table() -> String {
    let lines = Exit::ALL.map(|exit| format!("  {:<4}{}", exit.code(), exit.meaning()));
    format!("Exit status:\n{}", lines.join("\n"))
}
