//! Finds secrets in files and archives, in bounded memory. A [`SecretSink`] receives each [`SecretFinding`].

use std::collections::BTreeSet;
use std::sync::Arc;

use everturn_archive::{ArchiveLimits, StoreFileReader, Unpacker};
use everturn_json::finding::{Finding, FindingCode};
use everturn_json::names::{FilePath, Name};
use everturn_secrets::scan::{Certainty, MAX_SECRET_SPAN, SecretRules};
use everturn_session::format::error_chain;
use everturn_store::{Store, StoreError};

/// The number of bytes that are read at once.
const WINDOW: usize = 4 << 20;

/// Owner-only files in which keys are kept on purpose.
const VAULTS: &[&str] = &["auth.json", "credentials.json"];

/// A secret in a file, with a placeholder instead of its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretFinding {
    /// The file.
    pub file: FilePath,
    /// The file in the archive, if the file is an archive.
    pub inside: Option<FilePath>,
    /// Whether it is in the path of the file instead of its content.
    pub in_name: bool,
    /// The line, counted from 1, if the file is text.
    pub line: Option<u64>,
    /// The offset of its first byte.
    pub offset: u64,
    /// The family of the secret.
    pub family: &'static str,
    /// How certain the match is.
    pub certainty: Certainty,
    /// The placeholder that would replace it.
    pub placeholder: String,
}

/// Receives findings while files are scanned.
pub trait SecretSink {
    /// Reports a secret.
    fn secret(&mut self, found: SecretFinding);

    /// Reports a file that could not be scanned.
    fn unreadable(&mut self, finding: Finding);

    /// Reports that a file is about to be scanned.
    fn file(&mut self, file: &FilePath);
}

/// The statistics of a scan.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ScanStats {
    /// The number of files.
    pub files: u64,
    /// The number of bytes, for archives after decompression.
    pub bytes: u64,
    /// The number of secrets.
    pub secrets: u64,
    /// The number of files that could not be scanned.
    pub unreadable: u64,
}

impl ScanStats {
    /// Adds the statistics of another scan.
    pub fn add(&mut self, other: ScanStats) {
        let ScanStats { files, bytes, secrets, unreadable } = other;
        self.files += files;
        self.bytes += bytes;
        self.secrets += secrets;
        self.unreadable += unreadable;
    }
}

/// Whether keys are kept in this file on purpose.
#[must_use]
pub fn is_vault(file: &FilePath) -> bool {
    file.name().is_some_and(|name| VAULTS.contains(&name.as_str()))
}

/// The name of the top directory in an archive; `None` if the file is not an archive.
pub(crate) fn archive_top(file: &FilePath) -> Option<Name> {
    Name::parse(file.name()?.as_str().strip_suffix(".tar.gz")?).ok()
}

/// Scans files. An unreadable file is reported and does not hide the others.
pub fn scan_files(
    store: &Arc<dyn Store>,
    files: &[FilePath],
    rules: &SecretRules,
    listener: &mut dyn SecretSink,
) -> ScanStats {
    let mut sweeper = FileScanner { store, rules, listener, swept: ScanStats::default() };
    let mut named: BTreeSet<FilePath> = BTreeSet::new();
    for file in files.iter().filter(|file| !is_vault(file)) {
        sweeper.listener.file(file);
        // A directory is reported once.
        for path in file.ancestors().chain([file.clone()]) {
            if named.insert(path.clone()) {
                sweeper.scan_name(&path);
            }
        }
        sweeper.swept.files += 1;
        if let Err(message) = sweeper.scan_file(file) {
            sweeper.swept.unreadable += 1;
            let finding = Finding::new(file, FindingCode::Unreadable, message);
            sweeper.listener.unreadable(finding);
        }
    }
    sweeper.swept
}

struct FileScanner<'a> {
    store: &'a Arc<dyn Store>,
    rules: &'a SecretRules,
    listener: &'a mut dyn SecretSink,
    swept: ScanStats,
}

