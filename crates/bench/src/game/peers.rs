//! The peers, one file each and all of the same form, and their registry.

mod document;
mod everturn;
mod sqlite;
mod unflushed;

use super::peer::GamePeer;

/// All peers, in the order of the report.
pub(crate) static PEERS: &[GamePeer] = &[everturn::PEER, sqlite::PEER, document::PEER];
