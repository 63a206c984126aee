//! What can go wrong: a [`Fault`] at an operation, and what a power cut leaves ([`Survival`]).

/// A fault at one operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault {
    /// The index of the change, counted from 0 since the disk was created; for [`FaultKind::ReadError`], of the read.
    pub at: u64,
    /// The kind of fault.
    pub kind: FaultKind,
    /// Whether it also happens at every later operation, as on a disk that stays full.
    pub lasting: bool,
}

/// The kind of a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultKind {
    /// The calling process stops there: this operation and all later ones of every process fail.
    Crash,
    /// The change fails with this OS error, and nothing is changed.
    Error(i32),
    /// Half of the bytes are written; changes other than writes fail as on a full disk.
    Short,
    /// The disk is full: operations that need more space fail, and all others succeed.
    Full,
    /// The flush fails, and the data it should have saved is lost; other changes fail with EIO.
    FlushLost,
    /// The read fails with this OS error.
    ReadError(i32),
}

/// What a power cut leaves of unflushed changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Survival {
    /// For the bytes written to files.
    pub data: DataSurvival,
    /// For names created, renamed and removed.
    pub names: NameSurvival,
}

/// What remains of unflushed bytes, for each file separately.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DataSurvival {
    /// Nothing.
    Lost,
    /// Everything.
    Kept,
    /// The first half of the writes, and half of the next.
    Prefix,
    /// Everything except a hole inside the last write.
    Hole,
    /// The last write alone: the system writes pages back in any order.
    Last,
    /// One of the above for each file, chosen by this seed.
    Mixed(u64),
}

/// What remains of unflushed changes to names; they survive in the order in which they were made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameSurvival {
    /// Nothing.
    Lost,
    /// Everything.
    Kept,
    /// The first half.
    Prefix,
}