impl FileScanner<'_> {
    /// Scans the name of a file or directory.
    fn scan_name(&mut self, path: &FilePath) {
        let Some(name) = path.name() else { return };
        for hit in self.rules.find(name.as_str()) {
            let secret = name.as_str().as_bytes().get(hit.range.clone()).unwrap_or_default();
            self.swept.secrets += 1;
            self.listener.secret(SecretFinding {
                file: path.clone(),
                inside: None,
                in_name: true,
                line: None,
                offset: hit.range.start as u64,
                family: hit.family,
                certainty: hit.certainty,
                placeholder: self.rules.placeholder(hit.family, secret),
            });
        }
    }

    fn scan_file(&mut self, file: &FilePath) -> Result<(), String> {
        let Some(top) = archive_top(file) else {
            return self
                .scan_plain(file)
                .map_err(|error| format!("cannot be read: {}", error_chain(&error)));
        };
        let failed =
            |error: &dyn std::error::Error| format!("is an archive that cannot be read: {error}");
        let limits = ArchiveLimits::default();
        let pieces = StoreFileReader::open(&**self.store, file).map_err(|error| failed(&error))?;
        for unpacked in Unpacker::new(pieces, &top, &limits) {
            let (inside, bytes) = unpacked.map_err(|error| failed(&error))?;
            self.swept.bytes += bytes.len() as u64;
            let mut place = ScanPosition::new(file, Some(inside));
            self.scan_window(&mut place, &bytes, 0..bytes.len());
        }
        Ok(())
    }

    /// Scans a file in overlapping windows. Only matches in the middle of a window count, so that the context of a
    /// match is always visible.
    fn scan_plain(&mut self, file: &FilePath) -> Result<(), StoreError> {
        let mut place = ScanPosition::new(file, None);
        let mut held: Vec<u8> = Vec::new();
        let (mut at, mut done) = (0_u64, 0);
        loop {
            let piece = self.store.read(file, at..at + WINDOW as u64)?;
            let is_last = piece.is_empty();
            at += piece.len() as u64;
            self.swept.bytes += piece.len() as u64;
            held.extend_from_slice(&piece);
            let end = if is_last { held.len() } else { held.len().saturating_sub(MAX_SECRET_SPAN) };
            if end > done {
                self.scan_window(&mut place, &held, done..end);
                done = end;
            }
            if is_last {
                return Ok(());
            }
            let keep = done.saturating_sub(MAX_SECRET_SPAN);
            held.drain(..keep);
            place.start += keep as u64;
            done -= keep;
        }
    }

    /// Finds the secrets that begin in a part of the held bytes.
    fn scan_window(&mut self, place: &mut ScanPosition, held: &[u8], part: std::ops::Range<usize>) {
        let mut counted = part.start;
        for hit in self.rules.find_bytes(held) {
            if !part.contains(&hit.range.start) {
                continue;
            }
            place.count(held.get(counted..hit.range.start).unwrap_or_default());
            counted = hit.range.start;
            let secret = held.get(hit.range.clone()).unwrap_or_default();
            self.swept.secrets += 1;
            self.listener.secret(SecretFinding {
                file: place.file.clone(),
                inside: place.inside.clone(),
                in_name: false,
                line: place.is_text.then_some(place.line),
                offset: place.start + hit.range.start as u64,
                family: hit.family,
                certainty: hit.certainty,
                placeholder: self.rules.placeholder(hit.family, secret),
            });
        }
        place.count(held.get(counted..part.end).unwrap_or_default());
    }
}

/// The position of a scan in a file.
struct ScanPosition {
    file: FilePath,
    inside: Option<FilePath>,
    /// The offset of the held bytes.
    start: u64,
    line: u64,
    /// Whether no NUL byte was seen.
    is_text: bool,
}

impl ScanPosition {
    fn new(file: &FilePath, inside: Option<FilePath>) -> ScanPosition {
        ScanPosition { file: file.clone(), inside, start: 0, line: 1, is_text: true }
    }

    fn count(&mut self, bytes: &[u8]) {
        self.is_text &= !bytes.contains(&0);
        self.line += bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use everturn_store::{Durability, FileMode, MemoryStore, Precondition, Step};

    #[derive(Default)]
    struct RecordedSecrets(Vec<SecretFinding>, Vec<Finding>);

    impl SecretSink for RecordedSecrets {
        fn secret(&mut self, found: SecretFinding) {
            self.0.push(found);
        }

        fn unreadable(&mut self, finding: Finding) {
            self.1.push(finding);
        }

        fn file(&mut self, _: &FilePath) {}
    }

    fn store_of(name: &str, bytes: Vec<u8>) -> (Arc<dyn Store>, FilePath) {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
        let file = FilePath::parse(name).unwrap();
        let writer = store.lock(&[FilePath::root()]).unwrap();
        let (expect, mode) = (Precondition::Absent, FileMode::Default);
        let step = Step::Replace { file: file.clone(), expect, bytes, mode };
        writer.commit(vec![step], Durability::Synced).unwrap();
        writer.release().unwrap();
        (store, file)
    }

    /// A token that no code host recognises as one.
    fn token() -> String {
        format!("gsk_{}", "aB3dE5gH7jK9".repeat(5).get(..52).unwrap())
    }

    #[test]
    fn a_secret_is_found_once_wherever_windows_end() {
        for before in [0, 1, WINDOW - MAX_SECRET_SPAN - 30, WINDOW - 20, WINDOW, 2 * WINDOW - 7] {
            let mut bytes = vec![b'x'; before];
            bytes.extend_from_slice(format!("\n{}\n", token()).as_bytes());
            bytes.extend(vec![b'y'; MAX_SECRET_SPAN * 3]);
            let (store, file) = store_of("a/log.jsonl", bytes);
            let mut heard = RecordedSecrets::default();
            let swept = scan_files(&store, &[file], SecretRules::standard(), &mut heard);
            assert_eq!(swept.secrets, 1, "{before}");
            let found = &heard.0[0];
            assert_eq!((found.offset, found.line), (before as u64 + 1, Some(2)), "{before}");
            assert!(!found.placeholder.contains("aB3d"));
        }
    }

    #[test]
    fn what_is_no_archive_is_told_and_vaults_are_passed_over() {
        let (store, file) = store_of("archives/one.tar.gz", b"not an archive".to_vec());
        let mut heard = RecordedSecrets::default();
        let swept = scan_files(&store, &[file], SecretRules::standard(), &mut heard);
        assert_eq!((swept.unreadable, heard.1.len()), (1, 1));
        let (store, file) = store_of("auth.json", token().into_bytes());
        assert_eq!(
            scan_files(&store, &[file], SecretRules::standard(), &mut heard),
            ScanStats::default()
        );
    }
}
