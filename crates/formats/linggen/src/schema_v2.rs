//! The forms of newer programs, which are only read: scheduled missions, and session permissions.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::document::JsonDocument;
use super::error::LinggenError;
use super::messages::MessageReader;
use super::paths::SessionFile;
use super::project::dirs_in;
use super::session::SessionLocation;
use super::specs::front_matter;
use super::yaml::YamlDocument;
use everturn_json::finding::{Finding, FindingCode};
use everturn_json::names::FilePath;
use everturn_store::{Store, read_optional};
use everturn_value::tree::JsonTree;

/// A scheduled mission: `missions/{id}/mission.md`.
#[derive(Debug, Clone, PartialEq)]
pub struct ScheduledMission {
    /// Its id: the name of its directory.
    pub id: String,
    /// The task.
    pub text: String,
    /// The front matter, such as the schedule.
    pub fields: Map<String, Value>,
    /// The path of its directory.
    pub dir: FilePath,
}

/// All scheduled missions.
pub fn scheduled_missions(
    store: &Arc<dyn Store>,
) -> Result<(Vec<ScheduledMission>, Vec<Finding>), LinggenError> {
    let (mut missions, mut findings) = (Vec::new(), Vec::new());
    for dir in dirs_in(store, &FilePath::root().join_static("missions"), &mut findings)? {
        let file = dir.join_static("mission.md");
        let Some(bytes) = read_optional(store, &file)? else { continue };
        let text = String::from_utf8_lossy(&bytes);
        let (yaml, body) = front_matter(&text);
        let fields = match YamlDocument::parse(yaml.unwrap_or_default()) {
            Ok(yaml) => yaml.values().clone(),
            Err(error) => {
                findings.push(Finding::new(&file, FindingCode::BadMetadata, error.to_string()));
                Map::new()
            }
        };
        let id = dir.name().map(|name| name.to_string()).unwrap_or_default();
        missions.push(ScheduledMission { id, text: body.trim().to_owned(), fields, dir });
    }
    Ok((missions, findings))
}

/// The runs of a scheduled mission, in file order.
pub fn mission_runs(
    store: &Arc<dyn Store>,
    mission: &ScheduledMission,
) -> Result<(Vec<JsonTree>, Vec<Finding>), LinggenError> {
    let mut rows = MessageReader::forward(store, &mission.dir.join_static("runs.jsonl"))?;
    let mut runs = Vec::new();
    for row in &mut rows {
        runs.extend(row?.tree);
    }
    Ok((runs, rows.findings))
}

/// The permissions of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionPermission {
    /// The modes of paths.
    pub path_modes: Vec<(String, String)>,
    /// Whether a user can be asked.
    pub interactive: Option<bool>,
}

/// Reads the permissions of a session, if it has any.
pub fn session_permission(
    store: &Arc<dyn Store>,
    place: &SessionLocation,
) -> Result<Option<SessionPermission>, LinggenError> {
    let file = SessionFile::Permission.of(&place.dir);
    let Some(stored) = JsonDocument::read(store, &file)? else { return Ok(None) };
    let modes = stored.get("path_modes");
    let modes = modes.as_ref().and_then(Value::as_array).into_iter().flatten();
    let mode = |value: &Value| {
        let text = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
        Some((text("path")?, text("mode")?))
    };
    Ok(Some(SessionPermission {
        path_modes: modes.filter_map(mode).collect(),
        interactive: stored.get("interactive").and_then(|interactive| interactive.as_bool()),
    }))
}
