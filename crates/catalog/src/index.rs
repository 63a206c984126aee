//! The full-text index: its fields, and opening it so that damage is seen before it can give wrong answers.
//!
//! The index stores words, and where they stand; texts are read from the sessions again. Each file of it ends with a
//! checksum, which is looked at whenever the file is not known by its stamp. An index that is damaged, or was made by
//! another version, is thrown away and made again.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use tantivy::index::{SegmentComponent, SegmentMeta};
use tantivy::schema::{
    FAST, Field, INDEXED, IndexRecordOption, NumericOptions, Schema, TextFieldIndexing, TextOptions,
};
use tantivy::store::Compressor;
use tantivy::tokenizer::TextAnalyzer;
use tantivy::{Index, IndexSettings, TantivyError};

use crate::codec::{Decoder, Encoder, sum};
use crate::error::{CatalogError, chain};
use crate::files::{Directory, Stamp};
use crate::ledger::Ledger;
use crate::parts::{NameSplitter, PartSplitter};
use crate::sealed::{Access, Sealed};
use crate::words::Splitter;

/// The directory of the index.
pub(crate) const INDEX: &str = "index";

/// Which files of the index were found to be good, by their stamps.
const GOOD: &str = "good";
const GOOD_NAME: &str = "everturn good files 1";

/// How the names of ledgers begin.
const LEDGER: &str = "ledger-";

/// What a commit of the index says about itself, before the name and the checksum of its ledger.
const VERSION: &str = "everturn 2";

/// How texts are split into words, into parts of words, and names into both.
const WORDS: &str = "words";
const PARTS: &str = "parts";
const NAMES: &str = "names";

/// The time of an entry of which nothing is known.
pub(crate) const UNKNOWN_TIME: i64 = i64::MIN;

/// What is stored of each entry.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fields {
    pub(crate) text: Field,
    /// The parts of the words of the text.
    pub(crate) parts: Field,
    pub(crate) speaker: Field,
    pub(crate) kind: Field,
    /// The number of the session.
    pub(crate) session: Field,
    /// Which of its branches, counted from 1; 0 is the main line.
    pub(crate) branch: Field,
    pub(crate) turn: Field,
    pub(crate) seq: Field,
    /// Microseconds since 1970, or [`UNKNOWN_TIME`].
    pub(crate) time: Field,
}

fn schema() -> (Schema, Fields) {
    let mut schema = Schema::builder();
    let split = |splitter: &str, record: IndexRecordOption, by_length: bool| {
        let indexing = TextFieldIndexing::default().set_tokenizer(splitter);
        let indexing = indexing.set_index_option(record).set_fieldnorms(by_length);
        TextOptions::default().set_indexing_options(indexing)
    };
    let (basic, placed) = (IndexRecordOption::Basic, IndexRecordOption::WithFreqsAndPositions);
    let fast: NumericOptions = FAST.into();
    let fields = Fields {
        text: schema.add_text_field("text", split(WORDS, placed, true)),
        parts: schema.add_text_field("parts", split(PARTS, placed, false)),
        speaker: schema.add_text_field("speaker", split(NAMES, basic, false)),
        kind: schema.add_text_field("kind", split("raw", basic, false)),
        session: schema.add_u64_field("session", INDEXED | FAST),
        branch: schema.add_u64_field("branch", fast.clone()),
        turn: schema.add_u64_field("turn", fast.clone()),
        seq: schema.add_u64_field("seq", fast.clone()),
        time: schema.add_i64_field("time", fast),
    };
    (schema.build(), fields)
}

/// An index that is open, with what is in it.
pub(crate) struct Opened {
    pub(crate) index: Index,
    pub(crate) fields: Fields,
    pub(crate) ledger: Ledger,
}

impl Opened {
    fn with(index: Index, fields: Fields, ledger: Ledger) -> Opened {
        index.tokenizers().register(WORDS, TextAnalyzer::from(Splitter));
        index.tokenizers().register(PARTS, TextAnalyzer::from(PartSplitter));
        index.tokenizers().register(NAMES, TextAnalyzer::from(NameSplitter));
        Opened { index, fields, ledger }
    }

    /// Opens the index as it is.
    pub(crate) fn open(dir: &Directory, access: Access) -> Result<Opened, CatalogError> {
        let (wanted, fields) = schema();
        let index = Index::open(Sealed::open(&dir.path(INDEX), access)?)?;
        if index.schema() != wanted {
            return Err(CatalogError::Damaged("it was made by another version"));
        }
        let meta = index.load_metas()?;
        let ledger = match &meta.payload {
            Some(payload) => ledger_of(dir, payload)?,
            None if meta.segments.is_empty() => Ledger::default(),
            None => return Err(CatalogError::Damaged("it does not say what is in it")),
        };
        verify(dir, &index, access)?;
        Ok(Opened::with(index, fields, ledger))
    }

    /// Makes an index in place of whatever is there.
    pub(crate) fn create(dir: &Directory) -> Result<Opened, CatalogError> {
        for name in dir.names("")?.into_iter().filter(|name| name.starts_with(LEDGER)) {
            dir.remove(&name)?;
        }
        dir.remove(GOOD)?;
        dir.remove(INDEX)?;
        let path = dir.make(INDEX)?;
        let (schema, fields) = schema();
        let settings =
            IndexSettings { docstore_compression: Compressor::None, ..IndexSettings::default() };
        let files = Sealed::open(&path, Access::Write)?;
        let index = Index::create(files, schema, settings)?;
        Ok(Opened::with(index, fields, Ledger::default()))
    }

