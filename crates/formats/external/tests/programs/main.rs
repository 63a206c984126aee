//! Files that the real programs wrote, made small and anonymous: what is read from them is what the programs show.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod claude;
mod codex;
mod gemini;
mod opencode;
mod others;
mod support;
