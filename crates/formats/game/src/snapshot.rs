//! Snapshots: the whole state at a turn, with checksums. [`Snapshot`] is one, [`SnapshotReason`] why it was taken.

use std::panic::resume_unwind;
use std::sync::Arc;
use std::thread;

use jiff::Timestamp;

use super::meta::stamp;
use super::paths::SnapshotFile;
use super::state::{GameState, StateTexts};
use everturn_json::checksum::checksum;
use everturn_json::json;
use everturn_value::document::JsonStyle;
use everturn_value::tree::{JsonTree, ObjectKey, TextSlice, TreeNode, ValueKind, digest};

/// Why a snapshot was taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SnapshotReason {
    /// The session starts.
    Initial,
    /// A hundred turns have passed.
    CheckpointInterval,
    /// Five hundred changes have accumulated.
    DeltaThreshold,
    /// A scene has ended.
    SceneEnd,
    /// A conflict has ended.
    ConflictEnd,
    /// A quest was completed or a major discovery made.
    SignificantEvent,
    /// Requested explicitly.
    Manual,
    /// The session was paused or completed.
    SessionEnd,
    /// Another reason found in a file.
    Other(String),
}

impl SnapshotReason {
    /// Returns the value used in files.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            SnapshotReason::Initial => "initial",
            SnapshotReason::CheckpointInterval => "checkpoint_interval",
            SnapshotReason::DeltaThreshold => "delta_threshold",
            SnapshotReason::SceneEnd => "scene_end",
            SnapshotReason::ConflictEnd => "conflict_end",
            SnapshotReason::SignificantEvent => "significant_event",
            SnapshotReason::Manual => "manual",
            SnapshotReason::SessionEnd => "session_end",
            SnapshotReason::Other(other) => other,
        }
    }

    /// Parses the value used in files.
    #[must_use]
    pub fn parse(word: &str) -> SnapshotReason {
        [
            SnapshotReason::Initial,
            SnapshotReason::CheckpointInterval,
            SnapshotReason::DeltaThreshold,
            SnapshotReason::SceneEnd,
            SnapshotReason::ConflictEnd,
            SnapshotReason::SignificantEvent,
            SnapshotReason::Manual,
            SnapshotReason::SessionEnd,
        ]
        .into_iter()
        .find(|reason| reason.as_str() == word)
        .unwrap_or_else(|| SnapshotReason::Other(word.to_owned()))
    }
}

/// The whole state at a turn.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// Its ID, such as `snapshot-0200`.
    pub id: String,
    /// The turn.
    pub turn: u64,
    /// Why it was taken.
    pub reason: SnapshotReason,
    /// The state.
    pub state: GameState,
    /// Whether it has checksums, so that its content is verified.
    pub(crate) summed: bool,
}

/// The fields of a snapshot other than the state.
pub(crate) struct SnapshotHeader<'a> {
    pub(crate) file: SnapshotFile,
    pub(crate) session: &'a str,
    pub(crate) now: Timestamp,
    pub(crate) reason: &'a SnapshotReason,
    /// The previous snapshot: its ID and turn.
    pub(crate) from: Option<(String, u64)>,
    /// The number of changes since then.
    pub(crate) deltas: u64,
}

/// The placeholder for the checksum of the file while that is computed.
const NO_SUM: &str = "0000000000000000";

/// The fields of the states, in both dialects.
const WORLD: &str = "worldState";
const PLAYER: &str = "playerState";
const SCENE: &str = "activeScene";
const NPCS: &str = "npcsState";
/// The field of the checksums, which comes last.
const SUMS: &str = "checksums";

/// Returns the text of a snapshot, and those of its states.
///
/// Each state has a checksum of its value, which does not depend on its spelling. The file has a checksum of its bytes
/// in addition: while that one is correct, no other needs to be computed.
pub(crate) fn write(header: &SnapshotHeader<'_>, state: &GameState) -> (String, StateTexts) {
    let (mut text, texts, mut sums) = thread::scope(|scope| {
        // The checksums take as long as the texts, and do not depend on them.
        let sums = scope.spawn(|| sums(state));
        let texts = state.texts();
        let text = body(header, state, &texts);
        (text, texts, sums.join().unwrap_or_else(|panic| resume_unwind(panic)))
    });
    sums.insert("file".to_owned(), format!("crc64:{NO_SUM}").into());
    push_member(&mut text, SUMS, &pretty(&sums));
    text.push_str("\n}");
    if let Some(at) = sum_place(&text) {
        let sum = format!("{:016x}", checksum(&[text.as_bytes()]));
        text.replace_range(at..at + NO_SUM.len(), &sum);
    }
    (text, texts)
}

