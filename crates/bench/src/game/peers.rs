//! The peers: one file each, of the same shape, and their registry.

mod document;
mod everturn;
mod sqlite;
mod unflushed;

use super::peer::GamePeer;

/// Everything that is measured, in the order of the report.
pub(crate) static PEERS: &[GamePeer] = &[everturn::PEER, sqlite::PEER, document::PEER];
