//! Handles panics: a panic is a bug in Everturn, reported like any other error, with its own exit code.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::io::{self, Write};
use std::panic::{self, PanicHookInfo, UnwindSafe};

use crate::app;
use crate::error::Error;
use crate::exit::Exit;
use crate::replay;

/// Runs `body`; a panic in it becomes [`Exit::Internal`].
pub(crate) fn guard(body: impl FnOnce() -> Exit + UnwindSafe) -> Exit {
    panic::set_hook(Box::new(describe));
    panic::catch_unwind(body).unwrap_or(Exit::Internal)
}

fn describe(info: &PanicHookInfo<'_>) {
    // Restores the screen, so that the message is visible.
    replay::restore();
    let message = info.payload_as_str().unwrap_or("panic without a message");
    let place = info.location().map_or_else(String::new, |location| format!(" at {location}"));
    let error = Error::new(Exit::Internal, format!("internal error{place}: {message}"))
        .hint("this is a bug in everturn; run it again with RUST_BACKTRACE=1 and report it");
    app::print_error(&error);

    // Captured only if RUST_BACKTRACE is set.
    let backtrace = Backtrace::capture();
    if backtrace.status() == BacktraceStatus::Captured {
        // A hook must not panic; without stderr the backtrace is lost.
        write!(io::stderr(), "{backtrace}").ok();
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// The child process of the tests below: a hook applies to its whole process.
    #[test]
    #[ignore = "the tests below run it"]
    fn child() {
        assert_eq!(guard(|| panic!("the sky\nfell")), Exit::Internal);
    }

    fn child_stderr(backtrace: &str) -> String {
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "panics::tests::child", "--ignored", "--nocapture"])
            .env("RUST_BACKTRACE", backtrace)
            .env_remove("RUST_LIB_BACKTRACE")
            .output()
            .unwrap();
        assert!(output.status.success(), "the guard let the panic through");
        String::from_utf8(output.stderr).unwrap()
    }

    #[test]
    fn a_panic_is_one_line_and_a_hint() {
        let stderr = child_stderr("0");
        let lines: Vec<&str> = stderr.lines().collect();
        assert_eq!(lines.len(), 2, "{stderr}");
        assert!(lines[0].starts_with("error: internal error at "), "{stderr}");
        assert!(lines[0].ends_with(": the sky\\nfell"), "{stderr}");
        assert!(lines[1].starts_with("Hint: "), "{stderr}");
    }

    #[test]
    fn a_backtrace_is_printed_on_request() {
        assert!(child_stderr("1").lines().count() > 2);
    }

    #[test]
    fn without_a_panic_the_exit_is_kept() {
        for exit in Exit::ALL {
            assert_eq!(guard(move || exit), exit);
        }
    }
}
