//! [`SessionAbility`] names what an opened session may offer, for the error if it does not.

use super::SessionError;

/// What a reader or an editor may offer beyond entries and appending. Each belongs to one trait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SessionAbility {
    /// [`CurrentState`](super::CurrentState).
    State,
    /// [`StateHistory`](super::StateHistory).
    StateHistory,
    /// [`UndoEditor`](super::UndoEditor).
    Undo,
    /// [`SnapshotEditor`](super::SnapshotEditor).
    Snapshots,
    /// [`SceneEditor`](super::SceneEditor).
    Scenes,
    /// [`RevisionEditor`](super::RevisionEditor).
    Revisions,
    /// [`MarkEditor`](super::MarkEditor).
    Marks,
    /// [`TitleEditor`](super::TitleEditor).
    Title,
}

impl SessionAbility {
    /// The error for a session of `layout`, which lacks the ability.
    pub(super) fn unsupported(self, layout: &'static str) -> SessionError {
        let what = match self {
            SessionAbility::State => "states: they only store messages",
            SessionAbility::StateHistory => "past states: only the current state is stored",
            SessionAbility::Undo => {
                "undo: they store messages, not reversible changes; use everturn rewind to go back to a message"
            }
            SessionAbility::Snapshots => {
                "snapshots: their files already hold the whole current state"
            }
            SessionAbility::Scenes => "scenes: their records are not divided into scenes",
            SessionAbility::Revisions => "changing earlier messages: their records are append-only",
            SessionAbility::Marks => "marks: the format has no place to store them",
            SessionAbility::Title => "titles: the format has no place to store one",
        };
        SessionError::Unsupported { layout, what }
    }
}
