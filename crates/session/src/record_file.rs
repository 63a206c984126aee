//! [`RecordFile`]: the records of a JSONL file in a store, forwards, backwards or from an offset.

use std::sync::Arc;

use everturn_json::finding::{Finding, FindingCode};
use everturn_json::jsonl::{
    ByteSource, ForwardScan, JsonlRecord, JsonlScan, ReverseScan, ScanItem,
};
use everturn_json::names::FilePath;
use everturn_store::{Store, StoreError, StoreSource};

/// Where reading starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadFrom {
    /// The first record.
    Start,
    /// The last record, backwards. The cost is proportional to what is read.
    End,
    /// The line that starts at this offset.
    Offset(u64),
}

/// Reads the records of a file in order. Anything else becomes a finding, and a failed read is an error.
pub struct RecordFile {
    file: FilePath,
    content: RecordSource,
    len: u64,
    /// The findings so far.
    pub findings: Vec<Finding>,
}

enum RecordSource {
    /// There is no file.
    Missing,
    Forward(Box<ForwardScan<StoreSource>>),
    Backward(Box<ReverseScan<StoreSource>>),
}

impl RecordFile {
    /// Opens a file. A missing file has no records.
    pub fn open(
        store: &Arc<dyn Store>,
        file: &FilePath,
        from: ReadFrom,
    ) -> Result<RecordFile, StoreError> {
        let (content, len) = match StoreSource::open(store, file) {
            Err(StoreError::Missing { .. }) => (RecordSource::Missing, 0),
            Err(error) => return Err(error),
            Ok(source) => {
                let len = source.len().map_err(StoreError::io("read", file))?;
                let scan = JsonlScan::new(source, file.clone());
                let failed = StoreError::io("read", file);
                let content = match from {
                    ReadFrom::Start | ReadFrom::Offset(0) => {
                        RecordSource::Forward(Box::new(scan.forward().map_err(failed)?))
                    }
                    ReadFrom::Offset(start) => {
                        let scan = scan.start_at(start, None).forward();
                        RecordSource::Forward(Box::new(scan.map_err(failed)?))
                    }
                    ReadFrom::End => {
                        RecordSource::Backward(Box::new(scan.reverse().map_err(failed)?))
                    }
                };
                (content, len)
            }
        };
        Ok(RecordFile { file: file.clone(), content, len, findings: Vec::new() })
    }

    /// The length of the file when it was opened; what is appended later is not read.
    #[must_use]
    pub fn len_at_open(&self) -> u64 {
        self.len
    }

    /// Whether the records are read in the order of the file.
    #[must_use]
    pub fn is_forward(&self) -> bool {
        matches!(self.content, RecordSource::Forward(_))
    }

    /// Adds a finding for a record that is not what the file should contain.
    pub fn note_bad_record(&mut self, line: Option<u64>, offset: u64, message: String) {
        let finding = Finding::new(&self.file, FindingCode::BadRecord, message);
        self.findings.push(finding.at_line(line).at_offset(offset));
    }
}

impl Iterator for RecordFile {
    type Item = Result<JsonlRecord, StoreError>;

    fn next(&mut self) -> Option<Result<JsonlRecord, StoreError>> {
        loop {
            let item = match &mut self.content {
                RecordSource::Missing => return None,
                RecordSource::Forward(scan) => scan.next()?,
                RecordSource::Backward(scan) => scan.next()?,
            };
            match item {
                Err(error) => return Some(Err(StoreError::io("read", &self.file)(error))),
                Ok(ScanItem::Finding(finding)) => self.findings.push(finding),
                Ok(ScanItem::Record(record)) => return Some(Ok(record)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use everturn_store::{AppendAt, Durability, MemoryStore, Step};

    fn store(lines: &str) -> (Arc<dyn Store>, FilePath) {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
        let file = FilePath::parse("s/log.jsonl").unwrap();
        let writer = store.lock(&[FilePath::parse("s").unwrap()]).unwrap();
        let lines = lines.as_bytes().to_vec();
        let step = Step::Append { file: file.clone(), at: AppendAt::End, lines };
        writer.commit(vec![step], Durability::Synced).unwrap();
        writer.release().unwrap();
        (store, file)
    }

    fn texts(records: &mut RecordFile) -> Vec<String> {
        records.map(|record| record.unwrap().text().unwrap().to_owned()).collect()
    }

    #[test]
    fn records_are_read_in_both_directions_and_from_an_offset() {
        let (store, file) = store("1\n2\n3\n");
        let read = |from| texts(&mut RecordFile::open(&store, &file, from).unwrap());
        assert_eq!(read(ReadFrom::Start), ["1", "2", "3"]);
        assert_eq!(read(ReadFrom::End), ["3", "2", "1"]);
        assert_eq!(read(ReadFrom::Offset(2)), ["2", "3"]);
        let records = RecordFile::open(&store, &file, ReadFrom::Offset(0)).unwrap();
        assert_eq!((records.len_at_open(), records.is_forward()), (6, true));
        let lines: Vec<_> = records.map(|record| record.unwrap().line).collect();
        assert_eq!(lines, [Some(1), Some(2), Some(3)]);
    }

    #[test]
    fn a_missing_file_has_no_records() {
        let (store, _) = store("1\n");
        let missing = FilePath::parse("s/none.jsonl").unwrap();
        let mut records = RecordFile::open(&store, &missing, ReadFrom::Start).unwrap();
        assert!(records.next().is_none() && records.findings.is_empty());
    }

    #[test]
    fn findings_are_collected_beside_the_records() {
        let (store, file) = store("{\"a\":1}{\"a\":2}\n");
        let mut records = RecordFile::open(&store, &file, ReadFrom::Start).unwrap();
        assert_eq!(texts(&mut records).len(), 2);
        records.note_bad_record(Some(1), 7, "why".to_owned());
        let codes: Vec<_> = records.findings.iter().map(|finding| finding.code).collect();
        assert_eq!(codes, [FindingCode::GluedRecords, FindingCode::BadRecord]);
    }
}
