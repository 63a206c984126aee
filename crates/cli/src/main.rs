//! The `everturn` command.

fn main() {}
