//! The capabilities that a test needs of a format.

use everturn::format::{EditableFormat, ExternalSessions, FormatLifecycle, SessionFormat};

/// Capabilities that a format is known to have.
pub(crate) trait KnownCapabilities {
    fn editable(&self) -> &dyn EditableFormat;
    fn movable(&self) -> &dyn FormatLifecycle;
    fn foreign(&self) -> &dyn ExternalSessions;
}

impl KnownCapabilities for dyn SessionFormat + '_ {
    fn editable(&self) -> &dyn EditableFormat {
        self.capabilities().editing.unwrap()
    }

    fn movable(&self) -> &dyn FormatLifecycle {
        self.capabilities().lifecycle.unwrap()
    }

    fn foreign(&self) -> &dyn ExternalSessions {
        self.capabilities().external.unwrap()
    }
}
