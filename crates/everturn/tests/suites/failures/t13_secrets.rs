//! T13: secrets are found wherever they stand, and no byte of them is left; signatures stay.

use std::sync::Arc;

use base64::prelude::{BASE64_STANDARD, Engine};
use everturn::disk::sim::SimDisk;
use everturn::format::Transition;
use everturn::model::SessionRef;
use everturn::scan::SecretRules;
use everturn::scrub::{PurgeTarget, audit_file, list_originals, purge_originals, scrub_session};
use everturn::store::Store;

use crate::common::capabilities::KnownCapabilities;
use crate::failures::kinds::{ALL, Kind, at, holding, open, token};
use crate::failures::support::wrong;

fn scrub_and_purge(kind: &Kind, store: &Arc<dyn Store>, place: &SessionRef) {
    scrub_session(store, kind.layout(), place, SecretRules::standard(), at(50)).unwrap();
    let originals = list_originals(store, kind.layout(), place).unwrap();
    purge_originals(store, &[PurgeTarget { layout: kind.layout(), place, originals }]).unwrap();
}

#[test]
fn t13_no_byte_of_a_secret_is_left_after_a_scrub_in_every_layout() {
    for kind in ALL.iter() {
        let disk = SimDisk::new();
        let store = open(&disk).unwrap();
        kind.create(&store).unwrap();
        let packed = BASE64_STANDARD.encode(format!("key = {}\nand more of it\n", token()));
        let signature = "c2lnbmF0dXJlIG9mIHdoYXQgd2FzIHRob3VnaHQ=";
        kind.say(&store, "Turn 1.").unwrap();
        kind.say(&store, &format!("export GROQ_API_KEY={}", token())).unwrap();
        kind.say(&store, &format!("It printed {packed}, signed {signature}.")).unwrap();
        let place = kind.place(&store).unwrap();
        assert!(!holding(&disk, &token()).is_empty(), "{}", kind.layout);
        assert!(!holding(&disk, &packed).is_empty(), "{}", kind.layout);
        scrub_and_purge(kind, &store, &place);
        assert_eq!(holding(&disk, &token()), [], "{}", kind.layout);
        assert_eq!(holding(&disk, &packed), [], "{}", kind.layout);
        assert!(!holding(&disk, signature).is_empty(), "{}", kind.layout);
        let audit = String::from_utf8(store.read(&audit_file(), 0..u64::MAX).unwrap()).unwrap();
        assert!(audit.contains("groq-key"), "{audit}");
        kind.say(&store, "Turn 5.").unwrap();
        drop(store);
        assert_eq!(wrong(&disk), [""; 0], "{}", kind.layout);
    }
}

#[test]
fn t13_a_secret_in_an_archive_goes_too() {
    for kind in ALL.iter() {
        let disk = SimDisk::new();
        let store = open(&disk).unwrap();
        kind.create(&store).unwrap();
        kind.say(&store, &format!("The key is {}.", token())).unwrap();
        let place = kind.place(&store).unwrap();
        let stage = |stage, place: &SessionRef| {
            kind.layout().movable().transition(&store, place, stage, at(5), &mut |_| {})
        };
        if stage(Transition::Complete, &place).is_err() {
            continue;
        }
        let place = kind.place(&store).unwrap();
        let Ok(staged) = stage(Transition::Archive, &place) else { continue };
        assert!(!holding(&disk, &token()).is_empty(), "{}", kind.layout);
        scrub_and_purge(kind, &store, &staged.session);
        assert_eq!(holding(&disk, &token()), [], "{}", kind.layout);
    }
}
