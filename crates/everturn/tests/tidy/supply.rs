//! Rules about the crates of others: where they come from, their licences, and that few are there twice.
//!
//! `cargo deny` checks the same, but takes minutes to build; these need only `cargo tree` and `Cargo.lock`.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

const LOCK: &str = include_str!("../../../../Cargo.lock");

/// The licences that the binary may contain.
const LICENCES: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "MIT-0",
    "MPL-2.0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// Crates that must not be used: TLS is rustls, YAML is our own reader.
const BANNED: &[&str] = &["async-std", "native-tls", "openssl", "openssl-sys", "serde_yaml"];

/// Crates with more than one version. The list may only become shorter.
const TWICE: &[&str] = &[
    "base64",
    "bitflags",
    "const-oid",
    "convert_case",
    "crypto-common",
    "digest",
    "fallible-iterator",
    "foldhash",
    "font-types",
    "getrandom",
    "hashbrown",
    "libloading",
    "lru",
    "miniz_oxide",
    "nom",
    "phf",
    "phf_shared",
    "r-efi",
    "rand",
    "rand_core",
    "read-fonts",
    "skrifa",
    "spin",
    "syn",
    "wasi",
    "weezl",
    "windows-sys",
];

/// The only source of crates.
const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// The values of a field in `Cargo.lock`, by crate.
fn locked<'l>(lock: &'l str, field: &str) -> Vec<(&'l str, Option<&'l str>)> {
    let value = |line: &'l str, name: &str| {
        line.strip_prefix(name)?.strip_prefix(" = \"")?.strip_suffix('"')
    };
    let packages = lock.split("[[package]]\n").skip(1);
    packages
        .filter_map(|package| {
            let name = package.lines().find_map(|line| value(line, "name"))?;
            Some((name, package.lines().find_map(|line| value(line, field))))
        })
        .collect()
}

/// Whether an expression such as `(MIT OR Apache-2.0) AND ISC` can be met by these licences.
fn is_allowed(expression: &str) -> bool {
    let spaced = expression.replace('/', " OR ");
    spaced.split(" AND ").all(|part| {
        let part = part.trim().trim_start_matches('(').trim_end_matches(')');
        part.split(" OR ").any(|licence| LICENCES.contains(&licence.trim()))
    })
}

#[test]
fn expressions_of_licences_are_understood() {
    for fine in ["MIT", "MIT/Apache-2.0", "GPL-2.0 OR MIT", "(MIT OR X) AND ISC"] {
        assert!(is_allowed(fine), "{fine}");
    }
    for wrong in ["GPL-3.0", "MIT AND GPL-2.0", "", "(GPL-2.0 OR X) AND MIT"] {
        assert!(!is_allowed(wrong), "{wrong}");
    }
}

#[test]
fn licences_of_crates_are_allowed() {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(env!("CARGO_MANIFEST_DIR"));
    cargo.args(["tree", "--offline", "--locked", "--workspace", "--all-features"]);
    cargo.args(["--edges", "normal,build", "--prefix", "none", "--format", "{p}\t{l}"]);
    let output = cargo.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let tree = String::from_utf8(output.stdout).unwrap();
    let lines: BTreeSet<&str> = tree.lines().filter(|line| !line.is_empty()).collect();
    assert!(lines.len() > 100, "{tree}");
    let is_wrong = |line: &&&str| {
        let licence = line.split('\t').nth(1).unwrap_or_default();
        !is_allowed(licence.trim_end_matches(" (*)"))
    };
    let wrong: Vec<_> = lines.iter().filter(is_wrong).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn crates_come_from_one_registry_and_none_is_banned() {
    let foreign: Vec<_> = locked(LOCK, "source")
        .into_iter()
        .filter(|(name, source)| {
            source.is_some_and(|source| source != REGISTRY) || BANNED.contains(name)
        })
        .collect();
    assert!(foreign.is_empty(), "{foreign:?}");
    let made_up = "[[package]]\nname = \"a\"\nsource = \"git+https://x\"\n";
    assert_eq!(locked(made_up, "source"), [("a", Some("git+https://x"))]);
}

#[test]
fn few_crates_are_there_twice() {
    let mut versions: BTreeMap<&str, usize> = BTreeMap::new();
    for (name, _) in locked(LOCK, "version") {
        *versions.entry(name).or_default() += 1;
    }
    let twice: Vec<&str> =
        versions.into_iter().filter(|(_, count)| *count > 1).map(|(name, _)| name).collect();
    assert_eq!(twice, TWICE, "shorten the list, or avoid another version");
}
