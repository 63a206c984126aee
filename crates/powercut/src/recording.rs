//! [`Recording`], the [`Point`]s at which its power is cut, and the images that remain.

use std::sync::Arc;

use fastrand::Rng;

use crate::blocks::Blocks;
use crate::model::Model;
use crate::recorder::Record;

/// The operations of a disk and of the writers on it.
#[derive(Debug)]
pub(crate) struct Recording {
    /// The disk before the first record.
    pub(crate) first: Blocks,
    /// All writes and flushes.
    pub(crate) records: Vec<Record>,
    /// The models of the writers.
    pub(crate) models: Vec<Model>,
    /// The positions before and after each recovery.
    pub(crate) recoveries: Vec<(usize, usize)>,
    /// The device number of the file system.
    pub(crate) device_number: u64,
}

/// Which of the unflushed writes reach the disk.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Survivors {
    None,
    All,
    Few,
    Half,
    Most,
    Prefix,
    Suffix,
    /// Each sector of 512 bytes separately.
    Torn,
}

impl Survivors {
    const AFTER_ACKNOWLEDGEMENT: &'static [Survivors] = &[
        Survivors::None,
        Survivors::None,
        Survivors::None,
        Survivors::Few,
        Survivors::Half,
        Survivors::Suffix,
        Survivors::Torn,
    ];
    const ANYWHERE: &'static [Survivors] = &[
        Survivors::None,
        Survivors::All,
        Survivors::Few,
        Survivors::Half,
        Survivors::Most,
        Survivors::Prefix,
        Survivors::Suffix,
        Survivors::Torn,
    ];
}

/// A point at which the power is cut.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Point {
    /// The number of records issued before it.
    pub(crate) position: usize,
    /// Which of the unflushed writes reach the disk.
    pub(crate) survivors: Survivors,
    /// Determines everything else about the point.
    pub(crate) seed: u64,
}

/// Chooses points in a recording, in ascending order: right after acknowledgements, in recoveries, and anywhere.
pub(crate) fn choose_points(recording: &Recording, count: usize, rng: &mut Rng) -> Vec<Point> {
    let first = recording.models.iter().map(Model::ready).max().unwrap_or_default();
    let last = recording.records.len();
    let acknowledgements: Vec<usize> = recording
        .models
        .iter()
        .flat_map(Model::acknowledgements)
        .filter(|position| *position >= first)
        .collect();
    let recoveries: Vec<(usize, usize)> = recording
        .recoveries
        .iter()
        .copied()
        .filter(|(begun, ended)| *begun >= first && begun < ended)
        .collect();
    let mut points: Vec<Point> = (0..count)
        .map(|_| {
            let mut after_acknowledgement = false;
            let anywhere = rng.usize(first..=last);
            let position = match rng.u8(..100) {
                0..=34 => rng.choice(&acknowledgements).map_or(anywhere, |position| {
                    after_acknowledgement = true;
                    *position
                }),
                35..=69 => rng
                    .choice(&recoveries)
                    .map_or(anywhere, |&(begun, ended)| rng.usize(begun..=ended)),
                _ => anywhere,
            };
            let choices = if after_acknowledgement {
                Survivors::AFTER_ACKNOWLEDGEMENT
            } else {
                Survivors::ANYWHERE
            };
            let survivors = rng.choice(choices).copied().unwrap_or(Survivors::None);
            Point { position: position.min(last), survivors, seed: rng.u64(..) }
        })
        .collect();
    points.sort_by_key(|point| point.position);
    points
}

/// Makes crash images of ascending points: all writes before the last flush, and some of the later ones.
pub(crate) struct ImageMaker<'a> {
    records: &'a [Record],
    /// The disk after the last flush before `applied`.
    flushed: Blocks,
    applied: usize,
}

