//! Reads a session: its metadata and its messages.
//!
//! [`SessionLocation`] is where a session is, [`Session`] reads it, and [`SessionMeta`] is its metadata.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::document::JsonDocument;
use super::error::LinggenError;
use super::messages::{MessageReader, MessageRow, USER};
use super::paths::{ProjectPart, SessionFile, flat_sessions_dir, session_dir, session_time};
use super::project::{dirs_in, project_dirs};
use super::yaml::YamlDocument;
use everturn_json::finding::{Finding, FindingCode};
use everturn_json::names::{FilePath, SessionId};
use everturn_session::marks::marks_changed;
use everturn_store::{FileMode, Fingerprint, Precondition, Step, Store, read_optional};

/// How much later than its last message a log was written at most, if it was not changed otherwise.
const AGREEMENT: SignedDuration = SignedDuration::from_secs(2);

/// The location of a session.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SessionLocation {
    /// Its id: the name of its directory.
    pub id: SessionId,
    /// Its directory.
    pub dir: FilePath,
}

impl SessionLocation {
    /// The session with this id in a project's directory, whether or not it exists.
    #[must_use]
    pub fn in_project(project: &FilePath, id: SessionId) -> SessionLocation {
        let dir = session_dir(&ProjectPart::Sessions.of(project), &id);
        SessionLocation { id, dir }
    }

    /// The session in a directory.
    pub(crate) fn of(dir: &FilePath) -> Option<SessionLocation> {
        let id = SessionId::parse(dir.name()?.as_str()).ok()?;
        Some(SessionLocation { id, dir: dir.clone() })
    }
}

/// All sessions of a home, in all projects and outside of them, by the names of their directories.
///
/// No file is opened: a directory with the name of a session is one, and others are if they have messages or metadata.
pub fn sessions(
    store: &Arc<dyn Store>,
) -> Result<(Vec<SessionLocation>, Vec<Finding>), LinggenError> {
    let (mut places, mut findings) = (Vec::new(), Vec::new());
    let mut dirs = vec![flat_sessions_dir()];
    for project in project_dirs(store, &mut findings)? {
        dirs.push(ProjectPart::Sessions.of(&project));
    }
    for dir in dirs {
        let found = match dirs_in(store, &dir, &mut findings) {
            Ok(found) => found,
            // One unreadable project does not hide the others.
            Err(LinggenError::Store(error)) => {
                let message =
                    format!("cannot be read: {}", everturn_session::format::error_chain(&error));
                findings.push(Finding::new(&dir, FindingCode::Unreadable, message));
                continue;
            }
            Err(error) => return Err(error),
        };
        for session in found {
            let Some(place) = SessionLocation::of(&session) else {
                let message = "is not a valid session name, and is ignored";
                findings.push(Finding::new(&session, FindingCode::BadName, message));
                continue;
            };
            if session_time(place.id.as_str()).is_some() || is_session(store, &session) {
                places.push(place);
            }
        }
    }
    Ok((places, findings))
}

/// Whether a directory has the files of a session. If that cannot be known, it does: opening it returns the reason, and
/// other sessions can be read.
pub(crate) fn is_session(store: &Arc<dyn Store>, dir: &FilePath) -> bool {
    let has = |file: SessionFile| !matches!(store.stat(&file.of(dir)), Ok(None));
    has(SessionFile::Messages) || has(SessionFile::Meta)
}

/// Whether a directory is at the path of a session: `projects/{project}/sessions/{id}` or `sessions/{id}`.
#[must_use]
pub fn is_session_dir(store: &Arc<dyn Store>, dir: &FilePath) -> bool {
    let named = |path: Option<&FilePath>, name: &str| {
        path.and_then(FilePath::name).is_some_and(|found| found.as_str() == name)
    };
    let Some(sessions) = dir.parent() else { return false };
    named(Some(&sessions), ProjectPart::Sessions.as_str())
        && SessionLocation::of(dir).is_some()
        && [SessionFile::Messages, SessionFile::Meta]
            .iter()
            .any(|file| matches!(store.stat(&file.of(dir)), Ok(Some(_))))
}

/// The origin of a branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lineage {
    /// The parent session.
    pub parent: String,
    /// The last message that both share.
    pub turn: u64,
    /// `fork`, or `rewind` for the messages that a rewind left behind.
    pub kind: String,
}

impl Lineage {
    /// The step that stores it in a new session; `changed` is the time of a fork.
    pub(crate) fn step(
        &self,
        dir: &FilePath,
        changed: Option<Timestamp>,
    ) -> Result<Step, LinggenError> {
        let Lineage { parent, turn, kind } = self;
        let lineage = json!({"parent": parent, "turn": turn, "kind": kind});
        let value = match changed {
            Some(changed) => json!({"lineage": lineage, "changed": changed.to_string()}),
            None => json!({"lineage": lineage}),
        };
        Ok(JsonDocument::new(&SessionFile::Lineage.of(dir), &value)?.step(FileMode::Default))
    }
}

/// The metadata of a session.
#[derive(Debug, Clone)]
pub struct SessionMeta {
    pub(crate) yaml: YamlDocument,
    before: Fingerprint,
}

