//! The least that a server of sessions can be: two routes over axum and SQLite, with a flush per turn. `tests/serve/load.mjs`
//! measures it beside the real server. It has no login, no limits, no live events and no recovery of its own.

use std::error::Error;
use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::routing::{get, post};
use rusqlite::Connection;
use serde_json::{Value, json};

type Shared = Arc<Mutex<Connection>>;

fn entries(connection: &Connection, session: i64) -> rusqlite::Result<Vec<Value>> {
    let sql = "SELECT turn, data FROM turns WHERE session = ?1 ORDER BY turn DESC LIMIT 5";
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map([session], |row| {
        Ok(json!({"turn": row.get::<_, i64>(0)?, "text": row.get::<_, String>(1)?}))
    })?;
    rows.collect()
}

fn append(connection: &mut Connection, session: i64, data: &Value) -> rusqlite::Result<i64> {
    let transaction = connection.transaction()?;
    let turn: i64 = transaction.query_row(
        "SELECT COALESCE(MAX(turn), 0) + 1 FROM turns WHERE session = ?1",
        [session],
        |row| row.get(0),
    )?;
    let sql = "INSERT INTO turns (session, turn, data) VALUES (?1, ?2, ?3)";
    transaction.execute(sql, (session, turn, data.to_string()))?;
    transaction.commit()?;
    Ok(turn)
}

/// Runs work with the database on a thread that may wait.
async fn work(
    shared: Shared,
    work: impl FnOnce(&mut Connection) -> rusqlite::Result<Value> + Send + 'static,
) -> Result<String, StatusCode> {
    let done = tokio::task::spawn_blocking(move || {
        work(&mut shared.lock().unwrap_or_else(PoisonError::into_inner))
    });
    let failed = StatusCode::INTERNAL_SERVER_ERROR;
    done.await.map_err(|_| failed)?.map(|value| value.to_string()).map_err(|_| failed)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let file = std::env::args().nth(1).ok_or("usage: minimal DATABASE")?;
    let connection = Connection::open(file)?;
    connection.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
         CREATE TABLE turns (session INTEGER, turn INTEGER, data TEXT, PRIMARY KEY (session, turn));",
    )?;
    let shared: Shared = Arc::new(Mutex::new(connection));
    let read = |State(shared): State<Shared>, Path(session): Path<i64>| {
        work(shared, move |connection| Ok(json!({"entries": entries(connection, session)?})))
    };
    let write = |State(shared): State<Shared>, Path(session): Path<i64>, body: String| {
        let body: Value = serde_json::from_str(&body).unwrap_or_default();
        work(shared, move |connection| Ok(json!({"turn": append(connection, session, &body)?})))
    };
    let router = Router::new()
        .route("/sessions/{session}/entries", get(read))
        .route("/sessions/{session}/append", post(write))
        .with_state(shared);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let mut out = std::io::stdout();
    writeln!(out, "http://{}", listener.local_addr()?)?;
    out.flush()?;
    axum::serve(listener, router).await?;
    Ok(())
}
