//! The rules of a campaign: how a turn is played, which tools a narrator may call, and when its answer is refused.
//!
//! ```
//! use everturn_rpg::WorldError;
//! use everturn_rpg::embedded::EmbeddedNarrator;
//! use everturn_rpg::turn::{TurnSetup, play};
//! use everturn_value::tree::JsonTree;
//!
//! let campaign = JsonTree::parse(
//!     r#"{"selected": {"party_character_ids": ["pc_001"], "active_actor_id": "pc_001"}}"#,
//! )?;
//! let setup = TurnSetup {
//!     campaign: &campaign,
//!     user_input: "I look around.",
//!     actor: None,
//!     turn: 1,
//!     recent: &[],
//!     worlds: &|_| -> Result<_, WorldError> { Ok(None) },
//!     now: "2026-01-14T16:05:00Z".parse()?,
//!     seed: 7,
//! };
//! let played = play(&setup, &mut EmbeddedNarrator::new(7))?;
//! assert_eq!(played.row["turn_id"], "turn_0001");
//! assert_eq!(played.draft.view().position("pc_001").as_deref(), Some("area_001"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`turn::play`] takes a document and asks a [`narrator::Narrator`]. Its tool calls run on a [`draft::CampaignDraft`],
//! which records every change, and the result is read through a [`document_view::CampaignView`]. If the answer
//! contradicts the state, the draft is reverted and the narrator is asked again, with each
//! [`conflict_report::Conflict`]. The outcome is a [`turn::PlayedTurn`]: the draft, and the row for the log.
//!
//! The crate depends on `everturn-json` and `everturn-value`. It knows nothing of files, stores or sessions:
//! `everturn-campaign` stores what it returns.
//!
//! The modules, in reading order:
//!
//! - [`generation`], [`document_view`], [`player_view`]: the generations of a document, how the rules read it, and what
//!   players see of it.
//! - [`draft`], [`starter`]: a document that is being changed, and what every new one contains.
//! - [`settings`], [`stamp`]: settings, and timestamps.
//! - [`narrator`], [`briefing`], [`dialog`]: narrators, what they are given, and the type of their text.
//! - [`tools`], `twister`: the tools, and the random numbers of generated maps.
//! - [`conflict_report`], [`conflict`], `progress`: contradictions, milestones and the end of a campaign.
//! - [`row`], [`summary`]: the row of a turn, and the summary of the state in it.
//! - [`turn`]: plays a turn.
//! - [`upgrade`]: from the first rules to the second ones.
//! - [`roll`]: dice as players write them.
//! - [`embedded`]: a narrator that needs no model.
//! - `error`: the errors of the crate.

pub mod generation;

pub mod document_view;

pub mod player_view;

pub mod draft;

pub mod starter;

pub mod settings;

pub mod stamp;

pub mod narrator;

pub mod briefing;

pub mod dialog;

pub mod tools;

mod twister;

pub mod conflict_report;

pub mod conflict;

mod progress;

pub mod row;

pub mod summary;

pub mod turn;

pub mod upgrade;

pub mod roll;

pub mod embedded;

mod error;

pub use error::{RulesError, WorldError};
