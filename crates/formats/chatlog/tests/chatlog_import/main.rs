//! Hand-made databases of the program, and their imports.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(clippy::disallowed_methods, reason = "databases are made and compared as files")]

mod damage;
mod odd;
mod whole;

use std::path::{Path, PathBuf};

use everturn_chatlog::chatlog_import::{self, DatabaseImport, ImportError};
use everturn_json::names::Name;
use everturn_value::tree::JsonTree;
use rusqlite::Connection;
use tempfile::TempDir;

/// The tables as the program creates them.
const SCHEMA: &str = "
    create table characters (id text primary key, name text not null,
        role text not null check (role in ('protagonist', 'npc', 'antagonist')), series text not null,
        data text not null, avatar blob, created_at timestamp not null default current_timestamp,
        modified_at timestamp not null default current_timestamp, is_favorite boolean not null default 0, folder text);
    create table lorebooks (id text primary key, title text not null, series text not null, data text not null,
        created_at timestamp not null default current_timestamp,
        modified_at timestamp not null default current_timestamp, is_favorite boolean not null default 0, folder text);
    create table support_tools (id text primary key, name text not null, type text not null, series text not null,
        data text not null, created_at timestamp not null default current_timestamp,
        modified_at timestamp not null default current_timestamp, is_favorite boolean not null default 0, folder text);
    create table chat_sessions (id text primary key, title text not null, series text not null,
        protagonist_id text not null references characters(id), lorebook_id text not null references lorebooks(id),
        created_at timestamp not null default current_timestamp,
        modified_at timestamp not null default current_timestamp, is_favorite boolean not null default 0, folder text,
        settings text not null);
    create table chat_messages (id text primary key,
        session_id text not null references chat_sessions(id) on delete cascade,
        type text not null check (type in ('system', 'narrator', 'protagonist', 'npc', 'ooc')),
        sender_id text references characters(id) on delete set null, sender_name text not null, content text not null,
        formatted_content text, timestamp timestamp not null default current_timestamp,
        is_edited boolean not null default 0, edit_history text, is_regenerated boolean not null default 0,
        regeneration_history text, metadata text);
    create index idx_chat_messages_timestamp on chat_messages(timestamp);
    create table tool_states (id text primary key,
        session_id text not null references chat_sessions(id) on delete cascade,
        tool_id text not null references support_tools(id) on delete cascade,
        message_id text references chat_messages(id) on delete set null, state text not null, changes text,
        timestamp timestamp not null default current_timestamp);
    create table session_tools (session_id text not null references chat_sessions(id) on delete cascade,
        tool_id text not null references support_tools(id) on delete cascade, is_active boolean not null default 1,
        ui_position text not null default 'sidebar', primary key (session_id, tool_id));
    create table bookmarks (id text primary key,
        session_id text not null references chat_sessions(id) on delete cascade, name text not null, description text,
        message_id text not null references chat_messages(id) on delete cascade,
        timestamp timestamp not null default current_timestamp);
    create table bookmark_tool_states (bookmark_id text not null references bookmarks(id) on delete cascade,
        tool_state_id text not null references tool_states(id) on delete cascade,
        primary key (bookmark_id, tool_state_id));
    create table narrative_markers (id text primary key,
        session_id text not null references chat_sessions(id) on delete cascade,
        type text not null check (type in ('chapter', 'scene', 'event', 'decision')), name text not null,
        description text, message_id text not null references chat_messages(id) on delete cascade,
        timestamp timestamp not null default current_timestamp);
    create table settings (key text primary key, value text not null, category text not null);
    create table api_keys (service text primary key, encrypted_key blob not null);";

/// The rows that every session needs.
const BASE: &str = r#"
    insert into characters values ('char-1', 'Subaru', 'protagonist', 'Re:Zero', '{"version":"1.0","type":"character",
        "metadata":{"id":"char-1","created":"2023-05-01T00:00:00.000Z","series":"Re:Zero"},
        "character":{"name":"Subaru","role":"protagonist","description":"A shut-in."}}', null,
        '2023-05-01 00:00:00', '2023-05-02 00:00:00', 1, 'heroes');
    insert into lorebooks values ('lore-1', 'Lugnica', 'Re:Zero', '{"type":"lorebook","world":{"overview":"Dragons."}}',
        '2023-05-01 00:00:00', '2023-05-01 00:00:00', 0, null);
    insert into support_tools values ('tool-1', 'Tracker', 'tracker', 'Re:Zero', '{"components":[{"id":"deaths"}]}',
        '2023-05-01 00:00:00', '2023-05-01 00:00:00', 0, null);
    insert into chat_sessions values ('s1', 'Arrival', 'Re:Zero', 'char-1', 'lore-1', '2023-05-18 12:00:00',
        '2023-05-18 14:30:00', 0, null, '{"model":"gemini-pro","temperature":0.70}');
    insert into settings values ('theme', 'dark', 'ui');
    insert into api_keys values ('gemini', 'c2VjcmV0');"#;

/// A database in a directory of its own.
struct Made {
    dir: TempDir,
}

impl Made {
    /// A database made by these statements.
    fn of(statements: &[&str]) -> Made {
        let made = Made { dir: TempDir::new().unwrap() };
        let connection = made.connection();
        for statement in statements {
            connection.execute_batch(statement).unwrap();
        }
        made
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join("database.sqlite")
    }

    fn connection(&self) -> Connection {
        Connection::open(self.path()).unwrap()
    }

    fn read(&self) -> Result<DatabaseImport, ImportError> {
        read(self.dir.path())
    }
}

/// Reads a database, and checks that no file beside it changes and that all rows are accounted for.
fn read(dir: &Path) -> Result<DatabaseImport, ImportError> {
    let before = files(dir);
    let import = chatlog_import::read(dir, &Name::parse("database.sqlite").unwrap());
    assert!(files(dir) == before, "reading has changed the files");
    if let Ok(import) = &import {
        for (table, tally) in &import.report.tables {
            let accounted = tally.kept + tally.repaired + tally.set_aside;
            assert_eq!(tally.read, accounted, "{table}: {tally:?}");
        }
    }
    import
}

fn files(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files: Vec<_> = std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.clone(), std::fs::read(&path).unwrap_or_default()))
        .collect();
    files.sort();
    files
}

/// The text of a value in the first chat log.
#[track_caller]
fn at(import: &DatabaseImport, path: &[&str]) -> String {
    let log = &import.logs.first().unwrap().document;
    log.text_at(path).unwrap_or_else(|| format!("nothing at {path:?}"))
}

fn texts(list: Option<JsonTree>, key: &str) -> Vec<String> {
    let children = list.unwrap().children();
    children.iter().map(|(_, value)| value.string_at(&[key]).unwrap()).collect()
}

fn has_note(import: &DatabaseImport, expect: &str) -> bool {
    import.report.notes.iter().any(|note| note.what.contains(expect))
}