impl SessionMeta {
    /// The title.
    #[must_use]
    pub fn title(&self) -> Option<String> {
        self.yaml.string("title").filter(|title| !title.trim().is_empty())
    }

    /// The creation time.
    #[must_use]
    pub fn created(&self) -> Option<Timestamp> {
        Timestamp::from_second(self.yaml.integer("created_at")?).ok()
    }

    /// The problems of the metadata, in words: required members missing or invalid, and repeated keys.
    pub(crate) fn lacks(&self) -> Vec<String> {
        let mut lacks = Vec::new();
        for key in ["id", "title", "created_at"] {
            if !self.yaml.values().contains_key(key) {
                lacks.push(format!("it has no {key}"));
            } else if self.yaml.string(key).is_none() {
                lacks.push(format!("its {key} is not a string"));
            } else if key == "created_at" && self.created().is_none() {
                lacks.push("its created_at is not a time".to_owned());
            }
        }
        lacks.extend(self.yaml.repeated().iter().map(|key| format!("its {key} is duplicated")));
        lacks
    }

    /// All values in the file; newer programs write more of them.
    #[must_use]
    pub fn values(&self) -> &serde_json::Map<String, Value> {
        self.yaml.values()
    }

    /// The step that writes it with a new title.
    pub(crate) fn retitled(&self, dir: &FilePath, title: &str) -> Result<Step, LinggenError> {
        let mut yaml = self.yaml.clone();
        let file = SessionFile::Meta.of(dir);
        yaml.set("title", &title.into()).map_err(|error| LinggenError::damaged(&file, error))?;
        let (expect, bytes) = (Precondition::Content(self.before), yaml.text().as_bytes().to_vec());
        Ok(Step::Replace { file, expect, bytes, mode: FileMode::Default })
    }
}

/// Reads a session. It never writes, and never waits for a writer.
pub struct Session {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) place: SessionLocation,
    meta: Option<SessionMeta>,
    findings: Vec<Finding>,
}

impl Session {
    /// Opens a session. Missing or unreadable metadata is a finding, not an error.
    pub fn open(store: Arc<dyn Store>, place: &SessionLocation) -> Result<Session, LinggenError> {
        let file = SessionFile::Meta.of(&place.dir);
        let mut session = Session { store, place: place.clone(), meta: None, findings: Vec::new() };
        let mut note = |code: FindingCode, message: String| {
            session.findings.push(Finding::new(&file, code, message));
        };
        match read_optional(&session.store, &file)? {
            Some(bytes) => match YamlDocument::from_bytes(&bytes) {
                // After a power cut a file may be empty; that is not empty metadata.
                Ok(yaml) if yaml.values().is_empty() => {
                    note(FindingCode::BadMetadata, "it is empty".to_owned());
                }
                Ok(yaml) => {
                    if let Some(id) = yaml.string("id").filter(|id| id != place.id.as_str()) {
                        note(FindingCode::WrongPlace, format!("its id is {id:?}"));
                    }
                    session.meta = Some(SessionMeta { yaml, before: Fingerprint::of(&bytes) });
                }
                Err(error) => note(FindingCode::BadMetadata, error.to_string()),
            },
            None if session.store.stat(&SessionFile::Messages.of(&place.dir))?.is_some() => {
                note(
                    FindingCode::NoMetadata,
                    "it is missing, so linggen does not list the session".to_owned(),
                );
            }
            None if session.store.stat(&place.dir)?.is_some() => {
                note(
                    FindingCode::NoMetadata,
                    "it is missing, and there are no messages".to_owned(),
                );
            }
            None => return Err(LinggenError::NoSession { id: place.id.to_string() }),
        }
        Ok(session)
    }

    /// The location of the session.
    #[must_use]
    pub fn place(&self) -> &SessionLocation {
        &self.place
    }

    /// The metadata, unless it is missing or damaged.
    #[must_use]
    pub fn meta(&self) -> Option<&SessionMeta> {
        self.meta.as_ref()
    }

    /// The findings of the open.
    #[must_use]
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    pub(crate) fn file(&self, file: SessionFile) -> FilePath {
        file.of(&self.place.dir)
    }

    /// Its messages, first to last.
    pub fn rows(&self) -> Result<MessageReader, LinggenError> {
        Ok(MessageReader::forward(&self.store, &self.file(SessionFile::Messages))?)
    }

    /// Its messages, last to first.
    pub fn rows_back(&self) -> Result<MessageReader, LinggenError> {
        Ok(MessageReader::backward(&self.store, &self.file(SessionFile::Messages))?)
    }

    /// The number of messages, and the end of the last one.
    pub(crate) fn count(&self) -> Result<(u64, u64), LinggenError> {
        let mut last = (0, 0);
        for row in self.rows()? {
            let row = row?;
            last = (row.number.unwrap_or_default(), row.offset + row.length);
        }
        Ok(last)
    }

