//! [`SessionStatus`]: where a session is in its lifecycle.

use std::fmt;

/// Where a session is in its lifecycle, in the terms of its format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionStatus {
    /// It can be appended to.
    Active,
    /// It waits to be resumed.
    Paused,
    /// It is complete.
    Completed,
    /// It is packed into one file, or archived by its program.
    Archived,
    /// The story of the campaign has ended.
    Ended,
    /// A helper of an agent worked in it, on behalf of another session.
    Delegate,
    /// It cannot be read.
    Unknown,
    /// A status that another program has written.
    Other(String),
}

impl SessionStatus {
    /// The status of this name.
    #[must_use]
    pub fn parse(name: &str) -> SessionStatus {
        match name {
            "active" => SessionStatus::Active,
            "paused" => SessionStatus::Paused,
            "completed" => SessionStatus::Completed,
            "archived" => SessionStatus::Archived,
            "ended" => SessionStatus::Ended,
            "helper" => SessionStatus::Delegate,
            "unknown" => SessionStatus::Unknown,
            other => SessionStatus::Other(other.to_owned()),
        }
    }

    /// Its name, as lists and JSON show it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            SessionStatus::Active => "active",
            SessionStatus::Paused => "paused",
            SessionStatus::Completed => "completed",
            SessionStatus::Archived => "archived",
            SessionStatus::Ended => "ended",
            SessionStatus::Delegate => "helper",
            SessionStatus::Unknown => "unknown",
            SessionStatus::Other(name) => name,
        }
    }
}

impl fmt::Display for SessionStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_kept() {
        for name in
            ["active", "paused", "completed", "archived", "ended", "helper", "unknown", "odd", ""]
        {
            assert_eq!(SessionStatus::parse(name).as_str(), name);
            assert_eq!(format!("{:9}|", SessionStatus::parse(name)), format!("{name:9}|"));
        }
    }
}
