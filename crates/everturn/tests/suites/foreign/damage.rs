//! Files that were cut, glued and overwritten.

use everturn::format::SessionReader;
use serde_json::Value;

use crate::foreign::records::{FILE, files, talk};
use crate::foreign::support::{codes, counts, entries, lines, open, told};

fn read(bytes: &[u8]) -> Box<dyn SessionReader> {
    open("claude-code", FILE, bytes)
}

#[test]
fn a_last_line_that_is_cut_anywhere_takes_nothing_else_away() {
    let bytes = lines(&talk());
    let last = lines(&talk()[..3]).len();
    for end in last + 1..bytes.len() - 1 {
        let reader = read(&bytes[..end]);
        assert_eq!(told(&*reader).len(), 3, "cut at {end}");
        assert_eq!(codes(&reader.findings()), ["4 torn-tail"]);
        assert_eq!(counts(&*reader), [4, 3, 0, 1, 0]);
    }
    // Without its newline the last line is whole.
    assert_eq!(counts(&*read(&bytes[..bytes.len() - 1])), [4, 4, 0, 0, 0]);
}

#[test]
fn bad_lines_in_the_middle_hide_nothing_behind_them() {
    let good = lines(&talk());
    let text = String::from_utf8(good).unwrap();
    let all: Vec<&str> = text.lines().collect();
    for bad in 0..3 {
        let mut damaged = all.clone();
        damaged.insert(bad + 1, "{\"type\":\"user\",");
        let reader = read(damaged.join("\n").as_bytes());
        assert_eq!(told(&*reader).len(), 4);
        assert_eq!(codes(&reader.findings()), [format!("{} bad-line", bad + 2)]);
        assert_eq!(counts(&*reader), [5, 4, 0, 1, 0]);
    }
    // A record that is lost leaves one that follows nothing.
    let reader = read([all[0], "noise", all[2], all[3]].join("\n").as_bytes());
    assert_eq!(told(&*reader), ["1 user: One.", "2 user: Two.", "2 assistant: Second."]);
    assert_eq!(codes(&reader.findings()), ["2 bad-line", "3 dangling-parent"]);
    assert_eq!(counts(&*reader), [4, 2, 1, 1, 0]);
}

#[test]
fn records_on_one_line_are_both_there() {
    let text = String::from_utf8(lines(&talk())).unwrap();
    let all: Vec<&str> = text.lines().collect();
    for glue in 0..3 {
        let mut glued = String::new();
        for (at, line) in all.iter().enumerate() {
            glued.push_str(line);
            glued.push_str(if at == glue { "" } else { "\n" });
        }
        let reader = read(glued.as_bytes());
        assert_eq!(told(&*reader).len(), 4, "glued behind {glue}");
        assert_eq!(codes(&reader.findings()), [format!("{} glued-records", glue + 1)]);
        assert_eq!(counts(&*reader), [4, 3, 1, 0, 0]);
    }
}

#[test]
fn marks_carriage_returns_and_nul_bytes_are_no_content() {
    let text = String::from_utf8(lines(&talk())).unwrap();
    let marked = format!("\u{feff}{}", text.replace('\n', "\r\n"));
    let reader = read(marked.as_bytes());
    assert_eq!(told(&*reader).len(), 4);
    assert_eq!((reader.findings(), counts(&*reader)), (vec![], [4, 4, 0, 0, 0]));
    let padded = format!("{text}{}", "\0".repeat(512));
    let reader = read(padded.as_bytes());
    assert_eq!(told(&*reader).len(), 4);
    assert_eq!(codes(&reader.findings()), ["5 nul-tail"]);
    assert_eq!(counts(&*reader), [5, 4, 0, 1, 0]);
}

#[test]
fn values_that_are_no_objects_are_set_aside() {
    let mut bytes = lines(&talk());
    bytes.extend_from_slice(b"[1,2]\n\"text\"\n");
    let reader = read(&bytes);
    assert_eq!(codes(&reader.findings()), ["5 bad-record", "6 bad-record"]);
    assert_eq!(counts(&*reader), [6, 4, 0, 2, 0]);
}

#[test]
fn deep_and_odd_values_are_kept_as_they_are() {
    let deep = format!("{}1{}", "[".repeat(20_000), "]".repeat(20_000));
    let odd = format!(
        r#"{{"type":"user","uuid":"u9","parentUuid":null,"message":{{"role":"user","content":"half \ud800"}},"n":1e999,"n":2,"deep":{deep}}}"#
    );
    let reader = read(odd.as_bytes());
    assert!(told(&*reader)[0].starts_with("1 user: half \u{fffd}"));
    let raw = entries(&*reader, 1, 1)[0].raw.to_line();
    assert!(raw.contains("\\ud800") && raw.contains(&deep));
}

#[test]
fn damage_is_the_same_in_the_files_of_every_program() {
    for (layout, file, records) in files() {
        let texts: Vec<String> = records.iter().map(Value::to_string).collect();
        let check = |text: &str, expect: [u64; 4], codes_expected: &[&str]| {
            let reader = open(layout, file, text.as_bytes());
            assert_eq!(counts(&*reader)[..4], expect, "{layout}: {text}");
            assert_eq!(codes(&reader.findings()), codes_expected, "{layout}: {text}");
            let shown = entries(&*reader, 0, u64::MAX).len() as u64;
            assert_eq!(shown, expect[1] + expect[2], "{layout}: {text}");
        };
        let [one, two, three] = [&texts[0], &texts[1], &texts[2]];
        check(&format!("{one}\n{two}\n{three}"), [3, 3, 0, 0], &[]);
        check(&format!("\u{feff}{one}\r\n{two}\r\n{three}\r\n"), [3, 3, 0, 0], &[]);
        check(&format!("{one}\n{{\"x\n{two}\n{three}\n"), [4, 3, 0, 1], &["2 bad-line"]);
        check(&format!("{one}\n{two}{three}\n"), [3, 2, 1, 0], &["2 glued-records"]);
        check(&format!("{one}\n{two}\n{three}\n\0\0\0"), [4, 3, 0, 1], &["4 nul-tail"]);
        for end in 1..three.len() {
            let torn = three.get(..end).unwrap();
            check(&format!("{one}\n{two}\n{torn}"), [3, 2, 0, 1], &["3 torn-tail"]);
        }
        // Kinds and fields that nobody has seen are kept as they are.
        let newer = r#"{"type":"from-the-future","deep":{"a":[1e999,"\ud800"]}}"#;
        let reader = open(layout, file, format!("{one}\n{two}\n{three}\n{newer}\n").as_bytes());
        let raw: Vec<String> =
            entries(&*reader, 0, u64::MAX).iter().map(|entry| entry.raw.to_line()).collect();
        assert!(raw.iter().any(|raw| raw == newer), "{layout}: {raw:?}");
    }
}