fn sums(state: &GameState) -> serde_json::Map<String, serde_json::Value> {
    let sum = |(key, tree): (&str, &JsonTree)| (key.to_owned(), digest(tree).to_string().into());
    parts(state).into_iter().map(sum).collect()
}

/// Returns all fields before the checksums.
fn body(header: &SnapshotHeader<'_>, state: &GameState, texts: &StateTexts) -> String {
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
    let mut text = pretty(&top);
    text.truncate(text.len() - "\n}".len());
    text.reserve(texts.len() + texts.len() / 4);
    for ((key, _), part) in parts(state).into_iter().zip(texts.parts()) {
        push_member(&mut text, key, part);
    }
    text
}

fn pretty<T: serde::Serialize>(value: &T) -> String {
    super::meta::tree(value).to_text(&JsonStyle::PRETTY_RAW)
}

/// Adds a field to the text of an object; `text` is its pretty-printed value.
fn push_member(out: &mut String, key: &str, text: &str) {
    out.push_str(",\n  \"");
    out.push_str(key);
    out.push_str("\": ");
    let mut rest = text;
    while let Some((line, after)) =
        rest.split_at_checked(json::find_byte(rest.as_bytes(), |byte| byte == b'\n') + 1)
    {
        out.push_str(line);
        out.push_str("  ");
        rest = after;
    }
    out.push_str(rest);
}

fn parts(state: &GameState) -> Vec<(&'static str, &JsonTree)> {
    let mut parts = vec![(WORLD, &state.world), (PLAYER, &state.player)];
    parts.extend(state.npcs.as_ref().map(|npcs| (NPCS, npcs)));
    parts.push((SCENE, &state.scene));
    parts
}

