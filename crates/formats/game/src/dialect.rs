//! The two shapes in which game sessions come.

/// Which shape a session has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// The documented one: groups of changes with scopes and dotted paths, files that are renamed when they
    /// are full, metadata that say where the session stands. New sessions have this form.
    Spec,
    /// The one that the program behind it writes: one line per change with `target` and `operation`, files
    /// named after fixed hundreds of turns, a third state file, metadata without a position. The states are
    /// rewritten with every turn.
    Upstream,
}
