//! The errors of campaigns.

use std::sync::Arc;

use thiserror::Error;

use everturn_archive::ArchiveError;
use everturn_json::names::{FilePath, NameError, SessionId};
use everturn_rpg::RulesError;
use everturn_rpg::conflict_report::ConflictReport;
use everturn_rpg::narrator::NarratorError;
use everturn_session::impl_format_error;
use everturn_store::StoreError;
use everturn_value::delta::DeltaError;

/// An error of an operation on a campaign. Nothing was changed.
#[derive(Debug, Clone, Error)]
#[non_exhaustive]
pub enum CampaignError {
    /// An error of the store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// An invalid name.
    #[error(transparent)]
    Name(#[from] NameError),
    /// The campaign does not exist.
    #[error("there is no campaign {id}")]
    NoCampaign {
        /// The requested ID.
        id: SessionId,
    },
    /// The ID is taken.
    #[error("campaign {id} already exists")]
    Taken {
        /// The ID.
        id: SessionId,
    },
    /// A damaged file.
    #[error("{file} is damaged: {reason}")]
    Damaged {
        /// The file.
        file: FilePath,
        /// The problem.
        reason: String,
    },
    /// Invalid input.
    #[error("{what}")]
    Input {
        /// The problem.
        what: String,
    },
    /// The actor is not in the party.
    #[error("actor_id not in party_character_ids: {actor:?}")]
    NotInParty {
        /// The actor.
        actor: String,
    },
    /// The campaign has ended.
    #[error("campaign has ended: {reason}")]
    Ended {
        /// The reason.
        reason: String,
    },
    /// The campaign is paused or completed.
    #[error("campaign {id} is {status}; resume it with: everturn resume {id}")]
    NotActive {
        /// The campaign.
        id: SessionId,
        /// `paused` or `completed`.
        status: String,
    },
    /// An archive could not be created or read.
    #[error(transparent)]
    Archive(Arc<ArchiveError>),
    /// The actor cannot act, but another one can.
    #[error("actor {actor} is unconscious; select another actor")]
    Unconscious {
        /// The actor.
        actor: String,
    },
    /// The narrator returned an unknown dialog type, and the settings do not allow that.
    #[error("invalid dialog_type {given:?}: dialog.strict_semantic_guard is on")]
    DialogType {
        /// The unknown type.
        given: String,
    },
    /// The narrator could not answer.
    #[error("the narrator did not answer; nothing was written, so the input can be sent again")]
    Narrator(#[from] NarratorError),
    /// Each answer of the narrator contradicted the state.
    #[error("the narrator contradicted the state {} times{}; nothing was written", .report.retries + 1, .report.last_words())]
    Conflicts {
        /// The conflicts of the last answer.
        report: ConflictReport,
    },
    /// An invalid setting.
    #[error("setting {key}: {reason}")]
    Setting {
        /// The key.
        key: String,
        /// The reason.
        reason: String,
    },
    /// The campaign has no such turn.
    #[error("there is no turn {turn}: the campaign has turns 0 to {last}")]
    NoTurn {
        /// The requested turn.
        turn: u64,
        /// The last turn.
        last: u64,
    },
    /// The state at a turn cannot be computed from the existing files.
    #[error("the state at turn {turn} cannot be computed: {reason}")]
    NoState {
        /// The turn.
        turn: u64,
        /// The cause.
        reason: String,
    },
    /// A change does not apply to the document, because parts of it have the wrong type.
    #[error("the campaign document does not have the structure that the change requires")]
    Shape(#[from] DeltaError),
}

impl_format_error!(CampaignError);

impl From<RulesError> for CampaignError {
    fn from(error: RulesError) -> CampaignError {
        match error {
            RulesError::NotInParty { actor } => CampaignError::NotInParty { actor },
            RulesError::Ended { reason } => CampaignError::Ended { reason },
            RulesError::Unconscious { actor } => CampaignError::Unconscious { actor },
            RulesError::DialogType { given } => CampaignError::DialogType { given },
            RulesError::Narrator(error) => CampaignError::Narrator(error),
            RulesError::Conflicts { report } => CampaignError::Conflicts { report },
            RulesError::Setting { key, reason } => CampaignError::Setting { key, reason },
            RulesError::Shape(error) => CampaignError::Shape(error),
            // The worlds are read by this crate, so the error is one of its own.
            RulesError::World { id, source } => match source.downcast_ref::<CampaignError>() {
                Some(own) => own.clone(),
                None => CampaignError::input(format!("world {id} cannot be read: {source}")),
            },
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
