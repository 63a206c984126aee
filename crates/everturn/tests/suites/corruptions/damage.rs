//! Ways in which a file gets damaged, chosen by dice.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::path::Path;

use everturn::disk::sim::SimDisk;
use everturn::names::FilePath;

/// Numbers that are the same in every run.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Dice {
        Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d_4c95_7f2d)
    }

    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`, which is not 0.
    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.roll() % end as u64).unwrap()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum How {
    Cut,
    Flip,
    Duplicate,
    Delete,
    Swap,
    Insert,
    Zero,
}

const ALL: [How; 7] =
    [How::Cut, How::Flip, How::Duplicate, How::Delete, How::Swap, How::Insert, How::Zero];

/// The page of a disk.
const PAGE: usize = 4096;

/// One damaged file.
pub(crate) struct Damage {
    how: How,
    file: FilePath,
    bytes: Vec<u8>,
    place: Range<usize>,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {:?} of {}", self.how, self.place, self.file)
    }
}

impl Damage {
    /// Damages one of the files; what it becomes is always another.
    pub(crate) fn choose(dice: &mut Dice, files: &BTreeMap<FilePath, Vec<u8>>) -> Damage {
        let files: Vec<_> = files.iter().filter(|(_, bytes)| !bytes.is_empty()).collect();
        loop {
            let how = ALL[dice.below(ALL.len())];
            let (file, before) = files[dice.below(files.len())];
            let (bytes, place) = changed(how, before, dice);
            if bytes != *before {
                return Damage { how, file: file.clone(), bytes, place };
            }
        }
    }

    pub(crate) fn strike(&self, disk: &SimDisk) {
        disk.put_file(&self.file, &self.bytes);
    }

    /// The same to a file in a directory, which is returned as it was.
    #[expect(clippy::disallowed_methods, reason = "damage asks nobody")]
    pub(crate) fn strike_real(&self, dir: &Path) -> Vec<u8> {
        let path = dir.join(self.file.as_str());
        let whole = std::fs::read(&path).unwrap();
        std::fs::write(&path, &self.bytes).unwrap();
        whole
    }

    #[expect(clippy::disallowed_methods, reason = "damage asks nobody")]
    pub(crate) fn heal_real(&self, dir: &Path, whole: &[u8]) {
        std::fs::write(dir.join(self.file.as_str()), whole).unwrap();
    }

    /// What is counted together.
    pub(crate) fn name(&self) -> String {
        format!("{:?} {}", self.how, self.file)
    }
}

fn changed(how: How, before: &[u8], dice: &mut Dice) -> (Vec<u8>, Range<usize>) {
    let one = range(before, dice);
    let mut bytes = before.to_vec();
    let place = match how {
        How::Cut => {
            let end = dice.below(before.len());
            bytes.truncate(end);
            end..before.len()
        }
        How::Flip => {
            let byte = dice.below(before.len());
            bytes[byte] ^= 1 << dice.below(8);
            byte..byte + 1
        }
        How::Duplicate => {
            let copy = before[one.clone()].to_vec();
            bytes.splice(one.end..one.end, copy);
            one
        }
        How::Delete => {
            bytes.drain(one.clone());
            one
        }
        How::Swap => {
            let other = range(before, dice);
            let (first, last) = if one.start <= other.start { (one, other) } else { (other, one) };
            let first = first.start..first.end.min(last.start);
            let (early, late) = (before[first.clone()].to_vec(), before[last.clone()].to_vec());
            bytes.splice(last.clone(), early);
            bytes.splice(first.clone(), late);
            first.start..last.end
        }
        How::Insert => {
            let new: Vec<u8> = (0..=dice.below(40)).map(|_| dice.roll().to_le_bytes()[0]).collect();
            bytes.splice(one.start..one.start, new);
            one.start..one.start
        }
        How::Zero => {
            let page = before.len().min(PAGE) / (1 + dice.below(8)) + 1;
            let start = dice.below(before.len());
            let end = (start + page).min(before.len());
            bytes[start..end].fill(0);
            start..end
        }
    };
    (bytes, place)
}

/// A part of a file: half of the time whole lines.
fn range(bytes: &[u8], dice: &mut Dice) -> Range<usize> {
    let (a, b) = (dice.below(bytes.len()), dice.below(bytes.len()));
    let (start, end) = (a.min(b), a.max(b) + 1);
    // Long parts would hide what short ones do.
    let end = end.min(start + 1 + dice.below(400));
    if dice.below(2) == 0 {
        return start..end;
    }
    let line =
        |at: usize| bytes[..at].iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
    let stop = bytes[end - 1..].iter().position(|&byte| byte == b'\n');
    line(start)..stop.map_or(bytes.len(), |at| end + at)
}
