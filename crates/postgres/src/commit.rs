//! The transaction of commits that arrive together.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use everturn_json::checksum::checksum;
use everturn_json::names::FilePath;
use everturn_store::{CheckedBatch, CommitReceipt, Durability, Step, StoreError, quarantine_dir};

use crate::connection::Connection;
use crate::entries::{self, Content, Entries, Entry, PIECE_BYTES};
use crate::error::Failure;
use crate::leases::{self, Lease};
use crate::plan::{Piece, Plan};

/// How often old rows of `changes` are removed, in commits. A commit is looked for within a minute, and listeners read
/// what they missed within days.
const FORGET_EVERY: i64 = 256;
const FORGET: &str = "DELETE FROM changes WHERE number IN (SELECT number FROM changes \
     WHERE made < clock_timestamp() - interval '7 days' ORDER BY made LIMIT 1024 FOR UPDATE SKIP LOCKED)";

/// A batch to commit. [`is_committed`] finds it by its ID.
pub(crate) struct CommitRequest {
    pub(crate) id: String,
    pub(crate) leases: Vec<Lease>,
    pub(crate) batch: Arc<CheckedBatch>,
    pub(crate) durability: Durability,
}

impl CommitRequest {
    /// The same request under new epochs.
    pub(crate) fn with_leases(&self, leases: Vec<Lease>) -> CommitRequest {
        let (id, batch) = (self.id.clone(), Arc::clone(&self.batch));
        CommitRequest { id, leases, batch, durability: self.durability }
    }
}

/// What became of a request, or would have become of it if only the answer to the `COMMIT` is missing.
pub(crate) type RequestOutcome = Result<CommitReceipt, StoreError>;

/// Commits the batches of different writers in one transaction. A batch that cannot be applied changes nothing, and does
/// not affect the others. After an error, `outcomes` is empty unless only the answer to the `COMMIT` is missing.
pub(crate) fn commit_group(
    connection: &mut Connection,
    requests: &[Arc<CommitRequest>],
    outcomes: &mut Vec<RequestOutcome>,
) -> Result<(), Failure> {
    let is_synced = requests.iter().any(|request| request.durability == Durability::Synced);
    let begin = match is_synced {
        true => "BEGIN; SET LOCAL idle_in_transaction_session_timeout = '15s'",
        false => {
            "BEGIN; SET LOCAL idle_in_transaction_session_timeout = '15s'; SET LOCAL synchronous_commit = off"
        }
    };
    connection.in_transaction(begin, |connection| {
        let (planned, plans) = plan_group(connection, requests)?;
        if !plans.is_empty() {
            write(connection, &plans)?;
            record(connection, &plans)?;
            if plans.iter().any(|(_, plan)| plan.number % FORGET_EVERY == 0) {
                connection.run(FORGET, &[])?;
            }
        }
        *outcomes = planned;
        Ok(())
    })
}

/// A request and the plan for its batch.
type PlannedRequest<'r> = (&'r CommitRequest, Plan);

/// Plans the batches; returns the outcome of each, and the plans of those that can be applied.
fn plan_group<'r>(
    connection: &mut Connection,
    requests: &'r [Arc<CommitRequest>],
) -> Result<(Vec<RequestOutcome>, Vec<PlannedRequest<'r>>), Failure> {
    let leases = requests.iter().flat_map(|request| &request.leases);
    let held = leases::lock_held(connection, leases)?;
    let numbers = next_numbers(connection, requests.len())?;
    let known = load(connection, requests)?;
    let (mut outcomes, mut plans) = (Vec::new(), Vec::new());
    for (request, number) in requests.iter().zip(numbers) {
        let lost = request.leases.iter().find(|lease| !held.contains(&lease.epoch));
        if let Some(lost) = lost {
            outcomes.push(Err(StoreError::LeaseLost { scope: lost.scope.clone() }));
            continue;
        }
        let before = entries_of(connection, &request.batch, &known)?;
        match plan_one(connection, request, Plan::new(before, number)) {
            Ok(plan) => {
                outcomes.push(Ok(plan.receipt.clone()));
                plans.push((&**request, plan));
            }
            Err(Failure::Store(error)) => outcomes.push(Err(error)),
            Err(failure) => return Err(failure),
        }
    }
    Ok((outcomes, plans))
}

fn plan_one(
    connection: &mut Connection,
    request: &CommitRequest,
    mut plan: Plan,
) -> Result<Plan, Failure> {
    for step in request.batch.steps() {
        plan.apply(step, &mut |file| entries::read(connection, file, 0..u64::MAX))?;
    }
    request.batch.complete(&mut plan.receipt);
    Ok(plan)
}

/// Returns whether the commit with this ID was made. Only a commit that has ended is seen.
pub(crate) fn is_committed(connection: &mut Connection, id: &str) -> Result<bool, Failure> {
    Ok(!connection.query("SELECT 1 FROM changes WHERE id = $1", &[&id])?.is_empty())
}

