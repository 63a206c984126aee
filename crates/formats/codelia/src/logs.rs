//! The plain text logs of a home, in `logs/`. The program creates the directory, and other tools write to it.

use std::sync::Arc;

use super::error::CodeliaError;
use everturn_json::names::{FilePath, Name};
use everturn_store::disk::FileKind;
use everturn_store::{AppendAt, Durability, Step, Store, StoreError, read_optional};

fn dir() -> FilePath {
    FilePath::root().join_static("logs")
}

fn log_file(name: &str) -> Result<FilePath, CodeliaError> {
    Ok(dir().join(&Name::parse(name)?))
}

/// The logs of a home by name, with their sizes in bytes.
pub fn text_logs(store: &Arc<dyn Store>) -> Result<Vec<(String, u64)>, CodeliaError> {
    let entries = match store.list(&dir()) {
        Err(StoreError::Missing { .. }) => return Ok(Vec::new()),
        other => other?.entries,
    };
    let mut logs = Vec::new();
    for entry in entries.iter().filter(|entry| entry.kind == FileKind::File && !entry.linked) {
        let length = store.stat(&dir().join(&entry.name))?.map_or(0, |stat| stat.len);
        logs.push((entry.name.to_string(), length));
    }
    Ok(logs)
}

/// The content of a log; `None` if it does not exist.
pub fn read_text_log(store: &Arc<dyn Store>, name: &str) -> Result<Option<Vec<u8>>, CodeliaError> {
    Ok(read_optional(store, &log_file(name)?)?)
}

/// Appends lines to a log, which is created if necessary. Returns its path.
pub fn append_text_log(
    store: &Arc<dyn Store>,
    name: &str,
    text: &str,
) -> Result<FilePath, CodeliaError> {
    let file = log_file(name)?;
    let mut lines = text.as_bytes().to_vec();
    if !lines.ends_with(b"\n") {
        lines.push(b'\n');
    }
    let writer = store.lock(std::slice::from_ref(&file))?;
    let step = Step::Append { file: file.clone(), at: AppendAt::End, lines };
    writer.commit(vec![step], Durability::Synced)?;
    writer.release()?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use everturn_store::MemoryStore;

    #[test]
    fn lines_are_appended_to_the_log_that_was_named() {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
        assert_eq!(text_logs(&store).unwrap(), []);
        assert_eq!(read_text_log(&store, "codelia.log").unwrap(), None);
        append_text_log(&store, "codelia.log", "one").unwrap();
        append_text_log(&store, "codelia.log", "two\n").unwrap();
        assert_eq!(read_text_log(&store, "codelia.log").unwrap().unwrap(), b"one\ntwo\n");
        assert_eq!(text_logs(&store).unwrap(), [("codelia.log".to_owned(), 8)]);
        for name in ["../x", "a/b", "", ".."] {
            assert!(append_text_log(&store, name, "x").is_err(), "{name:?}");
        }
    }
}
