//! Only the chosen parts are exported.

use std::collections::BTreeMap;

use everturn_export::{
    ExportError, ExportFormat, ExportOptions, ExportPart, ExportStyle, MaskedText, SecretMask,
};

use crate::support::{chat, codelia, game, told};

fn choices(format: ExportFormat, change: impl FnOnce(&mut ExportOptions)) -> ExportOptions {
    let mut choices = ExportOptions::defaults_for(format, ExportStyle::Rich);
    change(&mut choices);
    choices
}

/// Each part has a unique word.
#[test]
fn each_part_can_be_left_out_of_every_format() {
    for format in ExportFormat::ALL {
        for (part, session, word) in [
            (ExportPart::Snapshots, game(), "trust"),
            (ExportPart::Ooc, chat(), "skip ahead"),
            (ExportPart::Thinking, codelia(), "forgot an import"),
            (ExportPart::Tools, codelia(), "src/main.rs"),
        ] {
            for wanted in [true, false] {
                let choices = choices(*format, |choices| choices.set(part, wanted));
                let made = session.export(*format, &choices);
                assert_eq!(made.contains(word), wanted, "{format:?} {part:?}");
            }
        }
        for wanted in [true, false] {
            let choices = choices(*format, |choices| choices.set(ExportPart::Metadata, wanted));
            let word = match format {
                ExportFormat::Json => "\"layout\": \"game\"",
                ExportFormat::Markdown => "layout: \"game\"",
                _ => "session-abc123 (game)",
            };
            let made = game().export(*format, &choices);
            assert_eq!(made.contains(word), wanted, "{format:?} metadata");
        }
    }
}

#[test]
fn one_speaker_is_heard_alone() {
    for format in ExportFormat::ALL {
        let made =
            game().export(*format, &choices(*format, |it| it.speaker = Some("luna".to_owned())));
        assert!(made.contains("do not look back"), "{format:?}");
        for other in ["fruit seller", "It is dark", "was saved", "trust"] {
            assert!(!made.contains(other), "{format:?} {other}");
        }
    }
    let nobody = choices(ExportFormat::Text, |it| it.speaker = Some("Nobody".to_owned()));
    match game().try_export(ExportFormat::Text, &nobody, None, None).unwrap_err() {
        ExportError::NoSpeaker { name, speakers } => {
            assert_eq!(name, "Nobody");
            assert_eq!(speakers, ["gm", "player", "luna", "system"]);
        }
        other => panic!("{other}"),
    }
}

#[test]
fn only_the_turns_that_are_wanted_are_there() {
    for format in ExportFormat::ALL {
        let made = game()
            .export(*format, &choices(*format, |it| (it.first, it.last) = (Some(5), Some(6))));
        assert!(made.contains("Something moves"), "{format:?}");
        assert!(made.contains("The temple"), "{format:?}");
        for other in ["fruit seller", "was saved", "The market", "Arrivals"] {
            assert!(!made.contains(other), "{format:?} {other}");
        }
    }
}

#[test]
fn marks_stand_before_what_they_mark() {
    for format in [ExportFormat::Text, ExportFormat::Markdown, ExportFormat::Html] {
        let made = game().rich(format);
        let body = made.split_once("<main>").map_or(made.as_str(), |(_, main)| main);
        let places: Vec<usize> = [
            "Arrivals",
            "The market",
            "fruit seller",
            "trust",
            "The temple",
            "before the dark",
            "Something moves",
            "was saved",
        ]
        .iter()
        .map(|word| body.find(word).unwrap_or_else(|| panic!("{format:?} has no {word}")))
        .collect();
        assert!(places.is_sorted(), "{format:?} {places:?}");
    }
}

/// Treats every word that begins with `key-` as a secret.
struct Keys;

impl SecretMask for Keys {
    fn mask<'t>(&self, text: &'t str) -> MaskedText<'t> {
        let mut masked = text.to_owned();
        let mut count = 0;
        while let Some(at) = masked.find("key-") {
            let end = masked[at..].find([' ', '"', '\n', '.']).map_or(masked.len(), |end| at + end);
            masked.replace_range(at..end, "[masked]");
            count += 1;
        }
        match count {
            0 => MaskedText { text: text.into(), counts: BTreeMap::new() },
            count => MaskedText {
                text: masked.into(),
                counts: BTreeMap::from([("key".to_owned(), count)]),
            },
        }
    }
}

#[test]
fn secrets_are_masked_once_and_counted_in_every_format() {
    let session = told(&["The password is key-123456.", "Nothing.", "Again key-1 and key-2."]);
    for format in ExportFormat::ALL {
        let usual = ExportOptions::defaults_for(*format, ExportStyle::Rich);
        let (made, report) = session.try_export(*format, &usual, None, Some(&Keys)).unwrap();
        assert!(!made.contains("key-1"), "{format:?}");
        assert_eq!(made.matches("masked").count(), 3, "{format:?}");
        assert_eq!(report.masked, BTreeMap::from([("key".to_owned(), 3)]), "{format:?}");
        assert_eq!((report.entries, report.turns), (3, 3));
        assert!(session.rich(*format).contains("key-123456"));
    }
}

#[test]
fn secrets_in_states_names_and_calls_are_masked_too() {
    use everturn::model::{MarkKind, NewMark};
    let turns = [r#"{"actor": "key-actor", "events": [{"type": "x", "description": "Hello."}],
            "deltas": [{"scope": "world", "deltas": [{"op": "set", "path": "safe.key-path", "value": "key-value"}]}]}"#];
    let mark = NewMark {
        kind: MarkKind::Chapter,
        name: "key-mark".to_owned(),
        description: "key-about".to_owned(),
        turn: Some(1),
        entry: None,
    };
    let session = crate::support::session(
        "game",
        "one",
        r#"{"player": {"name": "key-player"}}"#,
        &turns,
        &[mark],
    );
    for format in ExportFormat::ALL {
        let usual = ExportOptions::defaults_for(*format, ExportStyle::Rich);
        let (made, _) = session.try_export(*format, &usual, None, Some(&Keys)).unwrap();
        assert!(!made.contains("key-"), "{format:?}\n{made}");
    }
}
