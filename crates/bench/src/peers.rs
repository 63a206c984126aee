//! The peers: one file each, of the same shape, and the registry of their rows.

mod everturn;
mod fjall;
mod raw;
mod redb;
mod sqlite;

use crate::peer::PeerRow;

/// Every row that can be measured, in the order of the report.
pub(crate) static ROWS: &[&[PeerRow]] =
    &[raw::ROWS, sqlite::ROWS, redb::ROWS, fjall::ROWS, everturn::ROWS];
