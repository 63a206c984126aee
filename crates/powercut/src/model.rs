//! [`Model`]: which items each writer sent, which were acknowledged, and when, in positions of the recording.
//!
//! A cut at position `p` may lose no item that was acknowledged at or before `p`, and may show at most the one that was
//! begun before `p`. [`Bounds`] is how many items there must and may be.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Everything that one writer did.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) enum Model {
    /// Items appended to a session.
    Session(SessionModel),
    /// Batches of `everturn commit`.
    Files(FilesModel),
    /// Lifecycle commands.
    Lifecycle(LifecycleModel),
}

impl Model {
    /// Returns the position from which on there is something to compare.
    pub(crate) fn ready(&self) -> usize {
        match self {
            Model::Session(model) => model.ready,
            Model::Files(model) => model.ready,
            Model::Lifecycle(model) => model.ready,
        }
    }

    /// Returns the failures while the power was on.
    pub(crate) fn failures(&self) -> &[String] {
        match self {
            Model::Session(model) => &model.failures,
            Model::Files(model) => &model.failures,
            Model::Lifecycle(model) => &model.failures,
        }
    }

    /// Returns the positions of all acknowledgements.
    pub(crate) fn acknowledgements(&self) -> Vec<usize> {
        let spans: Vec<Span> = match self {
            Model::Session(model) => model.items.iter().map(|item| item.span).collect(),
            Model::Files(model) => model.batches.iter().map(|batch| batch.span).collect(),
            Model::Lifecycle(model) => model.commands.iter().map(|command| command.span).collect(),
        };
        spans.iter().filter_map(|span| span.acknowledged).collect()
    }
}

/// When something was sent, and when it was acknowledged.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub(crate) struct Span {
    /// The position before it was sent.
    pub(crate) begun: usize,
    /// The position after the answer; `None` if it was found although it was never acknowledged.
    pub(crate) acknowledged: Option<usize>,
}

/// The minimum and maximum number of items.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Bounds {
    /// The number of acknowledged items.
    pub(crate) least: usize,
    /// The number of items begun.
    pub(crate) most: usize,
}

impl Bounds {
    /// Returns the bounds at a position.
    pub(crate) fn at(position: usize, spans: impl Iterator<Item = Span>) -> Bounds {
        let mut bounds = Bounds { least: 0, most: 0 };
        for (index, span) in spans.enumerate() {
            if span.acknowledged.is_some_and(|acknowledged| acknowledged <= position) {
                bounds.least = index + 1;
            }
            if span.begun < position {
                bounds.most = index + 1;
            }
        }
        bounds.most = bounds.most.max(bounds.least);
        bounds
    }
}

/// Items appended to a session.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct SessionModel {
    /// The format.
    pub(crate) format: String,
    /// The root, below the mounted directory.
    pub(crate) root: String,
    /// The session ID.
    pub(crate) id: String,
    /// The position after the session was created.
    pub(crate) ready: usize,
    /// The stored items, in order.
    pub(crate) items: Vec<Item>,
    /// The saves of the session's document by another program.
    pub(crate) foreign_saves: Vec<ForeignSave>,
    /// The failures while the power was on.
    pub(crate) failures: Vec<String>,
}

impl SessionModel {
    /// Returns the bounds at a position.
    pub(crate) fn bounds(&self, position: usize) -> Bounds {
        Bounds::at(position, self.items.iter().map(|item| item.span))
    }

    /// Returns the words of the first `count` items.
    pub(crate) fn words(&self, count: usize) -> impl Iterator<Item = &String> {
        self.items.iter().take(count).flat_map(|item| &item.words)
    }

    /// Returns the save of another program that is the last change at `position`. It flushed nothing, and Everturn is
    /// not responsible for what it overwrote.
    pub(crate) fn last_foreign_save(&self, position: usize) -> Option<&ForeignSave> {
        let save = self.foreign_saves.iter().rev().find(|save| save.begun < position)?;
        let is_later = |item: &Item| {
            item.span.begun >= save.ended && item.span.acknowledged.is_some_and(|at| at <= position)
        };
        (!self.items.iter().any(is_later)).then_some(save)
    }
}

/// A save of another program.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct ForeignSave {
    /// The position before it.
    pub(crate) begun: usize,
    /// The position after it.
    pub(crate) ended: usize,
    /// The number of the session's messages in the saved document.
    pub(crate) messages: usize,
}

/// The messages of one append.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Item {
    /// The first word of each of its messages.
    pub(crate) words: Vec<String>,
    /// When it was sent and acknowledged.
    pub(crate) span: Span,
}

/// Files by their paths, each with a checksum of its content.
pub(crate) type Tree = BTreeMap<String, u64>;

/// Batches of `everturn commit`.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct FilesModel {
    /// The root, below the mounted directory.
    pub(crate) root: String,
    /// The directory that the batches change.
    pub(crate) scope: String,
    /// The position after the stream started.
    pub(crate) ready: usize,
    /// The committed batches, in order.
    pub(crate) batches: Vec<Batch>,
    /// The failures while the power was on.
    pub(crate) failures: Vec<String>,
}

/// A batch and its result.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Batch {
    /// All files after it.
    pub(crate) tree: Tree,
    /// When it was sent and acknowledged.
    pub(crate) span: Span,
}

/// Sessions as `ls` and `show` report them.
pub(crate) type Listing = BTreeMap<String, ListedSession>;

/// A session in a listing.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(crate) struct ListedSession {
    /// The status, such as active or paused.
    pub(crate) status: String,
    /// The number of turns.
    pub(crate) turns: u64,
    /// A checksum of the output of `show`.
    pub(crate) shown: u64,
}

/// Lifecycle commands of sessions.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct LifecycleModel {
    /// The format.
    pub(crate) format: String,
    /// The root, below the mounted directory, which no other writer uses.
    pub(crate) root: String,
    /// The position after the first command.
    pub(crate) ready: usize,
    /// The commands, in order; the first creates the first session.
    pub(crate) commands: Vec<CommandRun>,
    /// The failures while the power was on.
    pub(crate) failures: Vec<String>,
}

/// A command and its result.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct CommandRun {
    /// The arguments.
    pub(crate) arguments: Vec<String>,
    /// Whether it makes several commits.
    pub(crate) is_staged: bool,
    /// All files after it.
    pub(crate) tree: Tree,
    /// All sessions after it.
    pub(crate) listing: Listing,
    /// When it was sent and acknowledged.
    pub(crate) span: Span,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bounds(position: usize, spans: &[(usize, Option<usize>)]) -> (usize, usize) {
        let spans = spans.iter().map(|&(begun, acknowledged)| Span { begun, acknowledged });
        let bounds = Bounds::at(position, spans);
        (bounds.least, bounds.most)
    }

    #[test]
    fn what_was_acknowledged_must_be_there_and_what_was_begun_may() {
        let spans = [(10, Some(20)), (20, Some(30)), (30, None), (40, Some(50))];
        assert_eq!(bounds(10, &spans), (0, 0));
        assert_eq!(bounds(11, &spans), (0, 1));
        assert_eq!(bounds(20, &spans), (1, 1));
        assert_eq!(bounds(29, &spans), (1, 2));
        assert_eq!(bounds(35, &spans), (2, 3));
        assert_eq!(bounds(50, &spans), (4, 4));
    }
}
