//! Snapshots: the whole state at a turn, with checksums.

use std::sync::Arc;

use jiff::Timestamp;

use super::meta::stamp;
use super::names::SnapshotFile;
use super::state::State;
use crate::checksum::checksum;
use crate::document::Style;
use crate::tree::{Kind, Tree, digest};

/// Why a snapshot was taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason {
    /// The session begins.
    Initial,
    /// A hundred turns have passed.
    CheckpointInterval,
    /// Five hundred changes have come together.
    DeltaThreshold,
    /// A scene has ended.
    SceneEnd,
    /// A conflict has ended.
    ConflictEnd,
    /// A quest was completed, something major discovered.
    SignificantEvent,
    /// Somebody asked for it.
    Manual,
    /// The session was paused or completed.
    SessionEnd,
    /// Something else, as the file says.
    Other(String),
}

impl Reason {
    /// The word that files use.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Reason::Initial => "initial",
            Reason::CheckpointInterval => "checkpoint_interval",
            Reason::DeltaThreshold => "delta_threshold",
            Reason::SceneEnd => "scene_end",
            Reason::ConflictEnd => "conflict_end",
            Reason::SignificantEvent => "significant_event",
            Reason::Manual => "manual",
            Reason::SessionEnd => "session_end",
            Reason::Other(other) => other,
        }
    }

    /// The reason that files call so.
    #[must_use]
    pub fn parse(word: &str) -> Reason {
        [
            Reason::Initial,
            Reason::CheckpointInterval,
            Reason::DeltaThreshold,
            Reason::SceneEnd,
            Reason::ConflictEnd,
            Reason::SignificantEvent,
            Reason::Manual,
            Reason::SessionEnd,
        ]
        .into_iter()
        .find(|reason| reason.as_str() == word)
        .unwrap_or_else(|| Reason::Other(word.to_owned()))
    }
}

/// The whole state at a turn.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// Its id, such as `snapshot-0200`.
    pub id: String,
    /// The turn.
    pub turn: u64,
    /// Why it was taken.
    pub reason: Reason,
    /// The state.
    pub state: State,
}

/// What a snapshot says besides the state.
pub(crate) struct Header<'a> {
    pub(crate) file: SnapshotFile,
    pub(crate) session: &'a str,
    pub(crate) now: Timestamp,
    pub(crate) reason: &'a Reason,
    /// The snapshot before this one: its id and turn.
    pub(crate) from: Option<(String, u64)>,
    /// How many changes lie in between.
    pub(crate) deltas: u64,
}

/// What stands for the checksum of the file while that is computed.
const NO_SUM: &str = "0000000000000000";

/// The fields of the states, in both forms.
const WORLD: &str = "worldState";
const PLAYER: &str = "playerState";
const SCENE: &str = "activeScene";
const NPCS: &str = "npcsState";

/// The text of a snapshot.
///
/// Each state has a checksum of its value, which no other spelling of the same value changes. The file has one
/// of its bytes besides: while that one is right, nothing else needs to be computed to know that all is well.
pub(crate) fn write(header: &Header<'_>, state: &State) -> String {
    let first = header.from.as_ref().map_or(0, |(_, turn)| turn + 1).min(header.file.turn);
    let top = serde_json::json!({
        "snapshotId": header.file.id(),
        "sessionId": header.session,
        "turnId": header.file.turn,
        "timestamp": stamp(header.now),
        "reason": header.reason.as_str(),
        "deltaAggregation": {
            "fromSnapshot": header.from.as_ref().map(|(id, _)| id),
            "deltasAggregated": header.deltas,
            "turnRange": [first, header.file.turn],
        },
    });
    let mut sums = serde_json::Map::new();
    let mut members = super::meta::tree(&top).children();
    for (key, tree) in parts(state) {
        members.push((key.to_owned(), tree.clone()));
        sums.insert(key.to_owned(), digest(tree).to_string().into());
    }
    sums.insert("file".to_owned(), format!("crc64:{NO_SUM}").into());
    members.push(("checksums".to_owned(), super::meta::tree(&sums)));
    let mut text = Tree::of_members(members).to_text(&Style::PRETTY_RAW);
    if let Some(at) = sum_place(&text) {
        let sum = format!("{:016x}", checksum(&[text.as_bytes()]));
        text.replace_range(at..at + NO_SUM.len(), &sum);
    }
    text
}

