//! The two dialects of game sessions.

/// The dialect of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// The documented dialect: groups of changes with scopes and dotted paths, log files that are renamed when they are
    /// full, metadata with the current position. New sessions use it.
    Spec,
    /// The dialect of the upstream program: one line per change with `target` and `operation`, log files named after
    /// fixed hundreds of turns, a third state file, metadata without a position. The states are rewritten with every
    /// turn.
    Upstream,
}