/// Returns the position of the digits of the file's own checksum.
fn sum_place(text: &str) -> Option<usize> {
    const MARK: &str = "\"file\": \"crc64:";
    let at = text.rfind(MARK)? + MARK.len();
    text.get(at..at + NO_SUM.len())
        .filter(|sum| sum.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
    Some(at)
}

/// Returns the text of a snapshot with corrected checksums, after something in it was replaced; `None` if it has no
/// checksums.
pub(crate) fn with_valid_checksums(text: &str) -> Option<String> {
    let tree = JsonTree::parse(text.trim_start_matches('\u{feff}')).ok()?;
    let mut text = text.to_owned();
    let from = text.rfind(&format!("\"{SUMS}\""))?;
    for key in [WORLD, PLAYER, NPCS, SCENE] {
        let (Some(old), Some(part)) = (tree.string_at(&[SUMS, key]), tree.value_at(&[key])) else {
            continue;
        };
        let new = digest(&part).to_string();
        if old.len() == new.len() && old.starts_with("sha256:") {
            let name = from + text.get(from..)?.find(&format!("\"{key}\""))?;
            let at = name + text.get(name..)?.find(&old)?;
            text.replace_range(at..at + old.len(), &new);
        }
    }
    if let Some(at) = sum_place(&text) {
        text.replace_range(at..at + NO_SUM.len(), NO_SUM);
        let sum = format!("{:016x}", checksum(&[text.as_bytes()]));
        text.replace_range(at..at + NO_SUM.len(), &sum);
    }
    Some(text)
}

/// Returns whether the file is, byte for byte, as it was written.
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

/// The facts that a snapshot states about itself.
#[derive(Debug, Clone)]
pub(crate) struct SnapshotFacts {
    pub(crate) session: Option<String>,
    /// Whether the checksum of the whole file is present and wrong, while those of the states are correct.
    pub(crate) edited: bool,
    /// The ID of the previous snapshot; `None` if it does not follow from another one.
    pub(crate) from: Option<String>,
    /// The number of changes since then, if stated.
    pub(crate) deltas: Option<u64>,
    /// The turns it claims to cover.
    pub(crate) range: Option<(u64, u64)>,
}

/// Splits a text in the form that [`write`] produces without scanning all of it: no string contains a literal newline,
/// and only the top-level fields are indented by two spaces.
///
/// Everything but the world is small, so each field is searched from the nearer end of the text.
fn split(text: &Arc<String>) -> Option<JsonTree> {
    let mark = |key: &str| format!("\n  \"{key}\": ");
    let world = text.find(&mark(WORLD))?;
    let sums = text.rfind(&mark(SUMS))?;
    let scene = text.get(..sums)?.rfind(&mark(SCENE))?;
    let player = text.get(..scene)?.rfind(&mark(PLAYER))?;
    let npcs = text.get(player..scene)?.find(&mark(NPCS)).map(|at| player + at);
    let head = format!("{}}}", text.get(..world)?.strip_suffix(',')?);
    let mut tree = JsonTree::parse(head).ok()?.into_expanded();
    let TreeNode::Object(members) = &mut tree.0 else { return None };
    let mut put = |key: &str, start: usize, next: usize| {
        let start = start + mark(key).len();
        let value = text.get(start..next)?.strip_suffix(',')?;
        let slice = TextSlice::new(Arc::clone(text), start..start + value.len());
        members.insert(ObjectKey::new(key), TreeNode::Text(slice));
        Some(())
    };
    put(WORLD, world, player)?;
    put(PLAYER, player, npcs.unwrap_or(scene))?;
    if let Some(npcs) = npcs {
        put(NPCS, npcs, scene)?;
    }
    put(SCENE, scene, sums)?;
    Some(tree)
}

/// Reads and verifies a snapshot.
pub(crate) fn read(file: SnapshotFile, bytes: Vec<u8>) -> Result<Snapshot, String> {
    read_with_facts(file, bytes).map(|(snapshot, _)| snapshot)
}

/// Returns a state of a snapshot that the upstream program has written: `{"sessionId", "turnId", "state": {"world",
/// "player", "npcs"}}`.
fn upstream_part(tree: &JsonTree, key: &str) -> Option<JsonTree> {
    let name = match key {
        WORLD => "world",
        PLAYER => "player",
        NPCS => "npcs",
        _ => return None,
    };
    tree.value_at(&["state", name])
}

/// Reads a snapshot together with its facts.
pub(crate) fn read_with_facts(
    file: SnapshotFile,
    bytes: Vec<u8>,
) -> Result<(Snapshot, SnapshotFacts), String> {
    let text = Arc::new(String::from_utf8(bytes).map_err(|_| "it is not UTF-8")?);
    let untouched = is_untouched(&text);
    let tree = match untouched.then(|| split(&text)).flatten() {
        Some(tree) => tree,
        None if untouched => {
            JsonTree::from_trusted(Arc::clone(&text), 0..text.len()).into_expanded()
        }
        None => JsonTree::parse(text.as_str()).map_err(|bad| bad.to_string())?.into_expanded(),
    };
    if tree.kind() != ValueKind::Object {
        return Err(format!("it is {}, not an object", tree.kind()));
    }
    let turn = tree.text_at(&["turnId"]).and_then(|turn| turn.parse().ok()).unwrap_or(file.turn);
    if turn != file.turn {
        return Err(format!("it declares turn {turn}"));
    }
    let part = |key: &str| tree.value_at(&[key]).or_else(|| upstream_part(&tree, key));
    let needed = |key: &str| {
        part(key)
            .filter(|part| part.kind() == ValueKind::Object)
            .ok_or_else(|| format!("{key} is missing"))
    };
    let state = GameState {
        world: needed(WORLD)?,
        player: needed(PLAYER)?,
        scene: part(SCENE).unwrap_or_else(JsonTree::null),
        npcs: part(NPCS),
    };
    let mut summed = true;
    if !untouched {
        for (key, part) in parts(&state) {
            let Some(expected) = tree.string_at(&[SUMS, key]) else {
                summed &= part.is_null();
                continue;
            };
            if expected.starts_with("sha256:") && digest(part).to_string() != expected {
                return Err(format!("checksum mismatch in {key}"));
            }
        }
    }
    let reason = SnapshotReason::parse(&tree.string_at(&["reason"]).unwrap_or_default());
    let id = tree.string_at(&["snapshotId"]).unwrap_or_else(|| file.id());
    let number = |path: &[&str]| tree.text_at(path)?.parse().ok();
    let range = |at: &str| number(&["deltaAggregation", "turnRange", at]);
    let facts = SnapshotFacts {
        session: tree.string_at(&["sessionId"]),
        edited: !untouched && tree.value_at(&["checksums", "file"]).is_some(),
        from: tree.string_at(&["deltaAggregation", "fromSnapshot"]),
        deltas: number(&["deltaAggregation", "deltasAggregated"]),
        range: range("0").zip(range("1")),
    };
    Ok((Snapshot { id, turn, reason, state, summed }, facts))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: SnapshotFile = SnapshotFile { turn: 200, is_upstream: false };

    fn state(world: &str, npcs: Option<&str>) -> GameState {
        let tree = |text: &str| JsonTree::parse(text).unwrap();
        let (player, scene) = (tree(r#"{"name": "Vex"}"#), JsonTree::null());
        GameState { world: tree(world), player, scene, npcs: npcs.map(tree) }
    }

    fn text(state: &GameState) -> String {
        let (now, reason) = (Timestamp::UNIX_EPOCH, &SnapshotReason::Manual);
        let from = Some(("snapshot-0100".to_owned(), 100));
        let header = SnapshotHeader { file: FILE, session: "s", now, reason, from, deltas: 3 };
        write(&header, state).0
    }

    /// Returns a changed text with a corrected checksum.
    fn resealed(text: &str) -> String {
        let at = sum_place(text).unwrap();
        let mut text = text.to_owned();
        text.replace_range(at..at + NO_SUM.len(), NO_SUM);
        let sum = format!("{:016x}", checksum(&[text.as_bytes()]));
        text.replace_range(at..at + NO_SUM.len(), &sum);
        text
    }

    #[track_caller]
    fn check(text: &str, expect: &GameState, is_split: bool) {
        assert_eq!(split(&Arc::new(text.to_owned())).is_some(), is_split, "{text}");
        let found = read(FILE, text.as_bytes().to_vec()).unwrap();
        assert!(found.state.is_same(expect), "{text}");
        assert_eq!(
            (found.turn, found.reason, &*found.id),
            (200, SnapshotReason::Manual, "snapshot-0200")
        );
    }

    #[test]
    fn what_was_written_is_read_without_looking_through_it() {
        check(&text(&state("{}", None)), &state("{}", None), true);
        let npcs = Some(r#"{"luna": {}}"#);
        check(&text(&state("{}", npcs)), &state("{}", npcs), true);
        // The field names also occur inside the states and in strings.
        let tricky = r#"{"playerState": {"activeScene": 1}, "checksums": [{"worldState": {}}],
            "told": "\n  \"playerState\": {}, \n  \"checksums\": "}"#;
        check(&text(&state(tricky, None)), &state(tricky, None), true);
        check(&text(&state(tricky, Some(tricky))), &state(tricky, Some(tricky)), true);
    }

    #[test]
    fn another_layout_is_looked_through() {
        let state = state(r#"{"a": {"b": [1, {}]}}"#, None);
        let wide = resealed(&text(&state).replace("\n  ", "\n    "));
        assert!(is_untouched(&wide));
        check(&wide, &state, false);
        let touched = text(&state).replace("\"b\": [", "\"b\":   [");
        assert!(!is_untouched(&touched));
        check(&touched, &state, true);
    }

    #[test]
    fn checksums_are_made_true_after_a_change() {
        let changed = text(&state(r#"{"gold": "one"}"#, None)).replace("one", "[secret:x:11]");
        assert!(read(FILE, changed.clone().into_bytes()).is_err());
        let repaired = with_valid_checksums(&changed).unwrap();
        assert!(is_untouched(&repaired));
        check(&repaired, &state(r#"{"gold": "[secret:x:11]"}"#, None), true);
        // The checksums of the states are correct, too, not only that of the file.
        let spaced = repaired.replace("\"gold\": ", "\"gold\":  ");
        assert!(read(FILE, spaced.into_bytes()).is_ok());
    }

    #[test]
    fn a_snapshot_of_the_upstream_program_is_read() {
        let text = r#"{"sessionId": "s", "turnId": 200, "timestamp": 1, "state": {"world": {"gold": 1},
            "player": {"name": "Vex"}, "npcs": {"luna": {}}}}"#;
        let file = SnapshotFile { turn: 200, is_upstream: true };
        let (found, facts) = read_with_facts(file, text.as_bytes().to_vec()).unwrap();
        assert!(found.state.is_same(&state(r#"{"gold": 1}"#, Some(r#"{"luna": {}}"#))));
        assert!(!found.summed && facts.from.is_none());
        let partial = text.replace("player", "playr");
        assert!(read_with_facts(file, partial.into_bytes()).is_err());
    }

    #[test]
    fn a_changed_value_is_noticed() {
        let changed = text(&state(r#"{"gold": 1}"#, None)).replace("\"gold\": 1", "\"gold\": 9");
        let error = read(FILE, changed.into_bytes()).unwrap_err();
        assert!(error.contains("checksum mismatch in worldState"), "{error}");
    }
}
