//! Everturn beside its peers, measured in one run.

fn main() {}
