//! The simulation of docs/scale.md: sessions spread over servers by a hash of their ID.

use everturn_json::checksum::checksum;

const SESSIONS: usize = 1_000_000;

/// A good hash of two checksums. A checksum of both texts together is not one: it is linear, so that the same sessions
/// prefer each server, and a new server takes the wrong number of them.
fn hash(one: u64, other: u64) -> u64 {
    let mix = |value: u64| {
        let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        value ^ (value >> 31)
    };
    mix(mix(one) ^ other)
}

/// The server with the highest hash of its name and the ID of the session.
fn server(servers: &[String], session: &str) -> usize {
    let id = checksum(&[session.as_bytes()]);
    let hash = |number: &usize| hash(checksum(&[servers[*number].as_bytes()]), id);
    (0..servers.len()).max_by_key(hash).unwrap()
}

#[test]
fn a_million_sessions_are_spread_evenly_and_few_move_to_a_new_server() {
    let names = |count: usize| (0..count).map(|n| format!("db{n}.example")).collect::<Vec<_>>();
    let (before, after) = (names(8), names(9));
    let (mut held, mut moved, mut between_old) = ([0_usize; 8], 0_usize, 0_usize);
    for number in 0..SESSIONS {
        let session = format!("session-{number:07}");
        let (old, new) = (server(&before, &session), server(&after, &session));
        held[old] += 1;
        moved += usize::from(old != new);
        between_old += usize::from(old != new && new != 8);
    }
    let (least, most) = (held.iter().min().unwrap(), held.iter().max().unwrap());
    println!(
        "8 servers hold {least} to {most} sessions; a ninth takes {moved}, {between_old} move elsewhere"
    );
    assert!(*least > 120_000 && *most < 130_000, "{held:?}");
    assert!((105_000..117_000).contains(&moved), "{moved}");
    assert_eq!(between_old, 0);
}
