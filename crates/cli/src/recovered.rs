//! What recovery did while a command ran: every store that is opened for writing leaves it here, and it is reported
//! where the command ends, whether it succeeded or not.

use std::sync::LazyLock;

use everturn::store::RecoveryFindings;

use crate::sessions;

static FINDINGS: LazyLock<RecoveryFindings> = LazyLock::new(RecoveryFindings::default);

/// Where a store leaves what recovery found.
pub(crate) fn findings() -> RecoveryFindings {
    FINDINGS.clone()
}

/// Says what had to be set aside or could not be completed after a crash, once.
pub(crate) fn report() {
    let mut told = Vec::new();
    for finding in FINDINGS.take() {
        if !told.contains(&finding) {
            told.push(finding);
        }
    }
    sessions::print_findings(&told);
}
