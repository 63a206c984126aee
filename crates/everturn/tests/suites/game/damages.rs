//! What may happen to a session, and what a check finds then.

use everturn::disk::sim::SimDisk;

use super::damage::{edit, edit_line, file, remove, rename, replace, text};

pub(crate) const TURNS: &str = "turns/turns-0001-0100.jsonl";
pub(crate) const CURRENT: &str = "turns/turns-0101-current.jsonl";
pub(crate) const DELTAS: &str = "deltas/deltas-0001-0100.jsonl";
pub(crate) const META: &str = "session.meta.json";

/// A name, what is done to a session, and the codes of what a check finds then.
pub(crate) type Damage = (&'static str, fn(&SimDisk), &'static [&'static str]);

pub(crate) const DAMAGE: &[Damage] = &[
    ("metadata gone", |disk| remove(disk, META), &["bad-metadata"]),
    ("metadata cut", |disk| edit(disk, META, |text| text[..100].to_owned()), &["bad-document"]),
    ("metadata empty", |disk| edit(disk, META, |_| String::new()), &["empty-document"]),
    ("metadata an array", |disk| edit(disk, META, |_| "[]".to_owned()), &["bad-document"]),
    ("no session id", |disk| replace(disk, META, "\"sessionId\"", "\"sid\""), &["bad-metadata"]),
    (
        "another session id",
        |disk| replace(disk, META, "session-abc123", "session-x"),
        &["wrong-place"],
    ),
    ("another status", |disk| replace(disk, META, "\"active\"", "\"paused\""), &["wrong-place"]),
    ("a newer version", |disk| replace(disk, META, "\"1.0.0\"", "\"2.0.0\""), &["newer-version"]),
    (
        "a wrong last turn",
        |disk| replace(disk, META, "\"turnId\": 150", "\"turnId\": 151"),
        &["wrong-metadata"],
    ),
    (
        "a wrong total",
        |disk| replace(disk, META, "\"totalEvents\": 150", "\"totalEvents\": 7"),
        &["wrong-metadata"],
    ),
    (
        "a wrong number of changes",
        |disk| replace(disk, META, "\"deltasSinceSnapshot\": ", "\"deltasSinceSnapshot\": 9"),
        &["wrong-metadata"],
    ),
    (
        "a file that is not there",
        |disk| replace(disk, META, "snapshots/snapshot-0140.json", "snapshots/snapshot-0141.json"),
        &["missing-file", "wrong-metadata"],
    ),
    (
        "a file outside",
        |disk| replace(disk, META, "\"world.state.json\"", "\"../world.state.json\""),
        &["wrong-metadata"],
    ),
    (
        "a parent that is gone",
        |disk| {
            replace(
                disk,
                META,
                "\"version\"",
                "\"lineage\": {\"parent\": \"p\", \"turn\": 3}, \"version\"",
            );
        },
        &["missing-parent"],
    ),
    ("world gone", |disk| remove(disk, "world.state.json"), &["missing-file"]),
    (
        "world cut",
        |disk| edit(disk, "world.state.json", |text| text[..50].to_owned()),
        &["bad-document"],
    ),
    (
        "player cut",
        |disk| edit(disk, "player.state.json", |text| text[..50].to_owned()),
        &["bad-document"],
    ),
    (
        "world changed",
        |disk| replace(disk, "world.state.json", "\"clock\": 0", "\"clock\": 1"),
        &["state-differs"],
    ),
    (
        "player changed",
        |disk| replace(disk, "player.state.json", "zone-150", "zone-1"),
        &["state-differs"],
    ),
    (
        "current scene changed",
        |disk| replace(disk, "scenes/scene-002.json", "exploration", "x"),
        &["state-differs"],
    ),
    (
        "old scene changed",
        |disk| replace(disk, "scenes/scene-001.json", "exploration", "x"),
        &["scene-differs"],
    ),
    ("old scene gone", |disk| remove(disk, "scenes/scene-001.json"), &["scene-differs"]),
    (
        "old scene cut",
        |disk| edit(disk, "scenes/scene-001.json", |text| text[..9].to_owned()),
        &["bad-document"],
    ),
    (
        "turns of a scene",
        |disk| edit(disk, "scenes/scene-001.json", |text| text.replace("40\n", "4\n")),
        &["scene-differs", "scene-range"],
    ),
    (
        "a scene that never was",
        |disk| edit_line(disk, TURNS, 7, |line| line.replace("scene-001", "scene-009") + "\n"),
        &["missing-scene"],
    ),
    (
        "a bad line",
        |disk| edit_line(disk, TURNS, 7, |line| line[..40].to_owned() + "\n"),
        &["bad-line", "dangling-change", "missing-turns", "wrong-metadata"],
    ),
    (
        "a record of another kind",
        |disk| edit_line(disk, TURNS, 7, |line| format!("{line}\n{{\"type\":\"note\"}}\n")),
        &["bad-record"],
    ),
    ("glued records", |disk| edit_line(disk, TURNS, 7, str::to_owned), &["glued-records"]),
    (
        "a torn tail",
        |disk| edit(disk, CURRENT, |text| text[..text.len() - 9].to_owned()),
        &["dangling-change", "torn-tail", "wrong-metadata"],
    ),
    ("NUL bytes at the end", |disk| edit(disk, CURRENT, |text| text + "\0\0\0"), &["nul-tail"]),
    (
        "a turn twice",
        |disk| edit_line(disk, TURNS, 7, |line| format!("{line}\n{line}\n")),
        &["duplicate-turn", "wrong-metadata"],
    ),
    (
        "a turn missing",
        |disk| edit_line(disk, TURNS, 7, |_| String::new()),
        &["dangling-change", "missing-turns", "wrong-metadata"],
    ),
    (
        "turns in the wrong order",
        |disk| {
            let first = text(disk, TURNS).lines().next().unwrap().to_owned();
            edit(disk, TURNS, |text| text.split_once('\n').unwrap().1.to_owned());
            edit_line(disk, TURNS, 3, |line| format!("{line}\n{first}\n"));
        },
        &["turn-order"],
    ),
    (
        "numbers that start again",
        |disk| edit(disk, CURRENT, |own| own + &text(disk, TURNS)),
        &["duplicate-turn", "wrong-metadata", "wrong-range"],
    ),
    (
        "a name with another range",
        |disk| rename(disk, TURNS, "turns/turns-0001-0099.jsonl"),
        &["wrong-range"],
    ),
    (
        "a name with a longer range",
        |disk| rename(disk, TURNS, "turns/turns-0001-0105.jsonl"),
        &["file-overlap", "wrong-range"],
    ),
    (
        "changes in a file of another range",
        |disk| rename(disk, DELTAS, "deltas/deltas-0001-0099.jsonl"),
        &["wrong-range"],
    ),
    (
        "a file that is there twice",
        |disk| disk.put_file(&file("turns/turns-0001-0050.jsonl"), text(disk, TURNS).as_bytes()),
        &["duplicate-turn", "file-overlap", "wrong-metadata", "wrong-range"],
    ),
    (
        "a file of turns gone",
        |disk| remove(disk, TURNS),
        &["dangling-change", "missing-turns", "wrong-metadata"],
    ),
    (
        "an event twice",
        |disk| {
            edit_line(disk, TURNS, 7, |line| {
                line.replace(
                    "\"events\":[",
                    "\"events\":[{\"eventId\":\"abc123-7-1\",\"type\":\"x\"},",
                ) + "\n"
            });
        },
        &["duplicate-id", "wrong-metadata"],
    ),
    (
        "an event of another turn",
        |disk| edit_line(disk, TURNS, 7, |line| line.replace("abc123-7-1", "abc123-8-1") + "\n"),
        &["dangling-change", "wrong-id"],
    ),
    (
        "an event that does not exist",
        |disk| {
            edit_line(disk, DELTAS, 7, |line| {
                line.replace("\"eventId\":\"abc123-4-1", "\"eventId\":\"abc123-4-2") + "\n"
            });
        },
        &["dangling-change"],
    ),
    (
        "a change twice",
        |disk| edit_line(disk, DELTAS, 1, |line| format!("{line}\n{line}\n")),
        &["duplicate-id", "snapshot-differs", "snapshot-facts", "wrong-metadata"],
    ),
    (
        "a change with the id of another turn",
        |disk| {
            edit_line(disk, DELTAS, 1, |line| {
                line.replace("delta-abc123-1-1", "delta-abc123-2-1") + "\n"
            });
        },
        &["wrong-id"],
    ),
    (
        "a change of a turn that is not there",
        |disk| {
            edit(disk, "deltas/deltas-current.jsonl", |own| {
                own + "{\"deltaId\":\"delta-abc123-200-1\",\"turnId\":200,\"scope\":\"world\",\"deltas\":[]}\n"
            });
        },
        &["dangling-change"],
    ),
    (
        "a change missing",
        |disk| edit_line(disk, DELTAS, 3, |_| String::new()),
        &["bad-change", "snapshot-differs", "snapshot-facts", "wrong-metadata"],
    ),
    (
        "a change that is another one",
        |disk| edit_line(disk, DELTAS, 1, |line| line.replace("\"item-1\"", "\"item-x\"") + "\n"),
        &["snapshot-differs"],
    ),
    (
        "a change that does not fit",
        |disk| edit_line(disk, DELTAS, 1, |line| line.replace("\"inventory\"", "\"name\"") + "\n"),
        &["bad-change", "snapshot-differs"],
    ),
    (
        "changes in the wrong order",
        |disk| {
            let third = text(disk, DELTAS).lines().nth(3).unwrap().to_owned();
            edit_line(disk, DELTAS, 4, |_| String::new());
            edit_line(disk, DELTAS, 5, |line| format!("{line}\n{third}\n"));
        },
        &["turn-order"],
    ),
    (
        "a snapshot cut",
        |disk| edit(disk, "snapshots/snapshot-0140.json", |text| text[..500].to_owned()),
        &["bad-snapshot", "no-snapshot"],
    ),
    (
        "a snapshot changed",
        |disk| replace(disk, "snapshots/snapshot-0040.json", "\"clock\": 0", "\"clock\": 1"),
        &["bad-snapshot", "no-snapshot"],
    ),
    (
        "a snapshot of another turn",
        |disk| replace(disk, "snapshots/snapshot-0040.json", "\"turnId\": 40", "\"turnId\": 41"),
        &["bad-snapshot", "no-snapshot"],
    ),
    (
        "a snapshot of another session",
        |disk| replace(disk, "snapshots/snapshot-0040.json", "session-abc123", "session-x"),
        &["snapshot-facts"],
    ),
    (
        "a snapshot with another count",
        |disk| {
            edit(disk, "snapshots/snapshot-0040.json", |text| {
                text.replace("\"deltasAggregated\": ", "\"deltasAggregated\": 1")
            });
        },
        &["snapshot-facts"],
    ),
    ("a snapshot gone", |disk| remove(disk, "snapshots/snapshot-0040.json"), &["no-snapshot"]),
    (
        "the newest snapshot gone",
        |disk| remove(disk, "snapshots/snapshot-0140.json"),
        &["missing-file", "no-snapshot", "wrong-metadata"],
    ),
    (
        "all snapshots gone",
        |disk| {
            for turn in ["0000", "0040", "0140"] {
                remove(disk, &format!("snapshots/snapshot-{turn}.json"));
            }
        },
        &["missing-file", "no-snapshot"],
    ),
    (
        "an index that is no JSON",
        |disk| disk.put_file(&file("indexes/turn-index.json"), b"{"),
        &["stale-index"],
    ),
    (
        "an index with another total",
        |disk| {
            disk.put_file(
                &file("indexes/turn-index.json"),
                b"{\"sessionId\":\"session-abc123\",\"totalTurns\":3}",
            );
        },
        &["stale-index"],
    ),
    (
        "an index with a place that is shifted",
        |disk| replace(disk, "indexes/turn-index.json", "\"offset\": 1", "\"offset\": 2"),
        &["stale-index"],
    ),
    (
        "an index with a name that climbs",
        |disk| replace(disk, "indexes/delta-index.json", "\"deltas-0001", "\"../deltas-0001"),
        &["stale-index"],
    ),
    (
        "an index with another range",
        |disk| replace(disk, "indexes/turn-index.json", "[1, 100]", "[1, 101]"),
        &["stale-index"],
    ),
    (
        "an index of another session",
        |disk| {
            disk.put_file(
                &file("indexes/event-index.json"),
                b"{\"sessionId\":\"session-x\",\"totalEvents\":150}",
            );
        },
        &["stale-index"],
    ),
    ("an unknown file", |disk| disk.put_file(&file("notes.txt"), b"hello"), &["unknown-file"]),
    (
        "an unknown log",
        |disk| disk.put_file(&file("turns/turns-old.jsonl"), b"{}\n{\n"),
        &["bad-line", "unknown-file"],
    ),
    (
        "a large scene",
        |disk| {
            disk.put_file(
                &file("scenes/scene-009.json"),
                format!("{{\"sceneId\":\"{}\"}}", "x".repeat(60 << 10)).as_bytes(),
            );
        },
        &["size-over-target"],
    ),
    (
        "too large a scene",
        |disk| {
            disk.put_file(
                &file("scenes/scene-009.json"),
                format!("{{\"sceneId\":\"{}\"}}", "x".repeat(201 << 10)).as_bytes(),
            );
        },
        &["size-over-max"],
    ),
    (
        "a session twice",
        |disk| {
            for (path, bytes) in super::damage::files(disk) {
                let other = path.as_str().replace("/active/", "/completed/");
                disk.put_file(&super::damage::path(&other), &bytes);
            }
        },
        &["session-twice", "wrong-place"],
    ),
];
