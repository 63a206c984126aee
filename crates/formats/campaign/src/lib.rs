//! Campaigns: a state and a log of turns, which are played by the rules of `everturn-rpg`.
//!
//! ```text
//! campaigns/<id>/
//!     campaign.json       the state
//!     turn_log.jsonl      one row per turn
//!     turn_deltas.jsonl   what each change did, so that it can be undone
//!     checkpoints/        copies of the state, if the settings say so
//!     everturn.json       where a branch comes from, and whether the campaign is paused
//!     everturn.marks.json marks of turns
//! worlds/<id>/world.json  shared by campaigns
//! archives/campaigns/<id>.tar.gz
//! ```
//!
//! A turn is one commit: its row, the state if it changed, and the line of its changes. The rules that make a turn are
//! in `everturn-rpg`: a [`Narrator`] narrates and calls tools, and its claims are checked against the state. This crate
//! reads and stores the files; nothing is stored before an answer has passed the checks.
//!
//! [`create`] makes a campaign from a [`NewCampaign`]. A [`CampaignWriter`] plays turns and stores them, a [`Campaign`]
//! reads them, and [`CampaignFormat`] maps all of it to the common model. Campaigns come in several generations, see
//! [`Generation`]; a campaign keeps its generation and its rules. The crate depends on `everturn-rpg`,
//! `everturn-session` and the crates below them.
//!
//! The modules, in reading order:
//!
//! - `paths`: names of files.
//! - `document`, `shape`: the document of a campaign, as text and as a tree, and the kinds of its values.
//! - `log`, `session`, `story`, `history`: rows and changes, campaigns, the turns of the story, the state at a turn.
//! - `create`, `branch`, `lifecycle`: new campaigns, forks and rewinds, transitions.
//! - `writer`, `revision`, `recorded_turns`: store turns, undo and regenerate them, and import recorded ones.
//! - `check`, `repair`: find and repair damage.
//! - `format`: the `SessionFormat` of campaigns.
//! - `error`: the errors of the crate.

mod paths;
mod document;
mod shape;
mod log;
mod session;
mod story;
mod history;
mod create;
mod branch;
mod lifecycle;
mod writer;
mod revision;
mod recorded_turns;
mod check;
mod repair;
mod format;
mod error;

pub use branch::{CampaignFork, fork};
pub use check::check_dir;
pub use create::{NewArea, NewCampaign, NewCharacter, create};
pub use error::CampaignError;
pub use format::{CampaignFormat, FORMAT, ScriptedTurn};
pub use history::StateAt;
pub use lifecycle::{
    CampaignStatus, archive, purge, restore, set_status, trash, trashed, unarchive,
};
pub use log::{RecordLog, TurnRow};
pub use recorded_turns::{RecordedCampaign, RecordedTurn, RowSource};
pub use repair::{CampaignRepair, FileRepair, plan_repair, repair, undo_repair};
pub use session::{Campaign, Lineage, is_campaign_dir, list};
pub use writer::{CampaignWriter, PlayOutcome, Submission};

// The parts of the rules that occur in the interface of this crate.
pub use everturn_rpg::briefing::{BriefingDetail, ToolNote};
pub use everturn_rpg::conflict_report::{Conflict, ConflictKind, ConflictReport};
pub use everturn_rpg::dialog::DialogType;
pub use everturn_rpg::embedded::{EmbeddedNarrator, WorldAtlas};
pub use everturn_rpg::generation::{Generation, RuleSet};
pub use everturn_rpg::narrator::{
    DocumentChange, Narrator, NarratorError, NarratorOutput, NarratorRequest, OwnedRequest,
    RecordedNarrator,
};
pub use everturn_rpg::player_view::{Area, Character};
pub use everturn_rpg::roll::{DiceError, DiceExpression, DiceRoll};
pub use everturn_rpg::settings::{MOST_CHECKPOINTS, SETTINGS, Setting, SettingKind, settings};
pub use everturn_rpg::turn::MAX_RETRIES;
