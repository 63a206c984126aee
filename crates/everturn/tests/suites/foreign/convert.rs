//! Whatever is read in these tests can be made into a session of every layout, and into the file of every program.

use std::cell::Cell;
use std::sync::Arc;

use everturn::convert::{Conversion, Disposition, TARGETS};
use everturn::format::{self, SessionFormat, SessionReader};
use everturn::model::SessionRef;
use everturn::store::{MemoryStore, Store};

/// Longer sessions are converted elsewhere.
const MOST_ENTRIES: usize = 40;

/// How many sessions of one test are converted: some read hundreds that hardly differ.
const MOST_SESSIONS: u32 = 3;

thread_local! {
    static CONVERTED: Cell<u32> = const { Cell::new(0) };
}

fn said(reader: &dyn SessionReader) -> Vec<(String, String)> {
    let mut stream = reader.entries(0..=u64::MAX).unwrap();
    let entries = std::iter::from_fn(|| stream.next().map(Result::unwrap));
    entries.map(|entry| (entry.kind.to_string(), entry.text)).collect()
}

/// Converts a session to everything there is, and compares.
pub(crate) fn converts(layout: &dyn SessionFormat, store: &Arc<dyn Store>, place: &SessionRef) {
    let before = said(&*layout.open(store, place).unwrap());
    let count = CONVERTED.replace(CONVERTED.get() + 1);
    if before.len() > MOST_ENTRIES || count >= MOST_SESSIONS {
        return;
    }
    for to in TARGETS {
        let conversion = Conversion { to, id: None, project: None, dir: None, branch: None };
        let now = "2026-01-01T10:00:00Z".parse().unwrap();
        let plan = conversion.plan(store, layout, place, now);
        assert!(plan.is_ok(), "{} to {to}: {:?}", layout.name(), plan.err());
        let plan = plan.unwrap();
        assert_eq!(plan.report().entries.len(), before.len(), "{} to {to}", layout.name());
        let made: Arc<dyn Store> = Arc::new(MemoryStore::new());
        let place = plan.write(&made).unwrap();
        let target = format::find(to).unwrap();
        let mut after = said(&*target.open(&made, &place).unwrap());
        if target.is_external() {
            after.retain(|(kind, _)| kind != "record");
            let dropped = plan.report().count(Disposition::Dropped);
            assert_eq!(after.len() + dropped, before.len(), "{} to {to}", layout.name());
        } else {
            assert_eq!(after, before, "{} to {to}", layout.name());
        }
    }
}
