//! Sentences that players write, with the intent and the object that must be recognised.

use super::*;
use crate::embedded::grammar::Tongue;

/// Checks sentences of the form `intent | input = object / second object`.
fn check(tongue: Tongue, sentences: &str) {
    let pack = LanguagePack::of(tongue);
    let mut wrong = Vec::new();
    let lines = sentences.lines().filter(|line| !line.starts_with('#'));
    for line in lines.clone() {
        let (id, sentence) = line.split_once('|').unwrap();
        let intent = match id.trim() {
            "mention" => Intent::Mention,
            id => Intent::parse(id).unwrap_or_else(|| panic!("{id} is not an intent")),
        };
        let (input, expect) = sentence.split_once('=').unwrap_or((sentence, ""));
        let parsed = understand(pack, input.trim());
        let mut found = parsed.object.join(" ");
        if !parsed.second.is_empty() {
            found = format!("{found} / {}", parsed.second.join(" "));
        }
        if !parsed.addressee.is_empty() {
            found = format!("{}: {found}", parsed.addressee.join(" "));
        }
        if (parsed.intent, found.trim()) != (intent, expect.trim()) {
            wrong.push(format!("{line}: {:?} {found:?}", parsed.intent));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(lines.count() >= 100);
}

#[test]
fn english_sentences_are_understood() {
    check(Tongue::English, include_str!("sentences_en.txt"));
}

#[test]
fn german_sentences_are_understood() {
    check(Tongue::German, include_str!("sentences_de.txt"));
}

#[test]
fn a_second_action_is_left_for_later() {
    let rest = |input: &str| understand(LanguagePack::of(Tongue::English), input).rest;
    assert_eq!(rest("take the lamp and light it"), "light it");
    assert_eq!(rest("go north. Then rest"), "Then rest");
    assert_eq!(rest("take flint and steel"), "");
    assert_eq!(rest("look."), "");
}

#[test]
fn other_languages_are_noticed() {
    for input in
        ["門が開く", "осмотреться", "je regarde la table", "¿dónde está el rey?", "guardo la porta"]
    {
        assert!(is_foreign(input), "{input}");
    }
    for input in ["look around", "schau dich um", "asdf", "", "take the café key"] {
        assert!(!is_foreign(input), "{input}");
    }
}

#[test]
fn every_intent_has_words_in_both_languages() {
    for tongue in [Tongue::English, Tongue::German] {
        let pack = LanguagePack::of(tongue);
        for intent in Intent::ALL {
            assert!(
                pack.patterns.iter().any(|(known, _)| known == intent),
                "{tongue:?} {intent:?}"
            );
        }
    }
}
