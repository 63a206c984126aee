//! Campaigns: a state, a log of turns, and the rules that make a turn.
//!
//! ```text
//! campaigns/<id>/
//!     campaign.json       the state
//!     turn_log.jsonl      one row per turn
//!     turn_deltas.jsonl   what each change did, so that it can be taken back
//!     checkpoints/        copies of the state, if the settings say so
//!     everturn.json       where a branch comes from, and whether the campaign rests
//!     everturn.marks.json marks of turns
//! worlds/<id>/world.json  shared by campaigns
//! archives/campaigns/<id>.tar.gz
//! ```
//!
//! A turn is one commit: its row, the state if it changed, and the line of its changes. A [`Narrator`] narrates and
//! calls tools; its claims are checked against the state before anything is stored.
//!
//! A [`CampaignWriter`] plays turns, a [`Campaign`] reads them, [`EmbeddedNarrator`] is a narrator that needs no model,
//! and [`CampaignFormat`] maps all of it to the common model. Campaigns come in several generations, see
//! [`Generation`]; a campaign keeps its generation and its rules. The crate depends on `everturn-session` and the
//! crates below it.
//!
//! The modules, in reading order:
//!
//! - `paths`, `stamp`, `generation`, `settings`: names of files, timestamps, generations and settings.
//! - `document`, `document_view`, `player_view`: the document of a campaign, and how it is read.
//! - `log`, `session`, `history`, `summary`: rows and changes, campaigns, the state at a turn, and state summaries.
//! - `create`, `branch`, `lifecycle`: new campaigns, forks and rewinds, transitions.
//! - `narrator`, `briefing`, `dialog`, `embedded`: narrators, their briefing, dialog types, the embedded narrator.
//! - `turn`, `draft`, `tools`, `conflict`, `progress`: plays a turn and checks the narrator's answer.
//! - `writer`, `recorded_turns`: stores turns, and imports recorded ones.
//! - `check`, `repair`: finds and repairs damage.
//! - `twister`: random numbers.
//! - `format`: the `SessionFormat` of campaigns.
//! - `error`: the errors of the crate.

mod branch;
mod briefing;
mod check;
mod conflict;
mod create;
mod dialog;
mod document;
mod document_view;
mod draft;
mod embedded;
mod error;
mod format;
mod generation;
mod history;
mod lifecycle;
mod log;
mod narrator;
mod paths;
mod player_view;
mod progress;
mod recorded_turns;
mod repair;
mod session;
mod settings;
mod stamp;
mod summary;
mod tools;
mod turn;
mod twister;
mod writer;

pub use branch::{CampaignFork, fork};
pub use briefing::{BriefingDetail, ToolNote};
pub use conflict::{Conflict, ConflictKind, ConflictReport};
pub use create::{NewCampaign, create};
pub use dialog::DialogType;
pub use embedded::EmbeddedNarrator;
pub use error::CampaignError;
pub use format::{CampaignFormat, ScriptedTurn};
pub use generation::{Generation, RuleSet};
pub use history::StateAt;
pub use lifecycle::{
    CampaignStatus, archive, purge, restore, set_status, trash, trashed, unarchive,
};
pub use log::{RecordLog, TurnRow};
pub use narrator::{
    Narrator, NarratorError, NarratorOutput, NarratorRequest, OwnedRequest, RecordedNarrator,
};
pub use player_view::{Area, Character};
pub use recorded_turns::{RecordedCampaign, RecordedTurn, RowSource};
pub use repair::{CampaignRepair, FileRepair, plan_repair, repair, undo_repair};
pub use session::{Campaign, Lineage, is_campaign_dir, list};
pub use settings::{MOST_CHECKPOINTS, SETTINGS, Setting, SettingKind, settings};
pub use turn::MAX_RETRIES;
pub use writer::{CampaignWriter, PlayOutcome, Submission};

pub use check::check_dir;
pub(crate) use create::{new_actor, starter_map};

/// Formats bytes as hexadecimal digits.
fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
