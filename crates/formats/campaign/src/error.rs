//! What can go wrong with a campaign.

use std::sync::Arc;

use thiserror::Error;

use super::conflict::ConflictReport;
use super::narrator::NarratorError;
use everturn_archive::ArchiveError;
use everturn_json::names::{FilePath, NameError, SessionId};
use everturn_session::repair::RepairError;
use everturn_store::StoreError;
use everturn_value::delta::DeltaError;

/// Why a campaign could not do what was asked. Nothing was changed.
#[derive(Debug, Clone, Error)]
#[non_exhaustive]
pub enum CampaignError {
    /// The store said no.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A name that cannot be used.
    #[error(transparent)]
    Name(#[from] NameError),
    /// There is no such campaign.
    #[error("there is no campaign {id}")]
    NoCampaign {
        /// The id that was asked for.
        id: SessionId,
    },
    /// The id is taken.
    #[error("there is a campaign {id} already")]
    Taken {
        /// The id.
        id: SessionId,
    },
    /// A file that cannot be used as it is.
    #[error("{file} is damaged: {reason}")]
    Damaged {
        /// The file.
        file: FilePath,
        /// What is wrong with it.
        reason: String,
    },
    /// What was given makes no sense.
    #[error("{what}")]
    Input {
        /// What is wrong.
        what: String,
    },
    /// The actor is not in the party.
    #[error("actor_id not in party_character_ids: {actor:?}")]
    NotInParty {
        /// The actor.
        actor: String,
    },
    /// The campaign is over.
    #[error("campaign has ended: {reason}")]
    Ended {
        /// Why.
        reason: String,
    },
    /// The campaign waits or is over, because somebody has said so.
    #[error("campaign {id} is {status}; everturn resume {id} lets it go on")]
    NotActive {
        /// The campaign.
        id: SessionId,
        /// `paused` or `completed`.
        status: String,
    },
    /// An archive could not be made or used.
    #[error(transparent)]
    Archive(Arc<ArchiveError>),
    /// The actor cannot act, and somebody else could.
    #[error("actor {actor} is unconscious; select another actor")]
    Unconscious {
        /// The actor.
        actor: String,
    },
    /// The narrator named a dialog type that nobody knows, and the settings do not let that pass.
    #[error("invalid dialog_type {given:?}: dialog.strict_semantic_guard is on")]
    DialogType {
        /// What it said.
        given: String,
    },
    /// The narrator could not answer.
    #[error("the narrator did not answer; nothing was written, and the input can be sent again")]
    Narrator(#[from] NarratorError),
    /// Each answer of the narrator contradicted the state.
    #[error("the narrator contradicted the state {} times; nothing was written", .report.retries + 1)]
    Conflicts {
        /// How the last answer did.
        report: ConflictReport,
    },
    /// A setting that cannot be so.
    #[error("setting {key}: {reason}")]
    Setting {
        /// The key.
        key: String,
        /// Why not.
        reason: String,
    },
    /// The campaign has no such turn.
    #[error("there is no turn {turn}: the campaign has turns 0 to {last}")]
    NoTurn {
        /// The turn that was asked for.
        turn: u64,
        /// The last turn.
        last: u64,
    },
    /// The state at a turn cannot be worked out from what is there.
    #[error("the state at turn {turn} cannot be worked out: {reason}")]
    NoState {
        /// The turn.
        turn: u64,
        /// Why.
        reason: String,
    },
    /// A change does not fit the document, because parts of it have the wrong shape.
    #[error("the campaign's document does not have the shape that a change needs")]
    Shape(#[from] DeltaError),
}

impl From<RepairError> for CampaignError {
    fn from(error: RepairError) -> CampaignError {
        match error {
            RepairError::Store(error) => CampaignError::Store(error),
            RepairError::Name(error) => CampaignError::Name(error),
            RepairError::Damaged { file, reason } => CampaignError::Damaged { file, reason },
            other => CampaignError::input(other.to_string()),
        }
    }
}

impl From<ArchiveError> for CampaignError {
    fn from(error: ArchiveError) -> CampaignError {
        match error {
            ArchiveError::Store(error) => error.into(),
            error => CampaignError::Archive(Arc::new(error)),
        }
    }
}

impl CampaignError {
    pub(crate) fn input(what: impl Into<String>) -> CampaignError {
        CampaignError::Input { what: what.into() }
    }

    pub(crate) fn damaged(file: &FilePath, reason: impl std::fmt::Display) -> CampaignError {
        CampaignError::Damaged { file: file.clone(), reason: reason.to_string() }
    }
}
