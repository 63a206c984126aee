//! The transaction of a commit.

use std::collections::BTreeSet;

use everturn_json::checksum::checksum;
use everturn_json::names::FilePath;
use everturn_store::{CheckedBatch, CommitReceipt, Durability, Step, quarantine_dir};

use crate::connection::Connection;
use crate::entries::{self, Content, Entries, PIECE_BYTES, damaged};
use crate::error::Failure;
use crate::leases::{self, Lease};
use crate::plan::{Piece, Plan};

/// Commits a batch under an ID by which [`is_committed`] finds it. `planned` is the receipt if only the answer to the
/// `COMMIT` is missing.
pub(crate) fn commit(
    connection: &mut Connection,
    leases: &[Lease],
    batch: &CheckedBatch,
    durability: Durability,
    id: &str,
    planned: &mut Option<CommitReceipt>,
) -> Result<CommitReceipt, Failure> {
    let begin = match durability {
        Durability::Synced => "BEGIN; SET LOCAL idle_in_transaction_session_timeout = '15s'",
        Durability::Buffered => {
            "BEGIN; SET LOCAL idle_in_transaction_session_timeout = '15s'; SET LOCAL synchronous_commit = off"
        }
    };
    connection.in_transaction(begin, |connection| {
        leases::check(connection, leases)?;
        let mut plan = Plan::new(load(connection, batch)?, next_number(connection)?);
        for step in batch.steps() {
            plan.apply(step, &mut |file| entries::read(connection, file, 0..u64::MAX))?;
        }
        batch.complete(&mut plan.receipt);
        write(connection, &plan)?;
        record(connection, batch, plan.number, id)?;
        *planned = Some(plan.receipt.clone());
        Ok(plan.receipt)
    })
}

/// Returns whether the commit with this ID was made. Only a commit that has ended is seen.
pub(crate) fn is_committed(connection: &mut Connection, id: &str) -> Result<bool, Failure> {
    Ok(!connection.query("SELECT 1 FROM changes WHERE id = $1", &[&id])?.is_empty())
}

fn next_number(connection: &mut Connection) -> Result<i64, Failure> {
    let rows = connection.query("SELECT nextval('change_numbers')", &[])?;
    let row = rows
        .first()
        .ok_or_else(|| damaged(&FilePath::root(), "no number for the change".to_owned()))?;
    Ok(row.try_get(0)?)
}

/// The entries that a batch touches or depends on.
fn load(connection: &mut Connection, batch: &CheckedBatch) -> Result<Entries, Failure> {
    let mut paths: BTreeSet<FilePath> = [quarantine_dir()].into();
    for path in batch.steps().iter().flat_map(Step::paths) {
        paths.extend(path.ancestors().chain([path.clone()]));
    }
    paths.extend(quarantine_dir().ancestors());
    let mut found = Entries::new();
    let names: Vec<&str> = paths.iter().map(FilePath::as_str).collect();
    entries::load(connection, &names, &mut found)?;
    for step in batch.steps() {
        if let Step::Rename { from: path, .. } | Step::Remove { path } = step {
            entries::load_below(connection, path, &mut found)?;
        }
    }
    Ok(found)
}

fn contents(entries: &Entries) -> BTreeSet<i64> {
    entries.values().filter_map(|entry| Some(entry.content.as_ref()?.id)).collect()
}

fn write(connection: &mut Connection, plan: &Plan) -> Result<(), Failure> {
    let live = contents(&plan.after);
    let dead: Vec<i64> = contents(&plan.before).difference(&live).copied().collect();
    if !dead.is_empty() {
        connection.run("DELETE FROM pieces WHERE content = ANY($1)", &[&dead])?;
    }
    let gone = plan.before.keys().filter(|path| !plan.after.contains_key(*path));
    let gone: Vec<&str> = gone.map(FilePath::as_str).collect();
    if !gone.is_empty() {
        connection.run("DELETE FROM entries WHERE path = ANY($1)", &[&gone])?;
    }
    write_entries(connection, plan)?;
    let pieces: Vec<&Piece> =
        plan.pieces.iter().filter(|piece| live.contains(&piece.content)).collect();
    write_pieces(connection, &pieces)?;
    let merges = plan.merges.iter().filter(|(content, _)| live.contains(content));
    for (content, start) in merges {
        merge(connection, *content, *start)?;
    }
    Ok(())
}

