//! Files that are locked, truncated, half-written, or not databases at all.

use everturn_chatlog::chatlog_import::ImportError;
use rusqlite::Connection;
use tempfile::TempDir;

use crate::{BASE, Made, SCHEMA, at, read};

/// A database with enough messages to fill many pages.
fn long() -> Made {
    let made = Made::of(&[SCHEMA, BASE]);
    made.connection()
        .execute_batch(
            "with recursive n(i) as (select 1 union all select i + 1 from n where i < 400)
            insert into chat_messages (id, session_id, type, sender_name, content)
            select 'm' || i, 's1', 'narrator', 'N', 'text ' || i || hex(zeroblob(100)) from n",
        )
        .unwrap();
    made
}

#[test]
fn what_is_no_database_is_refused() {
    let check = |bytes: &[u8], expect: &str| {
        let dir = TempDir::new().unwrap();
        std::fs::write(dir.path().join("database.sqlite"), bytes).unwrap();
        let error = read(dir.path()).unwrap_err().to_string();
        assert!(error.contains(expect), "{error}");
    };
    check(b"", "the file is empty");
    check(b"hello", "it has no SQLite header");
    check(&[0; 4096], "it has no SQLite header");
    check(b"SQLite format 3\0", "its header is truncated");
    check(&[b"SQLite format 3\0", &[0xff; 4080][..]].concat(), "is not an SQLite database");
    let dir = TempDir::new().unwrap();
    assert!(matches!(read(dir.path()), Err(ImportError::Unreadable { .. })));
    std::fs::create_dir(dir.path().join("database.sqlite")).unwrap();
    assert!(matches!(read(dir.path()), Err(ImportError::Unreadable { .. })));
}

#[test]
fn a_locked_database_is_an_error_and_one_that_is_read_is_not() {
    let made = long();
    let other = made.connection();
    other.execute_batch("begin exclusive").unwrap();
    assert!(matches!(made.read(), Err(ImportError::Locked { .. })));
    other.execute_batch("rollback; begin; select count(*) from chat_messages").unwrap();
    assert_eq!(made.read().unwrap().report.tables["chat_messages"].read, 400);
    other.execute_batch("rollback; begin immediate").unwrap();
    assert_eq!(made.read().unwrap().report.tables["chat_messages"].read, 400);
}

#[test]
fn a_database_that_is_cut_off_is_read_as_far_as_it_goes_or_refused() {
    let whole = std::fs::read(long().path()).unwrap();
    let (mut refused, mut noted) = (0, 0);
    for end in (0..whole.len()).step_by(1024) {
        let dir = TempDir::new().unwrap();
        std::fs::write(dir.path().join("database.sqlite"), &whole[..end]).unwrap();
        match read(dir.path()) {
            Err(error) => {
                refused += 1;
                let words = error.to_string();
                assert!(words.contains("database.sqlite"), "{words}");
            }
            Ok(import) => {
                noted += 1;
                assert!(!import.report.notes.is_empty(), "cut at {end} and nothing noticed");
            }
        }
    }
    assert!(refused > 0 && noted > 0, "{refused} {noted}");
}

#[test]
fn flipped_bytes_never_make_reading_panic() {
    let whole = std::fs::read(long().path()).unwrap();
    for at in (0..whole.len()).step_by(1999) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0xff;
        let dir = TempDir::new().unwrap();
        std::fs::write(dir.path().join("database.sqlite"), bytes).unwrap();
        drop(read(dir.path()));
    }
}

#[test]
fn a_change_that_was_not_finished_is_rolled_back_in_memory() {
    let made = long();
    let writer = made.connection();
    writer
        .execute_batch("pragma cache_size = 5; begin immediate; update chat_messages set content = 'half done'")
        .unwrap();
    let killed = TempDir::new().unwrap();
    for name in ["database.sqlite", "database.sqlite-journal"] {
        std::fs::copy(made.dir.path().join(name), killed.path().join(name)).unwrap();
    }
    let naive = std::fs::read(killed.path().join("database.sqlite")).unwrap();
    let naive = String::from_utf8_lossy(&naive).matches("half done").count();
    assert!(naive > 0, "the change has not reached the file, so this shows nothing");
    let import = read(killed.path()).unwrap();
    assert_eq!(import.report.tables["chat_messages"].read, 400);
    assert!(import.logs[0].document.to_line().matches("half done").count() == 0);
    assert!(at(&import, &["messages", "0", "content", "text"]).starts_with("\"text 1"));
    assert!(import.report.notes.is_empty(), "{:?}", import.report.notes);
}

#[test]
fn a_database_in_write_ahead_mode_is_read_if_nothing_waits_beside_it() {
    let made = long();
    let writer = made.connection();
    writer.query_row("pragma journal_mode = wal", [], |row| row.get::<_, String>(0)).unwrap();
    writer.execute_batch("update chat_messages set content = 'new'").unwrap();
    assert!(matches!(made.read(), Err(ImportError::Waiting { .. })));
    drop(writer);
    assert_eq!(made.read().unwrap().report.tables["chat_messages"].read, 400);
    drop(Connection::open(made.path()).unwrap());
}
