//! [`Corpus`]: real text to search: the sources and documents of this project's dependencies, split into messages.
//!
//! Agent sessions are mostly code and tool output. Random words would be unfair to both engines, because real text
//! repeats itself.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crate::files;
use crate::peer::PeerError;

/// The extensions of text files.
const TEXT: [&str; 9] = ["rs", "md", "toml", "txt", "c", "h", "json", "js", "py"];

/// The maximum file size; larger files are tables of data.
const LARGEST: u64 = 1_000_000;

/// The approximate sizes of messages in bytes.
const LENGTHS: [usize; 4] = [400, 1200, 4000, 12_000];

/// The minimum count per megabyte of a frequent word, and the maximum total count of a rare one.
const FREQUENT: u64 = 100;
const RARE: u64 = 10;

/// Words that one of the engines treats as operators.
const OPERATORS: [&str; 4] = ["and", "or", "not", "near"];

/// A small random generator with a seed, so that runs can be repeated.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % (sides.max(1) as u64)).unwrap_or(0)
    }
}

/// Returns the text files below a directory, in a fixed order that mixes crates.
fn text_files(dir: &Path) -> Result<Vec<PathBuf>, PeerError> {
    let (mut found, mut dirs) = (Vec::new(), vec![dir.to_owned()]);
    while let Some(dir) = dirs.pop() {
        for path in files::entries(&dir)? {
            let is_text = path.extension().is_some_and(|end| TEXT.iter().any(|text| end == *text));
            match files::length(&path)? {
                None => dirs.push(path),
                Some(length) if is_text && length <= LARGEST => found.push(path),
                Some(_) => {}
            }
        }
    }
    found.sort();
    let mut dice = Dice(0x0dd_ba11);
    for at in (1..found.len()).rev() {
        found.swap(at, dice.roll(at + 1));
    }
    Ok(found)
}

/// A source of messages, with the frequency of each word.
pub(crate) struct Corpus {
    files: std::vec::IntoIter<PathBuf>,
    dice: Dice,
    /// The rest of the current file.
    rest: String,
    counts: HashMap<String, u64>,
    /// Some pairs of adjacent words.
    pairs: Vec<(String, String)>,
    /// The number of bytes so far.
    pub(crate) bytes: u64,
}

impl Corpus {
    /// Opens the text below a directory.
    pub(crate) fn open(dir: &Path) -> Result<Corpus, PeerError> {
        Ok(Corpus {
            files: text_files(dir)?.into_iter(),
            dice: Dice(0x5eed),
            rest: String::new(),
            counts: HashMap::new(),
            pairs: Vec::new(),
            bytes: 0,
        })
    }

    /// Returns the next message; `None` at the end of the text.
    pub(crate) fn next_message(&mut self) -> Option<String> {
        while self.rest.is_empty() {
            let bytes = files::read(&self.files.next()?).ok()?;
            self.rest = String::from_utf8(bytes).unwrap_or_default();
        }
        let length = LENGTHS.get(self.dice.roll(LENGTHS.len())).copied().unwrap_or(1);
        let end = self.rest.ceil_char_boundary(length);
        let after = self.rest.split_off(end);
        let message = std::mem::replace(&mut self.rest, after);
        self.bytes += message.len() as u64;
        self.count(&message);
        Some(message)
    }

    fn count(&mut self, message: &str) {
        let mut before: Option<String> = None;
        for word in message.split(|letter: char| !letter.is_alphanumeric()) {
            let is_plain = word.bytes().all(|letter| letter.is_ascii_lowercase());
            if word.len() < 2 || !is_plain || OPERATORS.contains(&word) {
                before = None;
                continue;
            }
            match self.counts.get_mut(word) {
                Some(count) => *count += 1,
                None => drop(self.counts.insert(word.to_owned(), 1)),
            }
            if let Some(before) = before.take().filter(|_| self.dice.roll(500) == 0) {
                self.pairs.push((before, word.to_owned()));
            }
            before = Some(word.to_owned());
        }
    }

    /// Returns `count` queries of each kind.
    pub(crate) fn queries(&self, count: usize) -> Vec<(&'static str, Vec<String>)> {
        let mut words: Vec<(&str, u64)> =
            self.counts.iter().map(|(word, count)| (word.as_str(), *count)).collect();
        words.sort_by(|(a, often), (b, other)| other.cmp(often).then(a.cmp(b)));
        let often = FREQUENT * (self.bytes / 1_000_000).max(1);
        let frequent = words.partition_point(|(_, count)| *count >= often);
        let rare = words.partition_point(|(_, count)| *count > RARE);
        let is_frequent =
            |word: &String| self.counts.get(word).is_some_and(|count| *count >= often);
        let phrases: Vec<&(String, String)> =
            self.pairs.iter().filter(|(a, b)| is_frequent(a) && is_frequent(b)).collect();
        let mut dice = Dice(0x0c0_ffee);
        let mut word = |from: usize, to: usize| {
            let at = from + dice.roll(to.saturating_sub(from));
            words.get(at).map_or_else(String::new, |(word, _)| (*word).to_owned())
        };
        let rare: Vec<String> = (0..count).map(|_| word(rare, words.len())).collect();
        let common: Vec<String> = (0..count).map(|_| word(0, 20)).collect();
        let two: Vec<String> = (0..count)
            .map(|_| format!("{} {}", word(20, frequent.max(40)), word(20, frequent.max(40))))
            .collect();
        let phrase = |number: usize| {
            let pair = phrases.get(number % phrases.len().max(1));
            pair.map_or_else(String::new, |(a, b)| format!("\"{a} {b}\""))
        };
        let phrase: Vec<String> = (0..count).map(phrase).collect();
        vec![("rare", rare), ("common", common), ("phrase", phrase), ("two words", two)]
    }
}
