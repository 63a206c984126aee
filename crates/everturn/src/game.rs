//! Game sessions: turns, deltas, snapshots, scenes, and indexes over them.

#[cfg_attr(
    not(test),
    expect(dead_code, reason = "the sessions that keep indexes are not here yet")
)]
mod indexes;
