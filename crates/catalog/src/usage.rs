//! The token usage of sessions, cached, so that a sum over all sessions reads only those that have changed.
//!
//! One file has the usage of the sessions of all sources, each with the stamps of the files that it was read from.

use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::time::SystemTime;

use everturn::format::ListedSession;
use everturn::model::{SessionUsage, TokenUsage, UsagePart};
use everturn::names::FilePath;
use jiff::civil::Date;

use crate::catalog_dir::{CatalogDir, FileStamp};
use crate::codec::{CatalogDecoder, CatalogEncoder};
use crate::ledger::SessionKey;
use crate::search::open_session;
use crate::source::{CatalogSession, SessionSource};
use crate::summaries::{FileStamps, are_stable, read_stamps, read_stamps_of, write_stamps};
use crate::update::{ReadProblem, key_of, lost_file};

/// The file, and the name of its format; another version has another name.
const FILE: &str = "usage";
const NAME: &str = "everturn usage 1";

/// What is known of the usage of a session.
#[derive(Debug)]
pub enum UsageAnswer {
    /// Its usage; `None` if it does not record it.
    Read(Option<SessionUsage>),
    /// It has usage, but a part could not be read.
    Incomplete(Option<SessionUsage>, ReadProblem),
    /// It could not be read.
    Unread(ReadProblem),
    /// It was removed since it was listed.
    Gone,
}

/// The usage of a session, and the stamps of the files it was read from.
struct UsageRow {
    usage: Option<SessionUsage>,
    stamps: FileStamps,
}

/// The cached usage of sessions.
#[derive(Default)]
pub(crate) struct UsageCache {
    rows: HashMap<SessionKey, UsageRow>,
    is_changed: bool,
}

impl UsageCache {
    /// Loads the cache; it is empty if the file is missing or damaged.
    pub(crate) fn load(dir: Option<&CatalogDir>) -> UsageCache {
        let bytes = dir.and_then(|dir| dir.read(FILE).ok());
        let decode = |bytes: &Vec<u8>| {
            let mut decoder = CatalogDecoder::open(bytes, NAME)?;
            decoder.list(read_row)
        };
        let rows = bytes.as_ref().and_then(decode).unwrap_or_default();
        UsageCache { rows: rows.into_iter().collect(), is_changed: false }
    }

    /// Writes the cache, if it has changed, without the sessions that no longer exist.
    pub(crate) fn save(&mut self, dir: Option<&CatalogDir>) -> io::Result<()> {
        let Some(dir) = dir.filter(|_| self.is_changed) else { return Ok(()) };
        let is_there = |key: &SessionKey, (file, stamp): &(FilePath, Option<FileStamp>)| {
            stamp.is_none() || FileStamp::of(&key.root.join(file.as_str())).is_some()
        };
        self.rows.retain(|key, row| row.stamps.iter().all(|stamped| is_there(key, stamped)));
        let mut encoder = CatalogEncoder::new(NAME);
        encoder.number(self.rows.len() as u64);
        self.rows.iter().for_each(|(key, row)| write_row(&mut encoder, key, row));
        dir.replace(FILE, &encoder.finish())?;
        self.is_changed = false;
        Ok(())
    }

    /// Returns the usage of a session, and reads it if it has changed.
    pub(crate) fn usage(
        &mut self,
        sources: &[SessionSource],
        session: &CatalogSession,
        now: SystemTime,
    ) -> UsageAnswer {
        let Some(source) = sources.get(session.source) else { return UsageAnswer::Gone };
        let key = key_of(source, session);
        // The stamps are taken before the content, so that a concurrent change is noticed later.
        let stamps = read_stamps_of(source, &session.entries);
        if let Some(row) = self.rows.get(&key).filter(|row| row.stamps == stamps) {
            return UsageAnswer::Read(row.usage.clone());
        }
        let reader = match open_session(sources, session) {
            Ok(ListedSession::Open(_, reader)) => reader,
            Ok(ListedSession::Gone) => return UsageAnswer::Gone,
            Err(error) => return UsageAnswer::Unread(ReadProblem::from(&error)),
        };
        let usage = reader.usage();
        // Some formats open their log only when entries are requested.
        let problem = reader.entries(0..=0).err().map(|error| ReadProblem::from(&error));
        let lost = || lost_file(&reader.findings()).map(ReadProblem::from);
        if let Some(problem) = problem.or_else(lost) {
            return UsageAnswer::Incomplete(usage, problem);
        }
        // Other formats keep usage in files beside the entries.
        let is_external =
            source.layout(session.summary.layout).is_some_and(|layout| layout.is_external());
        if is_external && are_stable(&stamps, now) {
            self.rows.insert(key, UsageRow { usage: usage.clone(), stamps });
            self.is_changed = true;
        }
        UsageAnswer::Read(usage)
    }
}

fn write_row(encoder: &mut CatalogEncoder, key: &SessionKey, row: &UsageRow) {
    encoder.text(&key.root.to_string_lossy());
    encoder.text(&key.layout);
    encoder.text(key.path.as_str());
    write_stamps(encoder, &key.path, &row.stamps);
    encoder.option(row.usage.as_ref(), |encoder, usage| {
        let parts: Vec<UsagePart> = usage.parts().collect();
        encoder.number(parts.len() as u64);
        parts.iter().for_each(|part| write_part(encoder, part));
    });
}

fn read_row(decoder: &mut CatalogDecoder<'_>) -> Option<(SessionKey, UsageRow)> {
    let root = PathBuf::from(decoder.text()?);
    let layout = decoder.text()?.to_owned();
    let path = FilePath::parse(decoder.text()?).ok()?;
    let stamps = read_stamps(decoder, &path, &mut Vec::new())?;
    let usage = decoder.option(|decoder| {
        let mut usage = SessionUsage::default();
        for part in decoder.list(read_part)? {
            usage.add_part(&part);
        }
        Some(usage)
    })?;
    Some((SessionKey { root, layout, path }, UsageRow { usage, stamps }))
}

fn write_part(encoder: &mut CatalogEncoder, part: &UsagePart) {
    let UsagePart { id, day, model, spent } = part;
    encoder.option(*id, |encoder, id| {
        for half in [id >> 64, id & u128::from(u64::MAX)] {
            encoder.number(u64::try_from(half).unwrap_or_default());
        }
    });
    encoder.option(*day, |encoder, day| encoder.text(&day.to_string()));
    encoder.text(model);
    let TokenUsage { answers, input, output, cache_read, cache_write, reasoning, cost } = *spent;
    for count in [answers, input, output, cache_read, cache_write, reasoning] {
        encoder.number(count);
    }
    encoder.option(cost, |encoder, cost| encoder.number(cost.to_bits()));
}

fn read_part(decoder: &mut CatalogDecoder<'_>) -> Option<UsagePart> {
    let id = decoder.option(|decoder| {
        let (high, low) = (decoder.number()?, decoder.number()?);
        Some((u128::from(high) << 64) | u128::from(low))
    })?;
    let day = decoder.option(|decoder| decoder.text()?.parse::<Date>().ok())?;
    let model = decoder.text()?.to_owned();
    let mut count = || decoder.number();
    let (answers, input, output) = (count()?, count()?, count()?);
    let (cache_read, cache_write, reasoning) = (count()?, count()?, count()?);
    let cost = decoder.option(|decoder| Some(f64::from_bits(decoder.number()?)))?;
    let spent = TokenUsage { answers, input, output, cache_read, cache_write, reasoning, cost };
    Some(UsagePart { id, day, model, spent })
}
