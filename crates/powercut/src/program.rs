//! Runs programs of the system: `mount`, `losetup`, `mkfs` and the like.

use std::process::{Command, Stdio};

use crate::error::{PowercutError, cannot};

/// Runs a program and returns its output; its failure is an error.
pub(crate) fn run(program: &str, arguments: &[&str]) -> Result<String, PowercutError> {
    let output = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .map_err(cannot(format!("run {program}")))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned());
    }
    let message = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(PowercutError::Program { program: format!("{program} {}", arguments.join(" ")), message })
}

/// Returns whether a program is installed.
pub(crate) fn is_installed(program: &str) -> bool {
    let directories =
        ["/usr/local/sbin", "/usr/sbin", "/sbin", "/usr/local/bin", "/usr/bin", "/bin"];
    directories.iter().any(|directory| std::path::Path::new(directory).join(program).exists())
}