    /// Opens the index for writing; one that is damaged is made anew, and why is said.
    pub(crate) fn open_or_create(
        dir: &Directory,
    ) -> Result<(Opened, Option<String>), CatalogError> {
        dir.sweep()?;
        if !dir.path(INDEX).join("meta.sealed").exists() {
            return Ok((Opened::create(dir)?, None));
        }
        match Opened::open(dir, Access::Write) {
            Ok(opened) => Ok((opened, None)),
            // The words of the library tell nobody anything.
            Err(CatalogError::Index(_)) => {
                let reason = "its files are not what they were".to_owned();
                Ok((Opened::create(dir)?, Some(reason)))
            }
            Err(error) => Ok((Opened::create(dir)?, Some(chain(&error)))),
        }
    }

    /// Removes ledgers, and files of the index, that nothing speaks of any more.
    pub(crate) fn tidy(&self, dir: &Directory) -> Result<(), CatalogError> {
        let meta = self.index.load_metas()?;
        let current = meta.payload.as_deref().and_then(|payload| payload.split(' ').nth(2));
        let old = |name: &String| name.starts_with(LEDGER) && Some(name.as_str()) != current;
        for name in dir.names("")?.into_iter().filter(old) {
            dir.remove(&name)?;
        }
        let managed = self.index.directory().list_managed_files();
        for name in dir.names(INDEX)?.into_iter().filter(|name| !name.starts_with(['.', 'm'])) {
            if !managed.contains(Path::new(&name)) {
                dir.remove(&format!("{INDEX}/{name}"))?;
            }
        }
        Ok(())
    }
}

/// Stores a ledger under a name of its own; returns what a commit has to say about it.
pub(crate) fn store_ledger(
    dir: &Directory,
    ledger: &Ledger,
    number: u64,
) -> Result<String, CatalogError> {
    let (name, bytes) = (format!("{LEDGER}{number}"), ledger.encode());
    dir.replace(&name, &bytes)?;
    Ok(format!("{VERSION} {name} {:016x}", sum(&bytes)))
}

fn ledger_of(dir: &Directory, payload: &str) -> Result<Ledger, CatalogError> {
    let rest = payload.strip_prefix(VERSION).and_then(|rest| rest.strip_prefix(' '));
    let named = rest.and_then(|rest| rest.split_once(' '));
    let (name, expect) = named.ok_or(CatalogError::Damaged("it was made by another version"))?;
    let bytes = dir.read(name)?;
    let is_right = format!("{:016x}", sum(&bytes)) == expect;
    let ledger = is_right.then(|| Ledger::decode(&bytes)).flatten();
    ledger.ok_or(CatalogError::Damaged("the list of what is in it is damaged"))
}

/// The files that the index needs.
fn files(index: &Index) -> Result<Vec<PathBuf>, CatalogError> {
    let of_segment = |segment: &SegmentMeta| {
        let needed = SegmentComponent::iterator().filter(|part| match part {
            SegmentComponent::TempStore => false,
            SegmentComponent::Delete => segment.has_deletes(),
            _ => true,
        });
        needed.map(|part| segment.relative_path(*part)).collect::<Vec<PathBuf>>()
    };
    Ok(index.load_metas()?.segments.iter().flat_map(of_segment).collect())
}

/// Looks at the checksums of all files that are not known to be good.
fn verify(dir: &Directory, index: &Index, access: Access) -> Result<(), CatalogError> {
    let known = good(dir);
    let mut changed = false;
    for file in files(index)? {
        let stamp = Stamp::of(&dir.path(INDEX).join(&file));
        if stamp.is_some() && known.get(&*file.to_string_lossy()) == stamp.as_ref() {
            continue;
        }
        let is_right = index.directory().validate_checksum(&file);
        if !is_right.map_err(TantivyError::from)? {
            return Err(CatalogError::Damaged("a checksum is wrong"));
        }
        changed = true;
    }
    if changed && access == Access::Write {
        note_good(dir, index)?;
    }
    Ok(())
}

fn good(dir: &Directory) -> HashMap<String, Stamp> {
    let Ok(bytes) = dir.read(GOOD) else { return HashMap::new() };
    let decode = || {
        let mut decoder = Decoder::open(&bytes, GOOD_NAME)?;
        decoder.list(|decoder| Some((decoder.text()?.to_owned(), Stamp::read(decoder)?)))
    };
    decode().unwrap_or_default().into_iter().collect()
}

/// Remembers the files of the index as they are: they were just written, or looked at.
pub(crate) fn note_good(dir: &Directory, index: &Index) -> Result<(), CatalogError> {
    let mut encoder = Encoder::new(GOOD_NAME);
    let stamp = |file: &PathBuf| {
        Some((file.to_string_lossy().into_owned(), Stamp::of(&dir.path(INDEX).join(file))?))
    };
    let stamps: Vec<(String, Stamp)> = files(index)?.iter().filter_map(stamp).collect();
    encoder.number(stamps.len() as u64);
    for (name, stamp) in stamps {
        encoder.text(&name);
        stamp.write(&mut encoder);
    }
    Ok(dir.replace(GOOD, &encoder.seal())?)
}
