//! One suite of checks for both disks.