/// Writes the entries that are new or changed. A directory that another writer has created meanwhile stays.
fn write_entries(connection: &mut Connection, plan: &Plan) -> Result<(), Failure> {
    let changed: Vec<_> =
        plan.after.iter().filter(|(path, entry)| plan.before.get(*path) != Some(*entry)).collect();
    if changed.is_empty() {
        return Ok(());
    }
    let parents: Vec<FilePath> = changed.iter().filter_map(|(path, _)| path.parent()).collect();
    let parents: Vec<&str> = parents.iter().map(FilePath::as_str).collect();
    let paths: Vec<&str> = changed.iter().map(|(path, _)| path.as_str()).collect();
    let contents: Vec<Option<&Content>> =
        changed.iter().map(|(_, entry)| entry.content.as_ref()).collect();
    let number = |value: fn(&Content) -> i64| -> Vec<i64> {
        contents.iter().map(|content| content.map_or(0, value)).collect()
    };
    let flag = |value: fn(&Content) -> bool| -> Vec<bool> {
        contents.iter().map(|content| content.is_some_and(value)).collect()
    };
    let ids: Vec<Option<i64>> = contents.iter().map(|content| Some((*content)?.id)).collect();
    let sums: Vec<Option<i64>> = contents.iter().map(|content| (*content)?.sum).collect();
    let tail_pieces: Vec<i32> =
        contents.iter().map(|content| content.map_or(0, |c| c.tail_pieces)).collect();
    let sql = "INSERT INTO entries SELECT *, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint * 1000 FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], \
         $5::boolean[], $6::boolean[], $7::bigint[], $8::bigint[], $9::integer[]) \
         ON CONFLICT (path) DO UPDATE SET content = EXCLUDED.content, len = EXCLUDED.len, secret = EXCLUDED.secret, \
         open_tail = EXCLUDED.open_tail, sum = EXCLUDED.sum, tail_start = EXCLUDED.tail_start, \
         tail_pieces = EXCLUDED.tail_pieces, \
         modified = EXCLUDED.modified WHERE EXCLUDED.content IS NOT NULL";
    connection.run(
        sql,
        &[
            &paths,
            &parents,
            &ids,
            &number(|c| c.len),
            &flag(|c| c.secret),
            &flag(|c| c.open_tail),
            &sums,
            &number(|c| c.tail_start),
            &tail_pieces,
        ],
    )?;
    Ok(())
}

fn write_pieces(connection: &mut Connection, pieces: &[&Piece]) -> Result<(), Failure> {
    // Statements of bounded size: a parameter of the protocol is at most 1 GiB.
    for some in pieces.chunks(64) {
        let contents: Vec<i64> = some.iter().map(|piece| piece.content).collect();
        let starts: Vec<i64> = some.iter().map(|piece| piece.start).collect();
        let sums: Vec<i64> =
            some.iter().map(|piece| checksum(&[&piece.bytes]).cast_signed()).collect();
        let bytes: Vec<&[u8]> = some.iter().map(|piece| piece.bytes.as_slice()).collect();
        let sql = "INSERT INTO pieces SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bytea[])";
        connection.run(sql, &[&contents, &starts, &sums, &bytes])?;
    }
    Ok(())
}

/// Merges the pieces of a content from `start` on into larger ones.
fn merge(connection: &mut Connection, content: i64, start: i64) -> Result<(), Failure> {
    let sql =
        "SELECT start, sum, bytes FROM pieces WHERE content = $1 AND start >= $2 ORDER BY start";
    let mut bytes = Vec::new();
    for row in connection.query(sql, &[&content, &start])? {
        let piece: &[u8] = row.try_get(2)?;
        if checksum(&[piece]).cast_signed() != row.try_get::<_, i64>(1)? {
            // The damage stays where it is found when the file is read.
            return Ok(());
        }
        bytes.extend_from_slice(piece);
    }
    connection.run("DELETE FROM pieces WHERE content = $1 AND start >= $2", &[&content, &start])?;
    let mut at = start;
    let mut merged = Vec::new();
    for part in bytes.chunks(PIECE_BYTES) {
        merged.push(Piece { content, start: at, bytes: part.to_vec() });
        at += i64::try_from(part.len()).unwrap_or(0);
    }
    write_pieces(connection, &merged.iter().collect::<Vec<_>>())
}

/// Records the change and notifies listeners, who are told when the transaction is committed.
fn record(
    connection: &mut Connection,
    batch: &CheckedBatch,
    number: i64,
    id: &str,
) -> Result<(), Failure> {
    let paths: Vec<&str> =
        batch.steps().iter().flat_map(Step::paths).map(FilePath::as_str).collect();
    let sql = "WITH change AS (INSERT INTO changes (number, id, paths) VALUES ($1, $2, $3) RETURNING number) \
         SELECT pg_notify('everturn.' || current_schema(), number::text) FROM change";
    connection.query(sql, &[&number, &id, &paths])?;
    Ok(())
}
