//! OpenCode 1.2 and later: a database instead of files.

use std::path::Path;

use rusqlite::Connection;

use crate::support::{format, golden, open, said, sessions, store_at, summary};

const MAIN: &str = "ses_e123f794";

#[expect(clippy::disallowed_methods, reason = "a recorded file is read")]
fn recorded(dir: &Path) -> Connection {
    let sql = std::fs::read_to_string(golden("opencode-1.18.33/opencode.sql")).unwrap();
    let connection = Connection::open(dir.join("opencode.db")).unwrap();
    connection.pragma_update(None, "journal_mode", "wal").unwrap();
    connection.execute_batch(&sql).unwrap();
    connection
}

const SAID: [&str; 9] = [
    "1 user: \"Say\"",
    "1 thinking: Which tool?",
    "1 assistant: I will look.",
    "1 tool_call: bash {\"command\":\"ls\",\"description\":\"Run echo\"}",
    "1 tool_result: one file\n",
    "1 assistant: It is done.",
    "2 user: \"Go on\"",
    "2 assistant: A helper can do this.",
    "2 assistant: It is done.",
];

#[test]
fn a_live_database_is_read_with_its_log() {
    let dir = tempfile::tempdir().unwrap();
    let connection = recorded(dir.path());
    assert!(dir.path().join("opencode.db-wal").exists(), "everything waits in the log");
    let (format, store) = (format("opencode"), store_at(dir.path()));
    let ids: Vec<String> = sessions(format, &store).into_iter().map(|found| found.id).collect();
    assert_eq!(ids, ["ses_e123a0743ffeidJlhzwKHYNOXy", "ses_e123f794effe4yK12sn5VsNFQb"]);
    let reader = open(format, &store, MAIN);
    let mut told = said(&*reader);
    told.retain(|line| !line.contains("task ") && !line.contains("<task "));
    assert_eq!(told, SAID);
    let spent = reader.usage().unwrap().total();
    assert_eq!((spent.answers, spent.input, spent.output, spent.cache_read), (4, 356, 100, 44));
    let shown = summary(format, &store, MAIN);
    assert_eq!((shown.title.as_str(), shown.turns), ("I will look.", Some(2)));
    let helper = summary(format, &store, "ses_e123a0");
    assert_eq!(helper.parent.as_deref(), Some("ses_e123f794effe4yK12sn5VsNFQb"));
    assert_eq!(helper.status.as_str(), "helper");
    drop(connection);
}

#[test]
fn the_newer_tables_win_and_older_sessions_stay() {
    let dir = tempfile::tempdir().unwrap();
    let connection = recorded(dir.path());
    connection
        .execute_batch(
            "CREATE TABLE session_v2 (id TEXT PRIMARY KEY, project_id TEXT, parent_id TEXT, directory TEXT, title TEXT,
               version TEXT, time_created INTEGER, time_updated INTEGER);
             INSERT INTO session_v2 VALUES ('ses_e123f794effe4yK12sn5VsNFQb', 'global', NULL, '/srv/app', 'Renamed',
               '2.0.0', 1794990180017, 1794990990000);
             INSERT INTO session_message VALUES
               ('msg_1', 'ses_e123f794effe4yK12sn5VsNFQb', 'user', 1, 1, 1, '{\"text\":\"Say\",\"time\":{\"created\":1794990180777}}'),
               ('msg_2', 'ses_e123f794effe4yK12sn5VsNFQb', 'model-switched', 2, 2, 2, '{\"model\":{\"id\":\"m\"}}'),
               ('msg_3', 'ses_e123f794effe4yK12sn5VsNFQb', 'assistant', 3, 3, 3, '{\"model\":{\"id\":\"m\",\"providerID\":\"p\"},
                 \"content\":[{\"type\":\"reasoning\",\"id\":\"r\",\"text\":\"Hm.\"},{\"type\":\"text\",\"id\":\"t\",\"text\":\"Look.\"},
                 {\"type\":\"tool\",\"id\":\"c1\",\"name\":\"bash\",\"state\":{\"status\":\"completed\",\"input\":{\"command\":\"ls\"},
                  \"content\":[{\"type\":\"text\",\"text\":\"a\"}],\"structured\":{}}}],
                 \"cost\":0.5,\"tokens\":{\"input\":7,\"output\":2,\"reasoning\":1,\"cache\":{\"read\":3,\"write\":0}}}'),
               ('msg_4', 'ses_e123f794effe4yK12sn5VsNFQb', 'shell', 4, 4, 4, '{\"callID\":\"c2\",\"command\":\"pwd\",\"output\":\"/srv\"}');",
        )
        .unwrap();
    let (format, store) = (format("opencode"), store_at(dir.path()));
    let reader = open(format, &store, MAIN);
    assert_eq!(
        said(&*reader),
        [
            "1 user: Say",
            "1 thinking: Hm.",
            "1 assistant: Look.",
            "1 tool_call: bash {\"command\":\"ls\"}",
            "1 tool_result: a",
            "1 tool_call: shell pwd",
            "1 tool_result: /srv",
        ]
    );
    let spent = reader.usage().unwrap().total();
    assert_eq!((spent.input, spent.output, spent.cost), (7, 3, Some(0.5)));
    assert_eq!(summary(format, &store, MAIN).title, "Renamed");
    // This one is only in the older tables.
    assert_eq!(said(&*open(format, &store, "ses_e123a0"))[0], "1 user: Do it");
    drop(connection);
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a damaged file is made")]
fn a_database_that_cannot_be_read_is_a_finding() {
    for (name, found) in [("opencode", "opencode.db"), ("goose", "sessions.db")] {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join(found), b"SQLite format 3\0 and then nothing").unwrap();
        let listing = format(name).locate(&store_at(dir.path())).unwrap();
        assert!(listing.sessions.is_empty());
        let files: Vec<String> = listing.findings.iter().map(|one| one.file.to_string()).collect();
        assert_eq!(files, [found], "{name}");
    }
    // A database of a version that has other tables.
    let dir = tempfile::tempdir().unwrap();
    let connection = Connection::open(dir.path().join("opencode.db")).unwrap();
    connection.execute_batch("CREATE TABLE session_v9 (id TEXT)").unwrap();
    drop(connection);
    let listing = format("opencode").locate(&store_at(dir.path())).unwrap();
    assert_eq!(listing.findings.len(), 1, "{:?}", listing.findings);
}

#[test]
fn a_database_cannot_make_its_reader_run_forever() {
    let dir = tempfile::tempdir().unwrap();
    let connection = Connection::open(dir.path().join("opencode.db")).unwrap();
    connection
        .execute_batch(
            "CREATE VIEW session AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)
               SELECT 'ses_' || i AS id FROM n;
             CREATE TABLE message (id TEXT, session_id TEXT, data TEXT);
             CREATE TABLE part (id TEXT, message_id TEXT, session_id TEXT, data TEXT);",
        )
        .unwrap();
    drop(connection);
    let listing = format("opencode").locate(&store_at(dir.path())).unwrap();
    assert!(listing.sessions.is_empty());
    assert_eq!(listing.findings.len(), 1, "{:?}", listing.findings);
}
