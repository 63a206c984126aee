//! Text that was removed from sessions is removed from the catalog, too.

use std::fs;

use everturn_catalog::{ClearedCatalog, SummaryDetail};

use crate::damage::files;
use crate::support::{World, later, layouts};

/// Returns a word that acts as a secret, built here so that it is in no source file.
fn secret() -> String {
    format!("zq{}", "7kx".repeat(8))
}

/// Returns the number of catalog files that contain a text.
fn holding(world: &World, text: &str) -> usize {
    let has = |bytes: &[u8]| bytes.windows(text.len()).any(|window| window == text.as_bytes());
    files(&world.cache()).iter().filter(|file| has(&fs::read(file).unwrap())).count()
}

fn world() -> World {
    let world = World::new();
    for (number, layout) in layouts().iter().enumerate() {
        let id = if *layout == "campaign" { "camp_0001".to_owned() } else { format!("s-{number}") };
        world.session(layout, &id, &[&format!("The key is {}.", secret()), "And on."]);
    }
    world.update();
    world
}

#[test]
fn t13_nothing_is_left_of_what_the_catalog_knew() {
    let world = world();
    assert!(holding(&world, &secret()) > 0, "titles are kept as they are");
    assert!(!world.find(&secret()).0.is_empty());
    let forgotten = ClearedCatalog::clear(&world.cache()).unwrap().unwrap();
    assert_eq!(holding(&world, &secret()), 0);
    assert_eq!(files(&world.cache()), [world.cache().join("lock")]);
    // A list caches titles again meanwhile, but the index is not filled.
    let mut catalog = world.catalog();
    let sources = world.sources();
    let sessions = catalog.sessions(&sources, SummaryDetail::All, later());
    assert!(holding(&world, &secret()) > 0);
    catalog.update(&sources, &sessions, later(), &mut |_| {});
    assert!(!world.cache().join("index").is_dir(), "another process must wait");
    forgotten.finish().unwrap();
    assert_eq!(holding(&world, &secret()), 0);
    // The index is rebuilt.
    assert_eq!(world.find("key").0.len(), layouts().len());
}

#[test]
fn a_catalog_that_is_being_changed_is_left_alone() {
    let world = world();
    let (mut catalog, sources) = (world.catalog(), world.sources());
    let sessions = catalog.sessions(&sources, SummaryDetail::All, later());
    catalog.update(&sources, &sessions, later(), &mut |_| {});
    let before = files(&world.cache()).len();
    assert!(ClearedCatalog::clear(&world.cache()).unwrap().is_none());
    assert_eq!(files(&world.cache()).len(), before);
}
