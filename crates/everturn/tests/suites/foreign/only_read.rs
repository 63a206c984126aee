//! Whatever is asked of a foreign session, nothing is written.

use everturn::format::{EXTERNAL, RepairMode, SessionError, Transition};
use everturn::model::{ForkOptions, NewSession, SessionRef};
use everturn::store::MemoryStore;
use std::sync::Arc;

use crate::foreign::support::path;

#[test]
fn everything_that_writes_is_refused_with_words() {
    let store: Arc<dyn everturn::store::Store> = Arc::new(MemoryStore::default());
    let now = "2026-01-01T10:00:00Z".parse().unwrap();
    let place = SessionRef { id: "x".to_owned(), path: path("x.jsonl") };
    assert_eq!(EXTERNAL.len(), 8);
    for layout in EXTERNAL {
        assert!(layout.is_external());
        let mut none = |_| {};
        let refused = [
            layout.create(&store, &NewSession::with_id("x"), now).err(),
            layout.edit(&store, &place).err(),
            layout.fork(&store, &place, &ForkOptions::default(), now, &mut none).err(),
            layout.rewind(&store, &place, 1, now, &mut none).err(),
            layout.transition(&store, &place, Transition::Trash, now, &mut none).err(),
            layout.restore(&store, "x").err(),
            layout.purge(&store, &[]).err(),
            layout.repair(&store, &place, RepairMode::Plan, now).err(),
            layout.remove_mark(&store, &place, "m", now).err(),
        ];
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
