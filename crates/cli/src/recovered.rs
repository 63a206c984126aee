//! Collects the findings of recovery while a command runs. Every store opened for writing adds to them, and they are
//! reported when the command ends, whether it succeeded or not.

use std::sync::LazyLock;

use everturn::store::RecoveryFindings;

use crate::findings::print_findings;

static FINDINGS: LazyLock<RecoveryFindings> = LazyLock::new(RecoveryFindings::default);

/// Returns the collector for the findings of recovery.
pub(crate) fn findings() -> RecoveryFindings {
    FINDINGS.clone()
}

/// Reports once what recovery moved to quarantine or could not complete.
pub(crate) fn report() {
    let mut distinct = Vec::new();
    for finding in FINDINGS.take() {
        if !distinct.contains(&finding) {
            distinct.push(finding);
        }
    }
    print_findings(&distinct);
}
