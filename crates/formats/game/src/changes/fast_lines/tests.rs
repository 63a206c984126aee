//! The fast parser must agree with the complete one.

use super::*;
use everturn_value::tree::JsonTree;

fn slice(line: &str) -> TextSlice {
    TextSlice::from_text(line)
}

fn state() -> GameState {
    let world = r#"{"luna":{"trust":5,"mood":"calm"},"notes":["a","b"],"list":[1,2,3]}"#;
    GameState { world: JsonTree::parse(world).unwrap(), ..GameState::empty() }
}

/// A line in the form that Everturn writes, with these deltas.
fn line(deltas: &str) -> String {
    format!(
        r#"{{"deltaId":"delta-one-7-1","turnId":7,"eventId":"one-7-1","timestamp":1767261600000,"scope":"world","deltas":[{deltas}]}}"#
    )
}

const FITTING: &[&str] = &[
    r#"{"op":"set","path":"luna.mood","value":"glad","previousValue":"calm"}"#,
    r#"{"op":"set","path":"luna.mood","value":"say \"hi\"\n\u00e9","previousValue":"calm"}"#,
    r#"{"op":"set","path":"a.b.c","value":{"x":[1,{"y":null}]},"createdParents":2}"#,
    r#"{"op":"set","path":"new","value":-1.5e3,"position":0}"#,
    r#"{"op":"set","path":"new","value":0.25}"#,
    r#"{"op":"set","path":"list.1","value":true,"previousValue":2}"#,
    r#"{"op":"set","path":"","value":1}"#,
    r#"{"op":"delete","path":"luna.mood","previousValue":"calm","position":1}"#,
    r#"{"op":"delete","path":"list.0","previousValue":1,"positions":[0]}"#,
    r#"{"op":"push","path":"notes","value":"c","positions":[2]}"#,
    r#"{"op":"push","path":"notes","value":"c","positions":[0,2]}"#,
    r#"{"op":"pull","path":"notes","value":"a","positions":[0]}"#,
    r#"{"op":"pull","path":"notes","value":"z"}"#,
    r#"{"op":"increment","path":"luna.trust","value":10,"previousValue":5}"#,
];

#[test]
fn a_line_that_is_applied_as_it_stands_does_what_the_change_does_that_it_says() {
    for deltas in FITTING.iter().map(|delta| (*delta).to_owned()).chain([FITTING.join(",")]) {
        let text = line(&deltas);
        let read = ChangeLine::parse(&slice(&text)).unwrap();
        assert!(matches!(read.content, LineContent::Quick(..)), "{text}");
        let mut change = ChangeRecord::parse(&slice(&text)).unwrap();
        assert_eq!((read.turn_number(), read.deltas()), (7, change.group.deltas.len()));
        let (mut one, mut two) = (state(), state());
        let expected = two.apply(&mut change.group).map_err(|(_, error)| error);
        assert_eq!(read.apply(&mut one), expected, "{deltas}");
        assert_eq!(one.world.to_line(), two.world.to_line(), "{deltas}");
    }
}

#[test]
fn when_one_delta_cannot_be_applied_the_others_are_taken_back_and_the_error_is_the_same() {
    for bad in [
        r#"{"op":"increment","path":"luna.mood","value":1}"#,
        r#"{"op":"push","path":"luna.trust","value":1}"#,
        r#"{"op":"delete","path":"nobody.there"}"#,
        r#"{"op":"set","path":"list.9","value":1}"#,
        r#"{"op":"set","path":"luna.trust.deep","value":1}"#,
        r#"{"op":"pull","path":"notes","value":"q","positions":[0]}"#,
        r#"{"op":"set","path":"luna.mood"}"#,
    ] {
        for good in FITTING.iter().filter(|good| !good.contains(r#""path":"""#)) {
            let text = line(&format!("{good},{bad}"));
            let read = ChangeLine::parse(&slice(&text)).unwrap();
            assert!(matches!(read.content, LineContent::Quick(..)), "{text}");
            let (mut one, mut two) = (state(), state());
            let error = read.apply(&mut one).unwrap_err();
            let mut group = ChangeRecord::parse(&slice(&text)).unwrap().group;
            let (_, expected) = two.apply(&mut group).unwrap_err();
            assert_eq!((error.to_string(), error), (expected.to_string(), expected));
            assert!(one.is_same(&state()), "{text}: {}", one.world.to_line());
        }
    }
}

#[test]
fn lines_that_are_written_otherwise_are_read_the_slow_way() {
    let ours = line(FITTING[0]);
    for other in [
        ours.replace(",\"turnId\"", ", \"turnId\""),
        ours.replace("\"luna.mood\"", "[\"luna\",\"mood\"]"),
        ours.replace("\"luna.mood\"", "\"lun\\u0061.mood\""),
        ours.replace("1767261600000", "-5"),
        ours.replace("\"op\":\"set\",\"path\":\"luna.mood\"", "\"path\":\"luna.mood\",\"op\":\"set\""),
        ours.replace("}]}", "}],\"more\":1}"),
        r#"{"deltaId":"a","turnId":7,"target":"world","operation":"set","path":["luna","mood"],"previousValue":null,"newValue":"glad"}"#.to_owned(),
    ] {
        let read = ChangeLine::parse(&slice(&other)).unwrap();
        assert!(matches!(read.content, LineContent::Full(_)), "{other}");
        let mut one = state();
        read.apply(&mut one).unwrap();
        assert_eq!(one.world.text_at(&["luna", "mood"]).as_deref(), Some("\"glad\""), "{other}");
    }
}

#[test]
fn no_line_is_taken_that_is_no_change() {
    let ours = line(&FITTING.join(","));
    for end in 0..ours.len() {
        let Some(torn) = ours.get(..end) else { continue };
        assert!(ChangeLine::parse(&slice(torn)).is_err(), "{torn}");
    }
    // Whatever the fast parser accepts, the complete one accepts too, with the same turn.
    for at in 0..ours.len() {
        for byte in *b"\"\\{}[],:0a\x01" {
            let mut bytes = ours.clone().into_bytes();
            bytes[at] = byte;
            let Ok(text) = String::from_utf8(bytes) else { continue };
            let full = ChangeRecord::parse(&slice(&text));
            if let Some((turn, _, scope, parts)) = parse_fast(&text) {
                let full = full.unwrap_or_else(|error| panic!("{text}: {error}"));
                assert_eq!((full.turn, full.group.scope), (turn, scope), "{text}");
                assert_eq!(full.group.deltas.len(), parts.len(), "{text}");
            }
        }
    }
}
