//! Batches of steps, valid and invalid, that often conflict.

use everturn_json::names::FilePath;
use everturn_store::disk::sim::{DataSurvival, FaultKind, NameSurvival, Survival};
use everturn_store::{AppendAt, Durability, FileMode, Fingerprint, Precondition, Step};

use super::random::Random;
use crate::support::{Files, path};

pub(crate) const SCOPES: &[&str] = &["a", "b", "c/x", "c/y"];
const NAMES: &[&str] = &["log", "log2", "state", "d", "d/log", "d/state", "d/e/log", "n/log"];

/// Creates batches, each with unique content.
pub(crate) struct Maker {
    count: u64,
}

impl Maker {
    pub(crate) fn new() -> Maker {
        Maker { count: 0 }
    }

    pub(crate) fn line(&mut self, random: &mut Random, who: &str) -> Vec<u8> {
        self.count += 1;
        let padding = if random.once_in(12) { random.below(3000) } else { random.below(20) };
        format!("{{\"{who}\":{},\"p\":\"{}\"}}\n", self.count, "x".repeat(padding)).into_bytes()
    }

    fn content(&mut self, random: &mut Random) -> Vec<u8> {
        let mut line = self.line(random, "state");
        match random.below(8) {
            0 => Vec::new(),
            1 => line[..line.len() / 2].to_vec(),
            2 | 3 => {
                line.pop();
                line
            }
            4 => [line, self.line(random, "state")].concat(),
            _ => line,
        }
    }

    pub(crate) fn batch(
        &mut self,
        random: &mut Random,
        scopes: &[FilePath],
        now: &Files,
    ) -> Vec<Step> {
        let count = if random.once_in(30) { 0 } else { 1 + random.below(4) };
        (0..count).map(|_| self.step(random, scopes, now)).collect()
    }

    fn place(random: &mut Random, scopes: &[FilePath]) -> FilePath {
        if random.once_in(60) {
            return path(random.pick::<&str>(&["", "z", ".everturn/x", "c"]));
        }
        let scope = random.pick(scopes);
        if random.once_in(25) {
            return scope.clone();
        }
        path(&format!("{}/{}", scope.as_str(), random.pick(NAMES)))
    }

    fn step(&mut self, random: &mut Random, scopes: &[FilePath], now: &Files) -> Step {
        let file = Self::place(random, scopes);
        let known = now.get(&file);
        match random.below(12) {
            0..=5 => {
                let mut lines = self.line(random, "n");
                if random.once_in(6) {
                    lines.extend(self.line(random, "n"));
                }
                if random.once_in(60) {
                    lines.pop();
                }
                let end = known.map_or(0, |bytes| bytes.len() as u64);
                let at = match random.below(8) {
                    0 => AppendAt::Offset(end),
                    1 if random.once_in(4) => AppendAt::Offset(end + 1),
                    _ => AppendAt::End,
                };
                Step::Append { file, at, lines }
            }
            6..=8 => {
                let expect = match random.below(6) {
                    0 => Precondition::Absent,
                    1 => Precondition::Content(Fingerprint::of(known.map_or(b"?", |b| b))),
                    _ => Precondition::Anything,
                };
                let mode = if random.once_in(6) { FileMode::OwnerOnly } else { FileMode::Default };
                Step::Replace { file, expect, bytes: self.content(random), mode }
            }
            9 | 10 => Step::Rename { from: file, to: Self::place(random, scopes) },
            _ => Step::Remove { path: file },
        }
    }
}

pub(crate) fn durability(random: &mut Random) -> Durability {
    if random.once_in(3) { Durability::Synced } else { Durability::Buffered }
}

pub(crate) fn survival(random: &mut Random) -> Survival {
    let data = [
        DataSurvival::Lost,
        DataSurvival::Kept,
        DataSurvival::Prefix,
        DataSurvival::Hole,
        DataSurvival::Last,
        DataSurvival::Mixed(random.next()),
    ];
    let names = [NameSurvival::Lost, NameSurvival::Kept, NameSurvival::Prefix];
    Survival { data: *random.pick(&data), names: *random.pick(&names) }
}

pub(crate) fn trouble(random: &mut Random) -> FaultKind {
    let troubles = [
        FaultKind::Error(5),
        FaultKind::Error(13),
        FaultKind::Error(28),
        FaultKind::Short,
        FaultKind::FlushLost,
        FaultKind::ReadError(5),
        FaultKind::ReadError(13),
    ];
    *random.pick(&troubles)
}