fn parts(state: &State) -> Vec<(&'static str, &Tree)> {
    let mut parts = vec![(WORLD, &state.world), (PLAYER, &state.player)];
    parts.extend(state.npcs.as_ref().map(|npcs| (NPCS, npcs)));
    parts.push((SCENE, &state.scene));
    parts
}

/// Where the digits of the file's own checksum are.
fn sum_place(text: &str) -> Option<usize> {
    const MARK: &str = "\"file\": \"crc64:";
    let at = text.rfind(MARK)? + MARK.len();
    text.get(at..at + NO_SUM.len())
        .filter(|sum| sum.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
    Some(at)
}

/// Whether the file is, byte for byte, what was written.
fn is_untouched(text: &str) -> bool {
    let Some(at) = sum_place(text) else { return false };
    let end = at + NO_SUM.len();
    let (Some(before), Some(sum), Some(after)) =
        (text.get(..at), text.get(at..end), text.get(end..))
    else {
        return false;
    };
    let expected = checksum(&[before.as_bytes(), NO_SUM.as_bytes(), after.as_bytes()]);
    u64::from_str_radix(sum, 16) == Ok(expected)
}

/// What a snapshot says about itself.
#[derive(Debug, Clone)]
pub(crate) struct Facts {
    pub(crate) session: Option<String>,
    /// Whether the checksum of the whole file is there and wrong, while those of the states are right.
    pub(crate) edited: bool,
    /// The id of the snapshot before this one; nothing if it does not follow from another one.
    pub(crate) from: Option<String>,
    /// How many changes lie in between, if it says so.
    pub(crate) deltas: Option<u64>,
    /// The turns it says it covers.
    pub(crate) range: Option<(u64, u64)>,
}

/// Reads a snapshot and makes sure that it is what was written.
pub(crate) fn read(file: SnapshotFile, bytes: Vec<u8>) -> Result<Snapshot, String> {
    read_with_facts(file, bytes).map(|(snapshot, _)| snapshot)
}

/// Reads a snapshot with what it says about itself.
pub(crate) fn read_with_facts(
    file: SnapshotFile,
    bytes: Vec<u8>,
) -> Result<(Snapshot, Facts), String> {
    let text: Arc<str> = String::from_utf8(bytes).map_err(|_| "it is not UTF-8")?.into();
    let untouched = is_untouched(&text);
    let tree = if untouched {
        let end = text.len();
        Tree::trusted(text, 0..end)
    } else {
        Tree::parse(text).map_err(|bad| bad.to_string())?
    };
    if tree.kind() != Kind::Object {
        return Err(format!("it is {}, not an object", tree.kind()));
    }
    let tree = tree.opened();
    let turn = tree.text_at(&["turnId"]).and_then(|turn| turn.parse().ok()).unwrap_or(file.turn);
    if turn != file.turn {
        return Err(format!("it says that it is of turn {turn}"));
    }
    let part = |key: &str| tree.at(&[key]);
    let needed = |key: &str| {
        part(key)
            .filter(|part| part.kind() == Kind::Object)
            .ok_or_else(|| format!("{key} is missing"))
    };
    let state = State {
        world: needed(WORLD)?,
        player: needed(PLAYER)?,
        scene: part(SCENE).unwrap_or_else(Tree::null),
        npcs: part(NPCS),
    };
    if !untouched {
        for (key, part) in parts(&state) {
            let Some(expected) = tree.string_at(&["checksums", key]) else { continue };
            if expected.starts_with("sha256:") && digest(part).to_string() != expected {
                return Err(format!("{key} does not have the checksum that it should have"));
            }
        }
    }
    let reason = Reason::parse(&tree.string_at(&["reason"]).unwrap_or_default());
    let id = tree.string_at(&["snapshotId"]).unwrap_or_else(|| file.id());
    let number = |path: &[&str]| tree.text_at(path)?.parse().ok();
    let range = |at: &str| number(&["deltaAggregation", "turnRange", at]);
    let facts = Facts {
        session: tree.string_at(&["sessionId"]),
        edited: !untouched && tree.at(&["checksums", "file"]).is_some(),
        from: tree.string_at(&["deltaAggregation", "fromSnapshot"]),
        deltas: number(&["deltaAggregation", "deltasAggregated"]),
        range: range("0").zip(range("1")),
    };
    Ok((Snapshot { id, turn, reason, state }, facts))
}
