//! The full-text index: its fields, and opening it so that damage is detected before it can give wrong results.
//!
//! The index stores words and their positions; texts are read from the sessions again. Each of its files ends with a
//! checksum, which is verified unless the file is known to be good by its stamp. An index that is damaged, or was made
//! by another version, is deleted and rebuilt.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use tantivy::index::{SegmentComponent, SegmentMeta};
use tantivy::schema::{
    FAST, Field, INDEXED, IndexRecordOption, NumericOptions, Schema, TextFieldIndexing, TextOptions,
};
use tantivy::store::Compressor;
use tantivy::tokenizer::TextAnalyzer;
use tantivy::{Index, IndexSettings, TantivyError};

use crate::catalog_dir::{CatalogDir, FileStamp};
use crate::checksummed::{ChecksummedDir, IndexAccess};
use crate::codec::{CatalogDecoder, CatalogEncoder, sum};
use crate::error::{CatalogError, error_chain};
use crate::ledger::IndexLedger;
use crate::word_parts::{NameTokenizer, WordPartTokenizer};
use crate::words::WordTokenizer;

/// The directory of the index.
pub(crate) const INDEX: &str = "index";

/// The file that lists the index files known to be good, by their stamps.
const GOOD: &str = "good";
const GOOD_NAME: &str = "everturn good files 1";

/// The prefix of ledger names.
const LEDGER: &str = "ledger-";

/// The start of a commit's payload, before the name and the checksum of its ledger.
const VERSION: &str = "everturn 3";

/// The tokenizers for words, for parts of words, and for names, which are split into both.
const WORDS: &str = "words";
const PARTS: &str = "parts";
const NAMES: &str = "names";

/// The time of an entry whose time is unknown.
pub(crate) const UNKNOWN_TIME: i64 = i64::MIN;

/// The fields of an entry.
#[derive(Debug, Clone, Copy)]
pub(crate) struct IndexFields {
    pub(crate) text: Field,
    /// The parts of the words of the text.
    pub(crate) parts: Field,
    pub(crate) speaker: Field,
    pub(crate) kind: Field,
    /// The number of the session.
    pub(crate) session: Field,
    /// The branch of the session, counted from 1; 0 is the main line.
    pub(crate) branch: Field,
    pub(crate) turn: Field,
    pub(crate) seq: Field,
    /// Microseconds since 1970, or [`UNKNOWN_TIME`].
    pub(crate) time: Field,
}