impl<'a> ImageMaker<'a> {
    /// Starts with the disk before these records.
    pub(crate) fn new(first: Blocks, records: &'a [Record]) -> ImageMaker<'a> {
        ImageMaker { records, flushed: first, applied: 0 }
    }

    /// Returns the disk after a power cut at `position`, which must not be before an earlier one.
    pub(crate) fn image(&mut self, position: usize, survivors: Survivors, rng: &mut Rng) -> Blocks {
        let issued = self.records.get(..position).unwrap_or(self.records);
        let is_flush = |record: &Record| matches!(record, Record::Flush);
        let flushed = issued.iter().rposition(is_flush).unwrap_or(0).max(self.applied);
        for record in issued.get(self.applied..flushed).unwrap_or_default() {
            apply(&mut self.flushed, record);
        }
        self.applied = flushed;
        let mut image = self.flushed.clone();
        let pending: Vec<(u64, &Arc<[u8]>)> = issued
            .get(flushed..)
            .unwrap_or_default()
            .iter()
            .filter_map(|record| match record {
                Record::Write { offset, bytes } => Some((*offset, bytes)),
                Record::Flush => None,
            })
            .collect();
        let border = rng.usize(..=pending.len());
        for (index, (offset, bytes)) in pending.into_iter().enumerate() {
            let survives = match survivors {
                Survivors::None => false,
                Survivors::All => true,
                Survivors::Few => rng.u8(..100) < 15,
                Survivors::Half => rng.bool(),
                Survivors::Most => rng.u8(..100) < 90,
                Survivors::Prefix => index < border,
                Survivors::Suffix => index >= border,
                Survivors::Torn => {
                    tear(&mut image, offset, bytes, rng);
                    false
                }
            };
            if survives {
                image.write(offset, bytes);
            }
        }
        image
    }
}

fn apply(blocks: &mut Blocks, record: &Record) {
    if let Record::Write { offset, bytes } = record {
        blocks.write(*offset, bytes);
    }
}

/// Writes none, all or some of the sectors.
fn tear(image: &mut Blocks, offset: u64, bytes: &[u8], rng: &mut Rng) {
    const SECTOR: usize = 512;
    let chance = rng.choice([0, 50, 100]).unwrap_or(50);
    let mut at = offset;
    for sector in bytes.chunks(SECTOR) {
        if rng.u8(..100) < chance {
            image.write(at, sector);
        }
        at += sector.len() as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(offset: u64, bytes: &[u8]) -> Record {
        Record::Write { offset, bytes: bytes.into() }
    }

    #[test]
    fn flushed_writes_always_survive_and_others_by_choice() {
        let records = [write(0, b"a"), Record::Flush, write(1, b"b"), write(2, b"c")];
        let image = |position, survivors| {
            let mut maker = ImageMaker::new(Blocks::default(), &records);
            maker.image(position, survivors, &mut Rng::with_seed(1)).read(0, 3)
        };
        assert_eq!(image(1, Survivors::None), b"\0\0\0");
        assert_eq!(image(2, Survivors::None), b"a\0\0");
        assert_eq!(image(4, Survivors::None), b"a\0\0");
        assert_eq!(image(3, Survivors::All), b"ab\0");
        assert_eq!(image(4, Survivors::All), b"abc");
    }

    #[test]
    fn images_of_ascending_points_are_those_of_single_points() {
        let records: Vec<Record> = (0..60)
            .map(|index| if index % 7 == 6 { Record::Flush } else { write(index % 5, &[1; 3]) })
            .collect();
        let mut maker = ImageMaker::new(Blocks::default(), &records);
        for position in 0..=records.len() {
            let seed = position as u64;
            let mut single = ImageMaker::new(Blocks::default(), &records);
            let expected = single.image(position, Survivors::Half, &mut Rng::with_seed(seed));
            let image = maker.image(position, Survivors::Half, &mut Rng::with_seed(seed));
            assert_eq!(image.read(0, 16), expected.read(0, 16), "at {position}");
        }
    }
}
