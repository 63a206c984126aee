//! The peers, one file each and all of the same form, and the registry of their rows.

mod everturn;
mod fjall;
mod raw;
mod redb;
mod sqlite;

use crate::peer::PeerRow;

/// All rows, in the order of the report.
pub(crate) static ROWS: &[&[PeerRow]] =
    &[raw::ROWS, sqlite::ROWS, redb::ROWS, fjall::ROWS, everturn::ROWS];
