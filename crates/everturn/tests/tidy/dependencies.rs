//! Rules about the crates that a program gets: few, and no C unless it asks for agents.

use std::collections::BTreeSet;
use std::process::Command;

/// The crates that a program with one feature gets, counted with the crate itself.
const MOST_WITH_GAME: usize = 60;
const MOST_WITH_STORE: usize = 20;

/// Crates that compile C code.
const WITH_C: &[&str] = &["cc", "libsqlite3-sys", "ring", "zstd-sys"];

/// The names and versions in the output of `cargo tree --prefix none`.
fn crates_in(tree: &str) -> BTreeSet<(&str, &str)> {
    let crates = tree.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        Some((words.next()?, words.next()?))
    });
    crates.collect()
}

fn tree(words: &[&str]) -> String {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(env!("CARGO_MANIFEST_DIR")).args(["tree", "--offline", "--locked"]);
    cargo.args(["--edges", "normal,build", "--prefix", "none"]).args(words);
    let output = cargo.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[track_caller]
fn check_tree(words: &[&str], most: usize) {
    let tree = tree(words);
    let crates = crates_in(&tree);
    let with_c: Vec<_> = crates.iter().filter(|(name, _)| WITH_C.contains(name)).collect();
    assert!(with_c.is_empty(), "{words:?}: {with_c:?}");
    assert!(crates.len() <= most, "{words:?}: {} crates\n{tree}", crates.len());
}

#[test]
fn a_game_gets_few_crates_and_no_c() {
    let words = ["--package", "everturn", "--no-default-features", "--features", "game"];
    check_tree(&words, MOST_WITH_GAME);
}

#[test]
fn the_store_alone_gets_few_crates_and_no_c() {
    check_tree(&["--package", "everturn-store"], MOST_WITH_STORE);
}

#[test]
fn agents_bring_c_which_the_test_sees() {
    let words = ["--package", "everturn", "--no-default-features", "--features", "agents"];
    let tree = tree(&words);
    assert!(crates_in(&tree).iter().any(|(name, _)| WITH_C.contains(name)), "{tree}");
}
