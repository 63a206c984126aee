//! The tables are complete in both languages, and no text in them can be taken for a claim.

use std::collections::BTreeSet;

use super::*;
use crate::conflict::is_harmless;

fn packs() -> [&'static LanguagePack; 2] {
    [LanguagePack::of(Tongue::English), LanguagePack::of(Tongue::German)]
}

#[test]
fn both_languages_have_the_same_entries() {
    let [english, german] = packs();
    let ids = |list: &[TableEntry]| list.iter().map(|entry| entry.id.clone()).collect::<Vec<_>>();
    for (one, other) in [
        (&english.people, &german.people),
        (&english.items, &german.items),
        (&english.foes, &german.foes),
        (&english.quests, &german.quests),
        (&english.obstacles, &german.obstacles),
    ] {
        assert_eq!(ids(one), ids(other));
        for (entry, same) in one.iter().zip(other) {
            assert_eq!(entry.tags, same.tags, "{}", entry.id);
            let keys = |entry: &TableEntry| {
                entry
                    .fields
                    .iter()
                    .map(|(key, _)| key.clone())
                    .filter(|key| key != "oblique")
                    .collect::<BTreeSet<_>>()
            };
            assert_eq!(keys(entry), keys(same), "{}", entry.id);
        }
    }
    assert_eq!(
        english.phrases.keys().collect::<Vec<_>>(),
        german.phrases.keys().collect::<Vec<_>>()
    );
    assert_eq!(english.prefixes.len(), german.prefixes.len());
    for (one, other) in english.places.iter().zip(&german.places) {
        assert_eq!(one.id, other.id);
        assert_eq!(one.nouns.len(), other.nouns.len());
        assert_eq!(one.scenery.len(), other.scenery.len());
    }
}

#[test]
fn there_is_enough_to_tell() {
    for pack in packs() {
        let places: usize = pack.places.iter().map(|kind| kind.nouns.len()).sum();
        assert!(places >= 40, "{places}");
        assert!(pack.people.len() >= 30 && pack.foes.len() >= 25 && pack.items.len() >= 30);
        assert!(pack.quests.iter().filter(|quest| quest.id != "own").count() >= 20);
        for kind in &pack.places {
            assert!(
                kind.sights.len() >= 3 && kind.senses.len() >= 3 && kind.scenery.len() >= 3,
                "{}",
                kind.id
            );
        }
    }
}

#[test]
fn no_text_claims_a_change() {
    for pack in packs() {
        let inputs =
            ["rule_words", "quest_words", "rumour_words", "persuade_words", "guardian_words"];
        let phrases = pack.phrases.iter().filter(|(id, _)| !inputs.contains(&id.as_str()));
        let mut texts: Vec<&String> = phrases.flat_map(|(_, variants)| variants).collect();
        for kind in &pack.places {
            texts.extend(kind.sights.iter().chain(&kind.senses));
            texts.extend(kind.scenery.iter().map(|thing| &thing.detail));
        }
        let tables = [&pack.people, &pack.items, &pack.foes, &pack.quests, &pack.obstacles];
        for entry in tables.into_iter().flatten() {
            texts.extend(
                entry.fields.iter().filter(|(key, _)| key != "words").map(|(_, value)| value),
            );
        }
        for text in texts {
            assert!(is_harmless(text), "{text}");
            assert_eq!(text.matches('{').count(), text.matches('}').count(), "{text}");
        }
        for prefix in &pack.prefixes {
            for (noun, _) in pack.places.iter().flat_map(|kind| &kind.nouns) {
                let name = match pack.tongue {
                    Tongue::English => format!("{prefix} {noun}"),
                    Tongue::German => format!("{prefix}{}", noun.to_lowercase()),
                };
                assert!(is_harmless(&name), "{name}");
            }
        }
    }
}

#[test]
fn what_people_and_foes_want_exists() {
    for pack in packs() {
        for entry in pack.people.iter().chain(&pack.foes) {
            for tag in &entry.tags {
                assert!(
                    pack.items.iter().any(|item| item.has_tag(tag)),
                    "{} wants {tag}",
                    entry.id
                );
                assert!(!pack.tag(tag).is_empty(), "{tag}");
            }
        }
        for obstacle in &pack.obstacles {
            assert!(
                pack.items.iter().any(|item| obstacle.tags.iter().any(|tag| item.has_tag(tag)))
            );
        }
    }
}
