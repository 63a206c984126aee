//! Whatever is asked of a foreign session, nothing is written.

use everturn::format::{EXTERNAL, Operation, SessionError, Transition};
use everturn::model::SessionRef;
use everturn::store::MemoryStore;
use std::sync::Arc;

use crate::foreign::support::path;

#[test]
fn everything_that_writes_is_refused_with_words() {
    let store: Arc<dyn everturn::store::Store> = Arc::new(MemoryStore::default());
    let place = SessionRef { id: "x".to_owned(), path: path("x.jsonl") };
    assert_eq!(EXTERNAL.len(), 8);
    for layout in EXTERNAL {
        assert!(layout.is_external());
        let refused = [
            layout.editing(Operation::Create).err(),
            layout.editing(Operation::Write).err(),
            layout.editing(Operation::Fork).err(),
            layout.editing(Operation::Rewind).err(),
            layout.editing(Operation::Repair).err(),
            layout.lifecycle(Operation::Transition(Transition::Trash)).err(),
            layout.lifecycle(Operation::Restore).err(),
            layout.lifecycle(Operation::Purge).err(),
        ];
        let all = layout.capabilities();
        assert!(all.derived.is_none() && all.index.is_none() && all.export_log.is_none());
        for error in refused {
            assert!(matches!(error, Some(SessionError::ReadOnly { .. })), "{error:?}");
        }
        // A session that is not there is missing, and never empty.
        assert!(layout.open(&store, &place).is_err(), "{}", layout.name());
        assert!(layout.locate(&store).unwrap().sessions.is_empty());
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the folder of another program is made here")]
fn links_that_lead_out_of_the_root_are_told_about() {
    let dir = tempfile::tempdir().unwrap();
    let (root, other) = (dir.path().join("claude"), dir.path().join("other"));
    std::fs::create_dir_all(root.join("projects")).unwrap();
    std::fs::create_dir_all(&other).unwrap();
    std::os::unix::fs::symlink(&other, root.join("projects/-srv-app")).unwrap();
    std::os::unix::fs::symlink(&other, root.join("commands")).unwrap();
    let disk = everturn::disk::RealDisk::open(&root).unwrap();
    let store: Arc<dyn everturn::store::Store> =
        Arc::new(everturn::store::FileStore::open_read_only(Arc::new(disk)).unwrap());
    let findings = everturn::format::find("claude-code").unwrap().locate(&store).unwrap().findings;
    let found: Vec<String> =
        findings.iter().map(|found| format!("{} {}", found.file, found.code)).collect();
    assert_eq!(found, ["projects/-srv-app link-outside"]);
}
