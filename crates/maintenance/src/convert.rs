//! Converts sessions between formats, with a report of what happened to each entry.
//!
//! A session is read through the common model only and built in memory, read back there and compared, then written in
//! one commit, read back from disk and compared again. The original is never changed. [`Conversion`] makes a
//! [`ConversionPlan`], which contains the [`ConversionReport`].
//!
//! Whatever the records of the new format cannot express is carried in a member `everturn`, which other programs
//! ignore. A session that is converted back equals the original.
//!
//! ```
//! use std::sync::Arc;
//!
//! use everturn_maintenance::convert::{Conversion, Disposition};
//! use everturn_maintenance::registry;
//! use everturn_session::format::Operation;
//! use everturn_store::{MemoryStore, Store};
//! use everturn_session::model::NewSession;
//!
//! let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
//! let now = "2026-01-01T10:00:00Z".parse()?;
//! let game = registry::find("game").ok_or("there is no such layout")?;
//! let editing = game.editing(Operation::Create)?;
//! let mut editor = editing.create(&store, &NewSession::with_id("session-one"), now)?;
//! editor.append(r#"{"actor": "player", "events": [{"type": "move", "description": "You go."}]}"#, now)?;
//! let place = editor.session_ref();
//! editor.close(now)?;
//!
//! let conversion = Conversion { branch: None, dir: None, id: None, project: None, to: "chatlog" };
//! let plan = conversion.plan(&store, game, &place, now)?;
//! assert_eq!(plan.report().count(Disposition::Kept), 1);
//! let made = plan.write(&store)?;
//! assert_eq!(made.path.as_str(), "chats/session-one.json");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod campaign;
mod chatlog;
mod claude;
mod codelia;
mod codex;
mod facts;
mod game;
mod goose;
mod linggen;
mod native;
mod plan;
mod record;
mod report;
mod sillytavern;
mod source_entry;
mod source_session;
mod tool_calls;

use std::sync::Arc;

use jiff::Timestamp;
use thiserror::Error;

use crate::registry;
use everturn_json::names::FilePath;
use everturn_linggen::ProjectPath;
use everturn_session::format::{SessionError, SessionFormat};
use everturn_session::marks;
use everturn_session::model::{Entry, Mark, SessionRef};
use everturn_store::{Durability, Step, Store, StoreError};

pub use native::NativeOptions;
pub use plan::ConversionPlan;
pub use report::{ConversionNote, ConversionReport, Disposition, EntryOutcome, UNREADABLE};

use record::RecordSource;
use source_session::SourceSession;

/// Why a session was not converted.
#[derive(Debug, Clone, Error)]
#[non_exhaustive]
pub enum ConvertError {
    /// The format of either session failed.
    #[error(transparent)]
    Layout(#[from] SessionError),
    /// No such target.
    #[error("cannot convert to {name:?}")]
    NoTarget {
        /// The name.
        name: String,
    },
    /// The new session does not read back as the original.
    #[error("the new session differs from the original: {what}")]
    Different {
        /// The first difference.
        what: String,
    },
    /// The new session was written, but is faulty.
    #[error("the new session was written to {path} and not removed")]
    Left {
        /// Its path.
        path: FilePath,
        /// The fault.
        #[source]
        source: Box<ConvertError>,
    },
}

impl From<StoreError> for ConvertError {
    fn from(error: StoreError) -> ConvertError {
        ConvertError::Layout(error.into())
    }
}

/// The parameters of a conversion.
#[derive(Debug, Clone, Copy)]
pub struct Conversion<'c> {
    /// The name of the target format.
    pub to: &'c str,
    /// The ID of the new session; by default that of the original.
    pub id: Option<&'c str>,
    /// The working directory of the new session, if the format has one; by default that of the original.
    pub project: Option<&'c str>,
    /// The working directory if the original has none either.
    pub dir: Option<&'c str>,
    /// The branch that is converted; by default the main line.
    pub branch: Option<&'c str>,
}

/// The names of all targets.
pub const TARGETS: &[&str] = &[
    "campaign",
    "game",
    "codelia",
    "linggen",
    "chatlog",
    "claude-code",
    "codex",
    "goose",
    "sillytavern",
];

/// Creates sessions in one of Everturn's own formats.
trait OwnTarget {
    /// Writes the session to an empty store.
    fn write(
        &self,
        story: &SourceSession,
        records: RecordSource<'_>,
        draft: &SessionDraft,
        report: &mut ConversionReport,
    ) -> Result<SessionRef, SessionError>;

