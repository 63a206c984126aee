//! Recall and false positives over a corpus that is generated from a seed.

use std::collections::BTreeMap;

use base64::prelude::{BASE64_STANDARD, Engine};
use everturn_secrets::scan::{SecretEncoding, SecretRules};

use crate::lookalikes;
use crate::random::Random;
use crate::secrets::{FAMILIES, Made};
use crate::services::SERVICES;
use crate::surroundings::WAYS;

/// The number of secrets per family and context.
const EACH: u64 = 20;

/// The minimum share of secrets that must be found and masked.
const RECALL: f64 = 0.995;

/// The same for each family alone.
const RECALL_OF_A_FAMILY: f64 = 0.95;

#[derive(Default)]
struct Tally {
    made: usize,
    gone: usize,
    named: usize,
}

fn made(seed: u64, make: fn(&mut Random) -> Made) -> Made {
    make(&mut Random::new(seed))
}

/// The secret in a text that escapes line endings once or twice.
fn spellings(secret: &str) -> [String; 3] {
    [secret.to_owned(), secret.replace('\n', "\\n"), secret.replace('\n', "\\\\n")]
}

#[test]
fn t13_secrets_of_every_family_are_found_wherever_they_stand() {
    let rules = SecretRules::standard();
    let mut by_family: BTreeMap<&str, Tally> = BTreeMap::new();
    let mut missed = Vec::new();
    for (number, (family, make)) in FAMILIES.iter().chain(SERVICES).enumerate() {
        for (way, put) in WAYS {
            for seed in 0..EACH {
                let Made { before, secret, after } = made(seed * 1000 + number as u64, *make);
                let text = put(&format!("{before}{secret}{after}"));
                let (masked, counts) = rules.mask(&text);
                let tally = by_family.entry(family).or_default();
                tally.made += 1;
                tally.named += usize::from(counts.contains_key(family));
                if spellings(&secret).iter().any(|it| masked.contains(it.as_str())) {
                    missed.push(format!("{family} in {way}"));
                } else {
                    tally.gone += 1;
                }
                assert!(rules.find(&masked).is_empty(), "{family} in {way}: {masked}");
            }
        }
    }
    let (made, gone) = by_family.values().fold((0, 0), |(a, b), it| (a + it.made, b + it.gone));
    let named: usize = by_family.values().map(|it| it.named).sum();
    let share = |part: usize, of: usize| part as f64 / of as f64;
    missed.dedup();
    println!(
        "{} families, {made} secrets: {:.3} found, {:.3} by their own name; missed: {missed:?}",
        by_family.len(),
        share(gone, made),
        share(named, made),
    );
    for (family, tally) in &by_family {
        assert!(share(tally.gone, tally.made) >= RECALL_OF_A_FAMILY, "{family}: {missed:?}");
    }
    assert!(share(gone, made) >= RECALL, "{missed:?}");
    assert!(share(named, made) >= 0.95, "{}", share(named, made));
}

#[test]
fn every_family_is_in_the_corpus() {
    let mut named: Vec<&str> = FAMILIES.iter().chain(SERVICES).map(|(family, _)| *family).collect();
    named.sort_unstable();
    named.dedup();
    assert_eq!(SecretRules::families(), named);
    assert!(named.len() >= 25);
}

#[test]
fn what_only_looks_like_a_secret_is_left_alone() {
    let rules = SecretRules::standard();
    let (mut texts, mut bytes, mut wrong) = (0, 0, Vec::new());
    for seed in 0..20 {
        for text in lookalikes::all(&mut Random::new(seed)) {
            texts += 1;
            bytes += text.len();
            let hits = rules.find(&text);
            wrong.extend(
                hits.into_iter().map(|hit| format!("{}: {}", hit.family, &text[hit.range])),
            );
        }
    }
    println!("{texts} look-alikes, {} KB: {} false alarms {wrong:?}", bytes >> 10, wrong.len());
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn secrets_in_base64_are_found_wherever_they_begin() {
    let rules = SecretRules::standard();
    let (mut made_count, mut gone) = (0, 0);
    let mut missed = Vec::new();
    for (number, (family, make)) in FAMILIES.iter().enumerate() {
        for seed in 0..6 {
            let Made { before, secret, after } = made(seed * 1000 + number as u64, *make);
            // Only secrets with a distinctive prefix can be found in base64.
            if !before.is_empty() {
                continue;
            }
            let pad = "x".repeat(usize::try_from(seed).unwrap() % 3);
            let text = format!("name{pad} = {secret}{after}\nmore of it\n");
            let around = format!("{{\"data\":\"{}\"}}", BASE64_STANDARD.encode(&text));
            let hits = rules.find(&around);
            made_count += 1;
            let (masked, _) = rules.mask(&around);
            let inner = masked.split('"').nth(3).unwrap();
            let decoded = String::from_utf8(BASE64_STANDARD.decode(inner).unwrap()).unwrap();
            if hits.iter().any(|hit| hit.form == SecretEncoding::Base64)
                && !decoded.contains(&secret)
            {
                gone += 1;
                assert!(
                    decoded.ends_with("\nmore of it\n") && decoded.starts_with("name"),
                    "{decoded}"
                );
            } else {
                missed.push(*family);
            }
        }
    }
    missed.dedup();
    println!("{made_count} secrets in base64, {gone} found; missed: {missed:?}");
    assert!(gone as f64 / made_count as f64 >= 0.92, "{missed:?}");
}

/// Prints what is found in a directory of ordinary source code: `EVERTURN_SOURCES=~/.cargo/registry/src cargo test
/// --release -p everturn-secrets --test scan -- --ignored --nocapture`.
#[test]
#[ignore = "a measurement over a directory of the caller"]
#[expect(clippy::disallowed_methods, reason = "the measurement reads files of others")]
fn precision_over_ordinary_sources() {
    let Some(root) = std::env::var_os("EVERTURN_SOURCES") else { return };
    let rules = SecretRules::standard();
    let (mut files, mut bytes, mut hits) = (0_u64, 0_u64, BTreeMap::<String, usize>::new());
    let mut by_file: Vec<(usize, String)> = Vec::new();
    let mut waiting = vec![std::path::PathBuf::from(root)];
    while let Some(path) = waiting.pop() {
        let Ok(data) = std::fs::symlink_metadata(&path) else { continue };
        if data.is_dir() {
            let entries = std::fs::read_dir(&path).unwrap();
            waiting.extend(entries.map(|entry| entry.unwrap().path()));
        } else if data.is_file() {
            let Ok(content) = std::fs::read(&path) else { continue };
            (files, bytes) = (files + 1, bytes + content.len() as u64);
            let found = rules.find_bytes(&content);
            for hit in &found {
                let key = format!("{} {}", hit.family, hit.certainty.as_str());
                *hits.entry(key).or_default() += 1;
            }
            by_file.push((found.len(), path.display().to_string()));
        }
    }
    by_file.sort();
    let total: usize = hits.values().sum();
    println!("{files} files, {} MB: {total} hits\n{hits:#?}", bytes >> 20);
    by_file.iter().rev().take(12).for_each(|(count, file)| println!("{count} {file}"));
}
