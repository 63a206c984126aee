//! What can be asked of a chat log as a whole. The modules that answer are above `log`, which knows none of them.

use super::check::check_everything;
use super::context_window::{ChatContext, ContextOptions, select_context};
use super::error::ChatError;
use super::log::ChatLog;
use super::writer::{ChatMark, DiscardedMessage, all_marks, discarded_messages};
use everturn_json::finding::Finding;

impl ChatLog {
    /// Selects what fits into the context window of a model. Writes nothing.
    pub fn context(&self, how: &ContextOptions) -> Result<ChatContext, ChatError> {
        select_context(self, how)
    }

    /// Checks everything, and returns the findings.
    pub fn check(&self) -> Result<Vec<Finding>, ChatError> {
        check_everything(self)
    }

    /// All marks, in the order of their messages; marks of missing messages come last.
    pub fn marks(&self) -> Result<Vec<ChatMark>, ChatError> {
        all_marks(self)
    }

    /// The deleted messages of this chat log, oldest first.
    pub fn discarded_messages(&self) -> Result<Vec<DiscardedMessage>, ChatError> {
        discarded_messages(self)
    }
}