    /// Registers the new session in indexes after it was written.
    fn register(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
        story: &SourceSession,
    ) -> Result<(), SessionError> {
        let _ = (store, place, story);
        Ok(())
    }

    /// How a program that knows only the format misreads an entry, if it does.
    fn misread_as(&self, entry: &Entry) -> Option<&'static str> {
        let _ = entry;
        None
    }

    /// Whether the session itself carries what belongs to the whole session, instead of its first record.
    fn carries_session(&self) -> bool {
        false
    }

    /// Whether the new session can have the states of the original.
    fn takes_states(&self, story: &SourceSession) -> bool {
        let _ = story;
        false
    }
}

fn own_target(name: &str) -> Option<&'static dyn OwnTarget> {
    Some(match name {
        "campaign" => &campaign::CampaignTarget,
        "game" => &game::GameTarget,
        "codelia" => &codelia::CodeliaTarget,
        "linggen" => &linggen::LinggenTarget,
        "chatlog" => &chatlog::ChatLogTarget,
        _ => return None,
    })
}

fn native_target(name: &str) -> Option<&'static dyn native::NativeTarget> {
    Some(match name {
        "claude-code" => &claude::ClaudeCodeTarget,
        "codex" => &codex::CodexTarget,
        "goose" => &goose::GooseTarget,
        "sillytavern" => &sillytavern::SillyTavernTarget,
        _ => return None,
    })
}

/// A session being built.
struct SessionDraft {
    store: Arc<dyn Store>,
    id: String,
    project: Option<String>,
    now: Timestamp,
    /// Whether the new session gets the states of the original.
    states: bool,
    /// The JSON that the session itself carries, once it is known.
    carried: Option<String>,
}

impl SessionDraft {
    /// Writes the marks, given the new turn of each entry.
    fn put_marks(
        &self,
        story: &SourceSession,
        records: RecordSource<'_>,
        dir: &FilePath,
        turn: impl Fn(usize) -> u64,
    ) -> Result<(), SessionError> {
        if story.marks.is_empty() {
            return Ok(());
        }
        let moved = |mark: &Mark| {
            let at = if mark.turn == 0 { None } else { story.position(mark.turn) };
            let turn = match records {
                RecordSource::Original => mark.turn,
                RecordSource::Carrying(_) => at.map_or(0, &turn),
            };
            record::mark_json(&Mark { turn, ..mark.clone() })
        };
        let values: Vec<_> = story.marks.iter().map(moved).collect();
        let bytes = marks::marks_document(&values)
            .map_err(|error| SessionError::request(error.to_string()))?;
        let writer = self.store.lock(std::slice::from_ref(dir))?;
        let step = Step::create(marks::marks_file(dir), bytes);
        writer.commit(vec![step], Durability::Synced)?;
        Ok(writer.release()?)
    }
}

impl Conversion<'_> {
    /// Reads a session and builds the new one in memory. Nothing is written.
    pub fn plan(
        &self,
        store: &Arc<dyn Store>,
        layout: &dyn SessionFormat,
        place: &SessionRef,
        now: Timestamp,
    ) -> Result<ConversionPlan, ConvertError> {
        self.plan_with(store, layout, place, now, &NativeOptions::default())
    }

    /// Like [`Conversion::plan`], with options for the files of other programs.
    pub fn plan_with(
        &self,
        store: &Arc<dyn Store>,
        layout: &dyn SessionFormat,
        place: &SessionRef,
        now: Timestamp,
        options: &NativeOptions<'_>,
    ) -> Result<ConversionPlan, ConvertError> {
        let unknown = || ConvertError::NoTarget { name: self.to.to_owned() };
        let target = registry::find(self.to).ok_or_else(unknown)?;
        let (own, native) = (own_target(self.to), native_target(self.to));
        let mut report = ConversionReport::default();
        let story = SourceSession::read(store, layout, place, self.branch, &mut report)?;
        // Some sessions know only a directory name that was derived from the path.
        let told = story.facts.project.as_deref().filter(|path| ProjectPath::parse(path).is_ok());
        let project = self.project.or(told).or(self.dir).map(str::to_owned);
        let wanted =
            plan::ConversionRequest { id: self.id, project, now, provider: options.provider };
        match (own, native) {
            (Some(own), _) => plan::plan_own(own, target, &story, wanted, report),
            (None, Some(native)) => plan::plan_native(native, target, &story, wanted, report),
            (None, None) => Err(unknown()),
        }
    }
}
