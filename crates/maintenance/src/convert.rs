//! Sessions of one layout made into sessions of another, with a report of what became of each entry.
//!
//! A session is read through the common view alone and built in memory; then it is read back there, compared, and
//! written in one commit; then it is read back from where it was written and compared again. The original is never
//! touched.
//!
//! What the records of the new layout cannot say they carry in a member `everturn`, which other programs pass over.
//! Converted back, a session is what it was.
//!
//! ```
//! use std::sync::Arc;
//!
//! use everturn_maintenance::convert::{Conversion, Disposition};
//! use everturn_maintenance::registry;
//! use everturn_store::{MemoryStore, Store};
//! use everturn_session::model::NewSession;
//!
//! let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
//! let now = "2026-01-01T10:00:00Z".parse()?;
//! let game = registry::find("game").ok_or("there is no such layout")?;
//! let mut editor = game.create(&store, &NewSession::with_id("session-one"), now)?;
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
mod linggen;
mod native;
mod plan;
mod record;
mod report;
mod sillytavern;
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
use everturn_store::{Durability, FileMode, Precondition, Step, Store, StoreError};

pub use plan::ConversionPlan;
pub use report::{ConversionNote, ConversionReport, Disposition, EntryOutcome, UNREADABLE};

use record::RecordSource;
use source_session::SourceSession;

/// Why a session was not converted.
#[derive(Debug, Clone, Error)]
#[non_exhaustive]
pub enum ConvertError {
    /// The layout of either session said no.
    #[error(transparent)]
    Layout(#[from] SessionError),
    /// There is nothing by that name that a session could be made into.
    #[error("nothing is converted to {name:?}")]
    NoTarget {
        /// The name.
        name: String,
    },
    /// What was written does not read as what it was made of.
    #[error("the new session does not read as the old one: {what}")]
    Different {
        /// The first thing that is different.
        what: String,
    },
    /// The new session was written, and something is wrong with it.
    #[error("the new session was written to {path} and is left there")]
    Left {
        /// Where it is.
        path: FilePath,
        /// What is wrong.
        #[source]
        source: Box<ConvertError>,
    },
}

impl From<StoreError> for ConvertError {
    fn from(error: StoreError) -> ConvertError {
        ConvertError::Layout(error.into())
    }
}

/// What a session is to be made into.
#[derive(Debug, Clone, Copy)]
pub struct Conversion<'c> {
    /// The name of the layout.
    pub to: &'c str,
    /// The id of the new session; that of the old one, if nothing.
    pub id: Option<&'c str>,
    /// The directory that the new session works on, where the layout wants one; that of the old one, if nothing.
    pub project: Option<&'c str>,
    /// The directory that it works on if the old one says none either.
    pub dir: Option<&'c str>,
    /// Which branch is converted; the main line, if nothing.
    pub branch: Option<&'c str>,
}

/// The names of everything that sessions can be made into.
pub const TARGETS: &[&str] =
    &["campaign", "game", "codelia", "linggen", "chatlog", "claude-code", "codex", "sillytavern"];

/// Makes sessions of a layout of ours.
trait OwnTarget {
    /// Writes the session to an empty store.
    fn write(
        &self,
        story: &SourceSession,
        records: RecordSource<'_>,
        draft: &SessionDraft,
        report: &mut ConversionReport,
    ) -> Result<SessionRef, SessionError>;

    /// Tells others of the new session, which is there.
    fn register(
        &self,
        store: &Arc<dyn Store>,
        place: &SessionRef,
        story: &SourceSession,
    ) -> Result<(), SessionError> {
        let _ = (store, place, story);
        Ok(())
    }

    /// What a program makes of an entry that knows only the layout, where that is not what its record says.
    fn misread_as(&self, entry: &Entry) -> Option<&'static str> {
        let _ = entry;
        None
    }

    /// Whether the session itself carries what belongs to all of it, and not its first record.
    fn carries_session(&self) -> bool {
        false
    }

    /// Whether the states of a session can be those of the new one.
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
        "sillytavern" => &sillytavern::SillyTavernTarget,
        _ => return None,
    })
}

/// Where a session is being built.
struct SessionDraft {
    store: Arc<dyn Store>,
    id: String,
    project: Option<String>,
    now: Timestamp,
    /// Whether states become those of the new session.
    states: bool,
    /// What the session itself carries, as JSON, once that is known.
    carried: Option<String>,
}

impl SessionDraft {
    /// Writes the marks, given the turn that each entry has now.
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
        let (file, expect, mode) =
            (marks::marks_file(dir), Precondition::Absent, FileMode::Default);
        let writer = self.store.lock(std::slice::from_ref(dir))?;
        let step = Step::Replace { file, expect, bytes, mode };
        writer.commit(vec![step], Durability::Synced)?;
        Ok(writer.release()?)
    }
}

impl Conversion<'_> {
    /// Reads a session and makes the new one of it in memory. Nothing is written.
    pub fn plan(
        &self,
        store: &Arc<dyn Store>,
        layout: &dyn SessionFormat,
        place: &SessionRef,
        now: Timestamp,
    ) -> Result<ConversionPlan, ConvertError> {
        let unknown = || ConvertError::NoTarget { name: self.to.to_owned() };
        let target = registry::find(self.to).ok_or_else(unknown)?;
        let (own, native) = (own_target(self.to), native_target(self.to));
        let mut report = ConversionReport::default();
        let story = SourceSession::read(store, layout, place, self.branch, &mut report)?;
        // Some sessions know only the name of a directory that was made from the path.
        let told = story.facts.project.as_deref().filter(|path| ProjectPath::parse(path).is_ok());
        let project = self.project.or(told).or(self.dir).map(str::to_owned);
        let wanted = plan::ConversionRequest { id: self.id, project, now };
        match (own, native) {
            (Some(own), _) => plan::plan_own(own, target, &story, wanted, report),
            (None, Some(native)) => plan::plan_native(native, target, &story, wanted, report),
            (None, None) => Err(unknown()),
        }
    }
}