    /// The creation time: from the metadata, the id, or the first message.
    pub fn created(&self) -> Result<Option<Timestamp>, LinggenError> {
        let told = self.meta.as_ref().and_then(SessionMeta::created);
        if let Some(time) = told.or_else(|| session_time(self.place.id.as_str())) {
            return Ok(Some(time));
        }
        for row in self.rows()? {
            if let Some(time) = row?.time() {
                return Ok(Some(time));
            }
        }
        Ok(None)
    }

    /// The time of the last message, or of a later change of the marks, by a fork or by a rewind.
    pub fn updated(&self) -> Result<Option<Timestamp>, LinggenError> {
        last_change(&self.store, &self.place().dir, self.created()?)
    }

    /// The title to use if the metadata has none.
    pub(crate) fn derived_title(&self) -> Result<Option<String>, LinggenError> {
        for row in self.rows()? {
            if let Some(text) = user_text(&row?) {
                return Ok(Some(auto_title(&text)));
            }
        }
        Ok(None)
    }

    /// The origin, if it is a branch.
    pub fn lineage(&self) -> Result<Option<Lineage>, LinggenError> {
        let file = self.file(SessionFile::Lineage);
        let Some(stored) = JsonDocument::read(&self.store, &file)? else { return Ok(None) };
        // A session that was rewound has the document, too.
        let Some(lineage) = stored.get("lineage") else { return Ok(None) };
        let text = |key: &str| lineage.get(key).and_then(Value::as_str).map(str::to_owned);
        let turn = lineage.get("turn").and_then(Value::as_u64);
        match (text("parent"), turn, text("kind")) {
            (Some(parent), Some(turn), Some(kind)) => Ok(Some(Lineage { parent, turn, kind })),
            _ => Err(LinggenError::damaged(&file, "it does not name the parent session")),
        }
    }
}

/// The time of the last message in a file that has one.
/// The time of the last message in the directory of a session, or of a later change that no message shows.
pub(crate) fn last_change(
    store: &Arc<dyn Store>,
    dir: &FilePath,
    created: Option<Timestamp>,
) -> Result<Option<Timestamp>, LinggenError> {
    let message = last_write(store, &SessionFile::Messages.of(dir), created)?;
    // A damaged document is a finding of the summary and of the check.
    let own = match JsonDocument::read(store, &SessionFile::Lineage.of(dir)) {
        Ok(own) => own.and_then(|own| own.string("changed")?.parse().ok()),
        Err(LinggenError::Damaged { .. }) => None,
        Err(error) => return Err(error),
    };
    Ok(message.max(own).max(marks_changed(store, dir)?))
}

fn last_time(store: &Arc<dyn Store>, file: &FilePath) -> Result<Option<Timestamp>, LinggenError> {
    for row in MessageReader::backward(store, file)? {
        if let Some(time) = row?.time() {
            return Ok(Some(time));
        }
    }
    Ok(None)
}

/// The time of the last write: that of the last message, or else of the creation. Both are whole seconds, so the time of
/// the file is used where it agrees with them.
fn last_write(
    store: &Arc<dyn Store>,
    file: &FilePath,
    created: Option<Timestamp>,
) -> Result<Option<Timestamp>, LinggenError> {
    let Some(time) = last_time(store, file)?.or(created) else { return Ok(None) };
    let modified = store.stat(file)?.and_then(|stat| stat.modified_since_epoch());
    let modified = modified.and_then(|since| {
        let seconds = i64::try_from(since.as_secs()).ok()?;
        Timestamp::new(seconds, i32::try_from(since.subsec_nanos()).ok()?).ok()
    });
    // A message gets its time before it is written.
    let agrees = |modified: &Timestamp| {
        let later = modified.duration_since(time);
        !later.is_negative() && later < AGREEMENT
    };
    Ok(Some(modified.filter(agrees).unwrap_or(time)))
}

/// The text of a message, if it is from the user.
fn user_text(row: &MessageRow) -> Option<String> {
    let tree = row.tree.as_ref()?;
    tree.string_at(&["from_id"]).filter(|from| from == USER)?;
    tree.string_at(&["content"]).filter(|content| !content.trim().is_empty())
}

/// The title made from the first message of the user: its first six words, at most fifty characters.
///
/// ```
/// use everturn_linggen::auto_title;
///
/// assert_eq!(auto_title("Please fix the login bug in auth.rs today"), "Please fix the login bug in");
/// ```
#[must_use]
pub fn auto_title(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().take(6).collect();
    let title = words.join(" ");
    if title.chars().count() <= 50 {
        return title;
    }
    let start: String = title.chars().take(47).collect();
    format!("{start}...")
}

#[cfg(test)]
mod tests {
    use super::auto_title;

    #[test]
    fn a_title_is_made_of_the_first_words() {
        let check = |text: &str, expect: &str| assert_eq!(auto_title(text), expect, "{text:?}");
        check("", "");
        check("  fix\n the\tbug ", "fix the bug");
        check("one two three four five six seven", "one two three four five six");
        check(&"x".repeat(50), &"x".repeat(50));
        check(&"x".repeat(51), &format!("{}...", "x".repeat(47)));
        check(&"ü".repeat(60), &format!("{}...", "ü".repeat(47)));
    }
}
