//! Prints findings, and decides what they mean for the exit code.

use std::sync::Arc;

use everturn::finding::{Finding, FindingCode};
use everturn::format::{SessionError, SessionFormat, error_chain};
use everturn::model::SessionRef;
use everturn::quarantine;
use everturn::store::{Store, failed_opens, quarantine_dir};

use crate::context::{next_command, shell_word};
use crate::exit::Exit;
use crate::output::{Output, count_noun};

/// Prints findings.
pub(crate) fn print_findings(findings: &[Finding]) {
    // The process runs one command. If an open has failed in it, apparent damage may be a file that could not be
    // opened, which is reported at the end.
    let is_certain = failed_opens() == 0;
    let is_printed = |one: &&Finding| is_certain || one.code == FindingCode::Unreadable;
    for finding in findings.iter().filter(is_printed) {
        Output::status(&finding.to_string());
    }
}

/// Returns a line about the quarantine of a session, if it contains records.
pub(crate) fn quarantine_line(
    store: &Arc<dyn Store>,
    layout: &dyn SessionFormat,
    place: &SessionRef,
) -> Option<String> {
    let count = || -> Result<u64, SessionError> {
        // Most roots have no quarantine, which avoids any further work.
        if layout.is_external() || store.stat(&quarantine_dir())?.is_none() {
            return Ok(0);
        }
        let mut count = 0;
        for kept in layout.session_files(store, place)?.quarantined_files(store)? {
            count += u64::from(quarantine::piece(store, kept)?.is_some_and(|one| one.has_records));
        }
        Ok(count)
    };
    let id = &place.id;
    match count() {
        Ok(0) => None,
        Ok(count) => {
            let pieces = count_noun(count, "content", "contents");
            let check = next_command(&format!("check {}", shell_word(id)));
            Some(format!("{id}: {pieces} in the quarantine, not shown; see: {check}"))
        }
        Err(error) => Some(format!("{id}: the quarantine cannot be read: {}", error_chain(&error))),
    }
}

/// Returns the exit code of a command that has read a session: damage that lost data is an error.
pub(crate) fn exit_after(findings: &[Finding]) -> Exit {
    let is_loss = |finding: &Finding| {
        matches!(
            finding.code,
            FindingCode::BadLine
                | FindingCode::BadRecord
                | FindingCode::BadChange
                | FindingCode::NotUtf8
                | FindingCode::BadDocument
                | FindingCode::EmptyDocument
                | FindingCode::TooLarge
                | FindingCode::MissingFile
                | FindingCode::StateDiffers
                | FindingCode::UnknownState
        )
    };
    if findings.iter().any(is_loss) { Exit::Damaged } else { Exit::Success }
}
