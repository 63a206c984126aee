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
//! A turn is one commit: its row, the state if it changed, and the line that says how. A [`Narrator`] tells
//! what happens and calls tools; what it claims is checked against the state before anything is stored.
//!
//! Campaigns come in several shapes, see [`Generation`]; a campaign keeps the shape and the rules it has.
//!
//! A [`CampaignWriter`] plays turns, a [`Campaign`] reads them, [`Embedded`] is the narrator that needs no model, and
//! [`CampaignLayout`] shows all of it in the common view. The crate depends on `everturn-session` and what is below it.

mod branch;
mod briefing;
mod check;
mod conflict;
mod create;
mod dialog;
mod draft;
mod embedded;
mod error;
mod generation;
mod history;
mod layout;
mod life;
mod log;
mod names;
mod narrator;
mod progress;
mod repair;
mod scenery;
mod session;
mod settings;
mod stamp;
mod stored;
mod summary;
mod told;
mod tools;
mod turn;
mod twister;
mod view;
mod writer;

pub use branch::{Branched, fork};
pub use briefing::{Detail, ToolNote};
pub use conflict::{Conflict, ConflictKind, ConflictReport};
pub use create::{NewCampaign, create};
pub use dialog::DialogType;
pub use embedded::Embedded;
pub use error::CampaignError;
pub use generation::{Generation, Rules};
pub use history::Moment;
pub use layout::{CampaignLayout, Turn};
pub use life::{Status, archive, purge, restore, set_status, trash, trashed, unarchive};
pub use log::{Log, TurnRow};
pub use narrator::{Narrator, NarratorError, Output, Question, Recorded, Request};
pub use repair::{Mending, Repair, plan_repair, repair, undo_repair};
pub use scenery::{Area, Character};
pub use session::{Campaign, Lineage, is_campaign_dir, list};
pub use settings::{MOST_CHECKPOINTS, SETTINGS, Setting, SettingKind, settings};
pub use told::{RowTold, ToldCampaign, ToldTurn};
pub use turn::MAX_RETRIES;
pub use writer::{CampaignWriter, Played, Submission};

pub use check::check_dir;
pub(crate) use create::{new_actor, starter_map};

/// Bytes as hexadecimal digits.
fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
