//! [`UnreadSessions`]: the sessions that a command over all sessions could not read.

use everturn_catalog::ReadProblem;

use crate::exit::Exit;
use crate::output::{Output, count_noun};

/// The sessions that a command has left out.
pub(crate) struct UnreadSessions {
    /// What the command does with a session, as a participle.
    action: &'static str,
    /// The path and the reason of each unreadable session.
    unreadable: Vec<(String, ReadProblem)>,
}

impl UnreadSessions {
    pub(crate) fn new(action: &'static str) -> UnreadSessions {
        UnreadSessions { action, unreadable: Vec::new() }
    }

    /// Adds a session that could not be read. Only the first reason of each path counts.
    pub(crate) fn add(&mut self, path: String, reason: ReadProblem) {
        if self.unreadable.iter().all(|(known, _)| *known != path) {
            self.unreadable.push((path, reason));
        }
    }

    /// Names the sessions on stderr. Returns the exit status if any could not be read.
    pub(crate) fn report(&self) -> Option<Exit> {
        let action = self.action;
        for (path, reason) in &self.unreadable {
            Output::status(&format!("{path} was not {action}: {}", reason.text));
        }
        if !self.unreadable.is_empty() {
            let count = count_noun(self.unreadable.len() as u64, "session", "sessions");
            Output::status(&format!("{count} could not be read"));
        }
        let is_busy = self.unreadable.iter().all(|(_, reason)| reason.is_busy);
        let exit = if is_busy { Exit::Busy } else { Exit::Damaged };
        (!self.unreadable.is_empty()).then_some(exit)
    }
}
