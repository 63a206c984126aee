//! Each dialect reads what it writes, and names its own files and records.

use super::*;
use everturn_value::delta::DeltaPath;

const BOTH: [Dialect; 2] = [Dialect::Spec, Dialect::Upstream];

fn group(scope: Scope, deltas: &[(&str, &str)]) -> DeltaGroup {
    let delta = |(path, value): &(&str, &str)| {
        let path = DeltaPath::array(path.split('.'));
        Delta::set(path, JsonTree::parse(*value).unwrap())
    };
    DeltaGroup { scope, deltas: deltas.iter().map(delta).collect() }
}

#[test]
fn lines_are_read_in_the_dialect_in_which_they_are_written() {
    let id = SessionId::parse("session-abc").unwrap();
    for dialect in BOTH {
        let rules = dialect.rules();
        let group = group(Scope::World, &[("a.b", "1"), ("c", "\"text\"")]);
        let lines = rules.line_count(&group);
        let id = rules.change_id(&id, 3, 1);
        let change =
            ChangeRecord { id, turn: 3, event: None, time: Some(5), group, extra: Vec::new() };
        let mut text = String::new();
        rules.write_change(&change, "move", &mut text);
        assert_eq!(text.lines().count() as u64, lines, "{text}");
        let mut read = Vec::new();
        for line in text.lines() {
            let slice = TextSlice::from_text(line);
            let fields = ChangeText::parse(slice.as_str()).unwrap();
            assert_eq!(Dialect::of_change(&fields), Some(dialect), "{line}");
            let group = rules.read_change(&fields, &slice).unwrap();
            assert_eq!(group.scope, Scope::World);
            read.extend(group.deltas);
        }
        let values = |deltas: &[Delta]| -> Vec<(DeltaPath, Option<String>)> {
            let value = |delta: &Delta| delta.value.as_ref().map(JsonTree::to_line);
            deltas.iter().map(|delta| (delta.path.clone(), value(delta))).collect()
        };
        assert_eq!(values(&read), values(&change.group.deltas), "{text}");
    }
}

/// The first file of the turn log that gets turn 150, after a full one, the snapshot, and the IDs of that turn.
#[track_caller]
fn check_names(dialect: Dialect, log: &str, snapshot: &str, event: &str, change: &str) {
    let (rules, id) = (dialect.rules(), SessionId::parse("session-abc").unwrap());
    assert_eq!(rules.log_file(LogKind::Turns, 141, 150).render(LogKind::Turns), log);
    assert_eq!(rules.snapshot_file(150).render(), snapshot);
    assert_eq!(rules.event_id(&id, 150, 2), event);
    assert_eq!(rules.change_id(&id, 150, 2), change);
}

#[test]
fn files_and_records_have_the_names_of_the_dialect() {
    check_names(
        Dialect::Spec,
        "turns-0141-current.jsonl",
        "snapshot-0150.json",
        "abc-150-2",
        "delta-abc-150-2",
    );
    check_names(
        Dialect::Upstream,
        "turns-0101-0200.jsonl",
        "snapshot-turn-0150.json",
        "session-abc-150-2",
        "session-abc-150-2",
    );
}

/// A change of the scene reaches the scene of the state in either dialect.
#[test]
fn the_scene_is_where_its_changes_go() {
    for dialect in BOTH {
        let rules = dialect.rules();
        let mut state = GameState::empty();
        assert!(!rules.is_active_scene(&rules.scene(&state)));
        let change = group(Scope::Scene, &[("status", "\"active\""), ("mood", "\"calm\"")]);
        if rules.has_scene_files() {
            state.scene = JsonTree::object();
        }
        let mut group = rules.stored_group(&change, &state);
        state.apply(&mut group).unwrap();
        let scene = rules.scene(&state);
        assert_eq!(scene.string_at(&["mood"]).as_deref(), Some("calm"), "{dialect:?}");
        assert!(rules.is_active_scene(&scene), "{dialect:?}");
    }
}
