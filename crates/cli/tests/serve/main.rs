//! `everturn serve` and `everturn mcp`, the real binary, attacked and used over raw sockets.

mod api;
mod client;
mod live;
mod mcp;
mod safety;
mod web;
