//! Leases: one writer per scope, across machines, by the clock of the server.
//!
//! A lease is a row with a number that is never used again, its epoch. A commit checks in its own transaction that its
//! epochs are still there, and locks their rows. So a writer whose lease was taken over writes nothing, however long it
//! slept.

use std::collections::BTreeSet;

use everturn_json::names::FilePath;
use everturn_store::{OWN_DIR, StoreError};

use crate::connection::Connection;
use crate::entries::damaged;
use crate::error::Failure;

/// A lease that this process was given.
#[derive(Debug, Clone)]
pub(crate) struct Lease {
    pub(crate) scope: FilePath,
    pub(crate) epoch: i64,
    /// The request that took it; no other request has the same text.
    pub(crate) request: String,
}

/// The store that asks for leases.
pub(crate) struct LeaseHolder {
    /// Different for every open store.
    pub(crate) store: String,
    /// Shown to others.
    pub(crate) holder: String,
    pub(crate) seconds: f64,
}

/// Takes the leases of all scopes, or none of them. A request whose answer was lost can be sent again.
pub(crate) fn take(
    connection: &mut Connection,
    holder: &LeaseHolder,
    request: &str,
    scopes: &[FilePath],
) -> Result<Vec<Lease>, Failure> {
    let mut scopes = scopes.to_vec();
    scopes.sort();
    scopes.dedup();
    // Users know the session, not the internal directories where it is prepared.
    let is_own = |scope: &FilePath| scope.as_str().split('/').next() == Some(OWN_DIR);
    let known = scopes.iter().find(|scope| !is_own(scope)).cloned();
    connection.in_transaction("BEGIN", |connection| {
        // One process at a time looks for conflicts. Commits do not wait for it.
        let one_at_a_time =
            "SELECT pg_advisory_xact_lock(hashtext('everturn leases'), hashtext(current_schema()))";
        connection.run(one_at_a_time, &[])?;
        connection.run("DELETE FROM leases WHERE request = $1", &[&request])?;
        for scope in &scopes {
            if let Some(owner) = conflict(connection, scope)? {
                let reported = known.as_ref().filter(|_| is_own(scope)).unwrap_or(scope);
                return Err(StoreError::Busy { scope: reported.clone(), owner }.into());
            }
        }
        let insert = "INSERT INTO leases SELECT $1, nextval('epochs'), $2, $3, \
             clock_timestamp() + make_interval(secs => $4) RETURNING epoch";
        let mut leases = Vec::new();
        for scope in &scopes {
            let rows = connection
                .query(insert, &[&scope.as_str(), &request, &holder.holder, &holder.seconds])?;
            let row = rows
                .first()
                .ok_or_else(|| damaged(scope, "the lease was not written".to_owned()))?;
            leases.push(Lease {
                scope: scope.clone(),
                epoch: row.try_get(0)?,
                request: request.to_owned(),
            });
        }
        Ok(leases)
    })
}

/// Returns the holder of a lease at, above or below `scope`. Leases that have expired are removed, unless a commit still
/// runs under one of them.
fn conflict(connection: &mut Connection, scope: &FilePath) -> Result<Option<String>, Failure> {
    let above: Vec<FilePath> = scope.ancestors().chain([scope.clone()]).collect();
    let above: Vec<&str> = above.iter().map(FilePath::as_str).collect();
    let expired = "DELETE FROM leases WHERE epoch IN (SELECT epoch FROM leases \
         WHERE (scope = ANY($1) OR ($2 = '' OR scope > $2 || '/' AND scope < $2 || '0')) \
         AND expires < clock_timestamp() FOR UPDATE SKIP LOCKED)";
    let held = "SELECT holder FROM leases WHERE scope = ANY($1) OR ($2 = '' OR scope > $2 || '/' AND scope < $2 || '0') \
         LIMIT 1";
    connection.run(expired, &[&above, &scope.as_str()])?;
    let rows = connection.query(held, &[&above, &scope.as_str()])?;
    Ok(rows.first().map(|row| row.try_get(0)).transpose()?)
}

/// Returns the epochs of these leases that are still there. Until the end of the transaction they can be renewed, but
/// neither taken nor renumbered.
pub(crate) fn lock_held<'l>(
    connection: &mut Connection,
    leases: impl Iterator<Item = &'l Lease>,
) -> Result<BTreeSet<i64>, Failure> {
    let epochs: Vec<i64> = leases.map(|lease| lease.epoch).collect();
    let rows = connection.query(
        "SELECT epoch FROM leases WHERE epoch = ANY($1) ORDER BY epoch FOR KEY SHARE",
        &[&epochs],
    )?;
    Ok(rows.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?)
}

/// Gives the leases new epochs, so that a commit that was sent earlier no longer holds its leases. Waits until such a
/// commit has ended. Returns false if a lease was lost.
pub(crate) fn renumber(connection: &mut Connection, leases: &mut [Lease]) -> Result<bool, Failure> {
    let mut all = true;
    for lease in leases {
        let sql = "UPDATE leases SET epoch = nextval('epochs') WHERE request = $1 AND scope = $2 RETURNING epoch";
        match connection.query(sql, &[&lease.request, &lease.scope.as_str()])?.first() {
            Some(row) => lease.epoch = row.try_get(0)?,
            None => all = false,
        }
    }
    Ok(all)
}

/// Extends the leases of these requests. Does not wait for commits: they lock the number of a lease, not its expiry.
pub(crate) fn renew(
    connection: &mut Connection,
    holder: &LeaseHolder,
    requests: &[String],
) -> Result<u64, Failure> {
    let sql = "UPDATE leases SET expires = clock_timestamp() + make_interval(secs => $2) WHERE request = ANY($1)";
    connection.run(sql, &[&requests, &holder.seconds])
}

/// Ends leases. The transaction is flushed, and with it all earlier buffered commits.
pub(crate) fn release(connection: &mut Connection, leases: &[Lease]) -> Result<(), Failure> {
    let epochs: Vec<i64> = leases.iter().map(|lease| lease.epoch).collect();
    connection.in_transaction("BEGIN", |connection| {
        connection.run("DELETE FROM leases WHERE epoch = ANY($1)", &[&epochs])?;
        Ok(())
    })
}
