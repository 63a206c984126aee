//! The binary on roots of PostgreSQL: every command answers as it does on a directory, and roots can be copied.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(clippy::disallowed_methods, reason = "the tests start a server and look at files")]
#![expect(clippy::panic, reason = "a test fails by panicking")]

#[path = "../../../postgres/tests/postgres/cluster.rs"]
#[expect(dead_code, reason = "shared with the tests of the store")]
mod cluster;
mod copies;
mod crashes;
mod flows;
mod served;
mod writers;

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// The address of a new root on the server of the tests.
fn new_address() -> String {
    let (root, port) = (cluster::new_root(), cluster::cluster().port);
    format!("postgres://everturn@127.0.0.1:{port}/postgres?root={root}")
}

/// The binary in a directory, without the environment of the caller.
fn everturn(dir: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_everturn"));
    command.current_dir(dir).env_clear().env("COLUMNS", "80").env("HOME", dir);
    command.env("EVERTURN_MOUNTINFO", "/dev/null").args(words);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn run(mut command: Command, input: &str) -> Output {
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).ok();
    child.wait_with_output().unwrap()
}

/// Runs a command that must succeed; returns what it printed.
fn succeed(dir: &Path, words: &[&str], input: &str) -> String {
    let output = run(everturn(dir, words), input);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{words:?}: {error}");
    String::from_utf8(output.stdout).unwrap() + &error
}