fn build_schema() -> (Schema, IndexFields) {
    let mut schema = Schema::builder();
    let split = |splitter: &str, record: IndexRecordOption, by_length: bool| {
        let indexing = TextFieldIndexing::default().set_tokenizer(splitter);
        let indexing = indexing.set_index_option(record).set_fieldnorms(by_length);
        TextOptions::default().set_indexing_options(indexing)
    };
    let (basic, placed) = (IndexRecordOption::Basic, IndexRecordOption::WithFreqsAndPositions);
    let fast: NumericOptions = FAST.into();
    let fields = IndexFields {
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

/// An open index and its ledger.
pub(crate) struct OpenIndex {
    pub(crate) index: Index,
    pub(crate) fields: IndexFields,
    pub(crate) ledger: IndexLedger,
}

impl OpenIndex {
    fn with(index: Index, fields: IndexFields, ledger: IndexLedger) -> OpenIndex {
        index.tokenizers().register(WORDS, TextAnalyzer::from(WordTokenizer));
        index.tokenizers().register(PARTS, TextAnalyzer::from(WordPartTokenizer));
        index.tokenizers().register(NAMES, TextAnalyzer::from(NameTokenizer));
        OpenIndex { index, fields, ledger }
    }

    /// Opens the existing index.
    pub(crate) fn open(dir: &CatalogDir, access: IndexAccess) -> Result<OpenIndex, CatalogError> {
        let (wanted, fields) = build_schema();
        let index = Index::open(ChecksummedDir::open(&dir.path(INDEX), access)?)?;
        if index.schema() != wanted {
            return Err(CatalogError::Damaged("it was created by another version"));
        }
        let meta = index.load_metas()?;
        let ledger = match &meta.payload {
            Some(payload) => ledger_of(dir, payload)?,
            None if meta.segments.is_empty() => IndexLedger::default(),
            None => return Err(CatalogError::Damaged("it does not list its contents")),
        };
        verify_checksums(dir, &index, access)?;
        Ok(OpenIndex::with(index, fields, ledger))
    }

    /// Creates an index, replacing the existing one.
    pub(crate) fn create(dir: &CatalogDir) -> Result<OpenIndex, CatalogError> {
        for name in dir.names("")?.into_iter().filter(|name| name.starts_with(LEDGER)) {
            dir.remove(&name)?;
        }
        dir.remove(GOOD)?;
        dir.remove(INDEX)?;
        let path = dir.make(INDEX)?;
        let (schema, fields) = build_schema();
        let settings =
            IndexSettings { docstore_compression: Compressor::None, ..IndexSettings::default() };
        let files = ChecksummedDir::open(&path, IndexAccess::Write)?;
        let index = Index::create(files, schema, settings)?;
        Ok(OpenIndex::with(index, fields, IndexLedger::default()))
    }

    /// Opens the index for writing. A damaged index is rebuilt, and the reason is returned.
    pub(crate) fn open_or_create(
        dir: &CatalogDir,
    ) -> Result<(OpenIndex, Option<String>), CatalogError> {
        dir.remove_unfinished()?;
        if !dir.path(INDEX).join("meta.sealed").exists() {
            return Ok((OpenIndex::create(dir)?, None));
        }
        match OpenIndex::open(dir, IndexAccess::Write) {
            Ok(opened) => Ok((opened, None)),
            // The messages of the library do not help users.
            Err(CatalogError::Index(_)) => {
                let reason = "its files are damaged or have changed".to_owned();
                Ok((OpenIndex::create(dir)?, Some(reason)))
            }
            Err(error) => Ok((OpenIndex::create(dir)?, Some(error_chain(&error)))),
        }
    }

    /// Removes ledgers and index files that are no longer referenced.
    pub(crate) fn remove_unreferenced(&self, dir: &CatalogDir) -> Result<(), CatalogError> {
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

/// Stores a ledger under a new name; returns the payload for the commit that refers to it.
pub(crate) fn store_ledger(
    dir: &CatalogDir,
    ledger: &IndexLedger,
    number: u64,
) -> Result<String, CatalogError> {
    let (name, bytes) = (format!("{LEDGER}{number}"), ledger.encode());
    dir.replace(&name, &bytes)?;
    Ok(format!("{VERSION} {name} {:016x}", sum(&bytes)))
}

fn ledger_of(dir: &CatalogDir, payload: &str) -> Result<IndexLedger, CatalogError> {
    let rest = payload.strip_prefix(VERSION).and_then(|rest| rest.strip_prefix(' '));
    let named = rest.and_then(|rest| rest.split_once(' '));
    let (name, expect) = named.ok_or(CatalogError::Damaged("it was created by another version"))?;
    let bytes = dir.read(name)?;
    let is_right = format!("{:016x}", sum(&bytes)) == expect;
    let ledger = is_right.then(|| IndexLedger::decode(&bytes)).flatten();
    ledger.ok_or(CatalogError::Damaged("the list of its contents is damaged"))
}

/// Returns the files that the index needs.
fn index_files(index: &Index) -> Result<Vec<PathBuf>, CatalogError> {
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

/// Verifies the checksums of all files that are not known to be good.
fn verify_checksums(
    dir: &CatalogDir,
    index: &Index,
    access: IndexAccess,
) -> Result<(), CatalogError> {
    let known = known_good_files(dir);
    let mut changed = false;
    for file in index_files(index)? {
        let stamp = FileStamp::of(&dir.path(INDEX).join(&file));
        if stamp.is_some() && known.get(&*file.to_string_lossy()) == stamp.as_ref() {
            continue;
        }
        let is_right = index.directory().validate_checksum(&file);
        if !is_right.map_err(TantivyError::from)? {
            return Err(CatalogError::Damaged("checksum mismatch"));
        }
        changed = true;
    }
    if changed && access == IndexAccess::Write {
        note_good(dir, index)?;
    }
    Ok(())
}

fn known_good_files(dir: &CatalogDir) -> HashMap<String, FileStamp> {
    let Ok(bytes) = dir.read(GOOD) else { return HashMap::new() };
    let decode = || {
        let mut decoder = CatalogDecoder::open(&bytes, GOOD_NAME)?;
        decoder.list(|decoder| Some((decoder.text()?.to_owned(), FileStamp::read(decoder)?)))
    };
    decode().unwrap_or_default().into_iter().collect()
}

/// Records the index files as good: they were just written or verified.
pub(crate) fn note_good(dir: &CatalogDir, index: &Index) -> Result<(), CatalogError> {
    let mut encoder = CatalogEncoder::new(GOOD_NAME);
    let stamp = |file: &PathBuf| {
        Some((file.to_string_lossy().into_owned(), FileStamp::of(&dir.path(INDEX).join(file))?))
    };
    let stamps: Vec<(String, FileStamp)> = index_files(index)?.iter().filter_map(stamp).collect();
    encoder.number(stamps.len() as u64);
    for (name, stamp) in stamps {
        encoder.text(&name);
        stamp.write(&mut encoder);
    }
    Ok(dir.replace(GOOD, &encoder.finish())?)
}
