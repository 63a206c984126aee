//! `everturn serve` and `everturn mcp`, the real binary, attacked and used over raw sockets.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    clippy::needless_pass_by_value,
    reason = "a test fails by panicking, and prepares files itself"
)]

mod answers;
mod api;
mod client;
mod live;
mod load;
mod mcp;
mod more;
mod safety;
mod web;
