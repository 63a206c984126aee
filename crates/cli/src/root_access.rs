//! [`RootAccess`]: the access that a command needs to a root.

/// The access that a command needs to a root.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum RootAccess {
    /// Nothing is ever written.
    Read,
    /// Pending commits are recovered.
    Write,
}
