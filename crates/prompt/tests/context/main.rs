//! Tests of context selection: what fits, what is left out, and properties of all selections.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod examples;
mod properties;

use everturn_prompt::context::{
    ContextError, ContextItem, ContextSelection, ContextStrategy, ContextWindow, Conversation,
    select_items,
};

/// A selection from messages that are given oldest first.
fn choose(
    size: usize,
    strategy: ContextStrategy,
    background: &[ContextItem],
    messages: &[ContextItem],
) -> ContextSelection {
    try_to_choose(size, strategy, background, messages).unwrap()
}

fn try_to_choose(
    size: usize,
    strategy: ContextStrategy,
    background: &[ContextItem],
    messages: &[ContextItem],
) -> Result<ContextSelection, ContextError> {
    let ahead = messages.iter().filter(|it| it.pinned || it.marked || it.referenced);
    let conversation = Conversation {
        background: background.to_vec(),
        ahead: ahead.cloned().collect(),
        newest_first: messages.iter().rev().cloned().map(Ok::<ContextItem, ContextError>),
        count: Some(messages.len() as u64),
    };
    select_items(ContextWindow::new(size, 0).unwrap(), strategy, conversation)
}