fn next_numbers(connection: &mut Connection, count: usize) -> Result<Vec<i64>, Failure> {
    let count = i64::try_from(count).unwrap_or(i64::MAX);
    let sql = "SELECT nextval('change_numbers') FROM generate_series(1, $1::bigint)";
    let rows = connection.query(sql, &[&count])?;
    Ok(rows.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?)
}

/// The names that a batch touches or depends on.
fn names_of(batch: &CheckedBatch) -> BTreeSet<FilePath> {
    let mut paths: BTreeSet<FilePath> = [quarantine_dir()].into();
    for path in batch.steps().iter().flat_map(Step::paths) {
        paths.extend(path.ancestors().chain([path.clone()]));
    }
    paths.extend(quarantine_dir().ancestors());
    paths
}

/// The entries that the batches touch or depend on, without those below renamed and removed directories.
fn load(connection: &mut Connection, requests: &[Arc<CommitRequest>]) -> Result<Entries, Failure> {
    let paths: BTreeSet<FilePath> =
        requests.iter().flat_map(|request| names_of(&request.batch)).collect();
    let names: Vec<&str> = paths.iter().map(FilePath::as_str).collect();
    let mut found = Entries::new();
    entries::load(connection, &names, &mut found)?;
    Ok(found)
}

/// The entries of one batch.
fn entries_of(
    connection: &mut Connection,
    batch: &CheckedBatch,
    known: &Entries,
) -> Result<Entries, Failure> {
    let names = names_of(batch);
    let own = names.into_iter().filter_map(|name| known.get(&name).cloned().map(|e| (name, e)));
    let mut found: Entries = own.collect();
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

fn write(connection: &mut Connection, plans: &[PlannedRequest<'_>]) -> Result<(), Failure> {
    let (mut dead, mut gone): (Vec<i64>, Vec<&str>) = (Vec::new(), Vec::new());
    let (mut pieces, mut merges): (Vec<&Piece>, Vec<(i64, i64)>) = (Vec::new(), Vec::new());
    for (_, plan) in plans {
        let live = contents(&plan.after);
        dead.extend(contents(&plan.before).difference(&live));
        let gone_here = plan.before.keys().filter(|path| !plan.after.contains_key(*path));
        gone.extend(gone_here.map(FilePath::as_str));
        pieces.extend(plan.pieces.iter().filter(|piece| live.contains(&piece.content)));
        merges.extend(plan.merges.iter().filter(|(content, _)| live.contains(content)));
    }
    if !dead.is_empty() {
        connection.run("DELETE FROM pieces WHERE content = ANY($1)", &[&dead])?;
    }
    if !gone.is_empty() {
        connection.run("DELETE FROM entries WHERE path = ANY($1)", &[&gone])?;
    }
    write_entries(connection, plans)?;
    write_pieces(connection, &pieces)?;
    for (content, start) in merges {
        merge(connection, content, start)?;
    }
    Ok(())
}

/// Writes the entries that are new or changed. A directory that another writer has created meanwhile stays.
fn write_entries(connection: &mut Connection, plans: &[PlannedRequest<'_>]) -> Result<(), Failure> {
    // Several batches may create the same directory.
    let mut changed = BTreeMap::new();
    for (_, plan) in plans {
        let is_changed =
            |(path, entry): &(&FilePath, &Entry)| plan.before.get(*path) != Some(*entry);
        changed.extend(plan.after.iter().filter(is_changed));
    }
    let changed: Vec<(&FilePath, &Entry)> = changed.into_iter().collect();
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
    let sql = "INSERT INTO entries SELECT changed.*, (floor(extract(epoch FROM now))::bigint << 32) | \
         (extract(microseconds FROM now)::bigint % 1000000 * 1000) \
         FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::boolean[], $6::boolean[], \
         $7::bigint[], $8::bigint[], $9::integer[]) AS changed, clock_timestamp() AS now \
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

/// Records the changes and notifies listeners when the transaction is committed.
fn record(connection: &mut Connection, plans: &[PlannedRequest<'_>]) -> Result<(), Failure> {
    let numbers: Vec<i64> = plans.iter().map(|(_, plan)| plan.number).collect();
    let ids: Vec<&str> = plans.iter().map(|(request, _)| request.id.as_str()).collect();
    // No path contains two slashes in a row.
    let paths = plans.iter().map(|(request, _)| {
        let paths = request.batch.steps().iter().flat_map(Step::paths).map(FilePath::as_str);
        paths.collect::<Vec<_>>().join("//")
    });
    let paths: Vec<String> = paths.collect();
    let sql = "WITH change AS (INSERT INTO changes (number, id, paths) \
         SELECT number, id, string_to_array(paths, '//') \
         FROM unnest($1::bigint[], $2::text[], $3::text[]) AS made (number, id, paths) RETURNING number) \
         SELECT pg_notify('everturn.' || current_schema(), number::text) FROM change";
    connection.query(sql, &[&numbers, &ids, &paths])?;
    Ok(())
}
