//! The errors of the rules.

use std::error::Error as StdError;
use std::sync::Arc;

use thiserror::Error;

use super::conflict_report::ConflictReport;
use super::narrator::NarratorError;
use everturn_json::names::SessionId;
use everturn_value::delta::DeltaError;

/// Why the rules did not allow a turn or a change. Nothing was changed.
#[derive(Debug, Clone, Error)]
#[non_exhaustive]
pub enum RulesError {
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
    #[error("the narrator did not answer")]
    Narrator(#[from] NarratorError),
    /// Each answer of the narrator contradicted the state.
    #[error("the narrator contradicted the state {} times{}", .report.retries + 1, .report.last_words())]
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
    /// A stored world could not be read.
    #[error("world {id} cannot be read")]
    World {
        /// The world.
        id: SessionId,
        /// The error of the [`WorldReader`](crate::tools::WorldReader).
        source: WorldError,
    },
    /// A change does not apply to the document, because parts of it have the wrong type.
    #[error("the campaign document does not have the structure that the change requires")]
    Shape(#[from] DeltaError),
}

/// Any error of a [`WorldReader`](crate::tools::WorldReader): where worlds are stored is up to the caller.
pub type WorldError = Arc<dyn StdError + Send + Sync>;
