//! [`Workload`]: the turns that every peer saves, the same bytes on every machine and in every run.

use std::sync::Arc;

/// The seed of the pseudo-random words; the same seed gives the same bytes.
pub(crate) const SEED: u64 = 0x5eed;

/// The size of a turn record, a JSON line with its newline.
pub(crate) const TURN_BYTES: usize = 1200;

/// The number of delta records per turn.
pub(crate) const DELTAS_PER_TURN: usize = 6;

/// The number of bits of a delta's key that hold its position in the turn.
const DELTA_KEY_BITS: u32 = 8;

/// The size of a delta record, a JSON line with its newline.
pub(crate) const DELTA_BYTES: usize = 200;

/// The number of bytes passed to the peer to save one turn.
pub(crate) const SAVE_BYTES: usize = TURN_BYTES + DELTAS_PER_TURN * DELTA_BYTES;

const WORDS: [&str; 16] = [
    "lantern", "the", "river", "quietly", "a", "door", "opens", "toward", "old", "stone", "and",
    "Mira", "waits", "beneath", "cold", "stars",
];

/// One turn to save: a record and its deltas, each a JSON line that ends with a newline.
#[derive(Debug)]
pub(crate) struct WorkloadTurn {
    session: u32,
    number: u32,
    record: Vec<u8>,
    deltas: Vec<u8>,
}

impl WorkloadTurn {
    fn new(session: u32, number: u32) -> WorkloadTurn {
        let mut words = WordStream::new(session, number);
        let head = format!(
            r#"{{"turn":{number},"session":"sess-{session:04}","kind":"narration","speaker":"narrator","text":""#
        );
        let record = line(&head, TURN_BYTES, &mut words);
        let mut deltas = Vec::with_capacity(DELTAS_PER_TURN * DELTA_BYTES);
        for index in 0..DELTAS_PER_TURN {
            let head = format!(
                r#"{{"turn":{number},"session":"sess-{session:04}","delta":{index},"scope":"world","path":"npc.mira.mood","op":"set","new":""#
            );
            deltas.extend(line(&head, DELTA_BYTES, &mut words));
        }
        WorkloadTurn { session, number, record, deltas }
    }

    /// Returns a key that sorts by session, then by turn.
    pub(crate) fn key(&self) -> u64 {
        (u64::from(self.session) << 32) | u64::from(self.number)
    }

    /// Returns the turn record.
    pub(crate) fn record(&self) -> &[u8] {
        &self.record
    }

    /// Returns all delta records in sequence, as a file would hold them.
    pub(crate) fn delta_block(&self) -> &[u8] {
        &self.deltas
    }

    /// Returns the delta records, each with a key made of `turn`, which is the turn's own key or its number in the
    /// store, and the delta's position in the turn.
    pub(crate) fn deltas(&self, turn: u64) -> impl Iterator<Item = (u64, &[u8])> {
        let lines = self.deltas.split_inclusive(|&byte| byte == b'\n');
        ((turn << DELTA_KEY_BITS)..).zip(lines)
    }
}

/// Returns a JSON line of exactly `size` bytes that starts with `head` and ends with an open string value.
fn line(head: &str, size: usize, words: &mut WordStream) -> Vec<u8> {
    const TAIL: &str = "\"}\n";
    let mut text = head.to_owned();
    while text.len() < size {
        text.push_str(words.next_word());
        text.push(' ');
    }
    text.truncate(size - TAIL.len());
    text.push_str(TAIL);
    text.into_bytes()
}

/// An endless, repeatable sequence of words.
pub(crate) struct WordStream(u64);

impl WordStream {
    /// Returns the sequence for one turn of one session.
    pub(crate) fn new(session: u32, number: u32) -> WordStream {
        WordStream(SEED ^ (u64::from(session) << 32) ^ u64::from(number))
    }

    /// Returns the next word.
    pub(crate) fn next_word(&mut self) -> &'static str {
        // A Weyl sequence with a multiplicative mix: good enough for choosing words.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 31)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let [high, ..] = mixed.to_be_bytes();
        WORDS.get(usize::from(high) % WORDS.len()).copied().unwrap_or_default()
    }
}

/// The turns of all sessions of a scenario, created before the clock starts.
#[derive(Debug)]
pub(crate) struct Workload {
    sessions: Vec<Vec<Arc<WorkloadTurn>>>,
}

impl Workload {
    /// Creates `turns` turns for each of `sessions` sessions.
    pub(crate) fn new(sessions: u32, turns: u32) -> Workload {
        let session =
            |session| (0..turns).map(|n| Arc::new(WorkloadTurn::new(session, n))).collect();
        Workload { sessions: (0..sessions).map(session).collect() }
    }

    /// Returns the turns of each session, in the order in which they are saved.
    pub(crate) fn sessions(&self) -> &[Vec<Arc<WorkloadTurn>>] {
        &self.sessions
    }

    /// Returns the number of turns of all sessions together.
    pub(crate) fn turns(&self) -> usize {
        self.sessions.iter().map(Vec::len).sum()
    }

    /// Returns every record that the store must contain afterwards, sorted.
    pub(crate) fn records(&self) -> Vec<&[u8]> {
        let turns = || self.sessions.iter().flatten();
        let records = turns().map(|turn| turn.record());
        let deltas = turns().flat_map(|turn| turn.deltas(0).map(|(_, delta)| delta));
        let mut all: Vec<&[u8]> = records.chain(deltas).collect();
        all.sort_unstable();
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_record_is_one_json_line_of_the_stated_size() {
        let workload = Workload::new(2, 11);
        for turn in workload.sessions().iter().flatten() {
            assert_eq!(turn.record().len(), TURN_BYTES);
            assert_eq!(turn.record().iter().filter(|&&byte| byte == b'\n').count(), 1);
            let record: serde_json::Value = serde_json::from_slice(turn.record()).unwrap();
            assert_eq!(record["turn"], turn.number);
            assert_eq!(turn.deltas(0).count(), DELTAS_PER_TURN);
            for (index, (_, delta)) in turn.deltas(0).enumerate() {
                assert_eq!(delta.len(), DELTA_BYTES);
                let delta: serde_json::Value = serde_json::from_slice(delta).unwrap();
                assert_eq!(delta["delta"], index);
            }
        }
    }

    #[test]
    fn the_same_bytes_come_out_every_time() {
        assert_eq!(Workload::new(2, 3).records(), Workload::new(2, 3).records());
        let turn = WorkloadTurn::new(0, 0);
        let text = std::str::from_utf8(turn.record()).unwrap();
        assert!(text.contains(r#""text":"stone a and quietly Mira Mira old"#), "{text}");
    }

    #[test]
    fn no_two_records_and_no_two_keys_are_alike() {
        let workload = Workload::new(3, 300);
        let mut records = workload.records();
        assert_eq!(records.len(), 3 * 300 * (1 + DELTAS_PER_TURN));
        records.dedup();
        assert_eq!(records.len(), 3 * 300 * (1 + DELTAS_PER_TURN));

        let turns = || workload.sessions().iter().flatten();
        let keys: Vec<u64> = turns().map(|turn| turn.key()).collect();
        assert!(keys.is_sorted_by(|a, b| a < b));
        let keys: Vec<u64> =
            turns().flat_map(|turn| turn.deltas(turn.key()).map(|(key, _)| key)).collect();
        assert!(keys.is_sorted_by(|a, b| a < b));
    }
}
