//! T2: a bad line in the middle, and several of them.

use everturn::finding::FindingCode;
use serde_json::Value;

use crate::failures::foreign::{codes, counts, open as open_file, told};
use crate::failures::kinds::{ALL, open};
use crate::failures::records::files;
use crate::failures::support::{at_byte, bytes, checked, log, numbers, played, read, starts};

/// What becomes of a line: cut off, overwritten, half of it zeroed.
fn spoil(line: &mut [u8], how: usize) {
    let half = line.len() / 2;
    match how % 3 {
        0 => line[half..].fill(b'x'),
        1 => line.fill(b'#'),
        _ => line[..half].fill(0),
    }
}

#[test]
fn t02_bad_lines_in_the_middle_hide_nothing_in_every_layout() {
    const TURNS: usize = 7;
    let sets: &[&[usize]] = &[&[2], &[4], &[6], &[2, 3], &[2, 5], &[3, 4, 5], &[2, 3, 4, 5, 6]];
    for kind in ALL.iter() {
        let (disk, file) = (played(kind, TURNS), log(kind));
        let good = bytes(&disk, &file);
        let starts = starts(&good);
        // In the log of a chat, other lines may stand between those of the messages.
        let line_of = |turn: usize| {
            let words = format!("Turn {turn}.");
            let has =
                |line: &&[usize]| String::from_utf8_lossy(&good[line[0]..line[1]]).contains(&words);
            starts.windows(2).position(|line| has(&line)).unwrap()
        };
        for (how, bad) in sets.iter().enumerate() {
            let place = format!("{}: turns {bad:?}", kind.layout);
            let mut damaged = good.clone();
            for turn in *bad {
                let line = line_of(*turn);
                spoil(&mut damaged[starts[line]..starts[line + 1] - 1], how);
            }
            let disk = disk.fork();
            disk.put_file(&file, &damaged);
            let (told, _) = read(kind, &open(&disk).unwrap());
            let expect: Vec<usize> = (1..=TURNS).filter(|turn| !bad.contains(turn)).collect();
            assert_eq!(numbers(&told), expect, "{place}: {told:?}");
            let found = checked(&disk);
            for turn in *bad {
                let line = line_of(*turn);
                let finding = at_byte(&found, &file, FindingCode::BadLine, starts[line]);
                let finding = finding.unwrap_or_else(|| panic!("{place}: {found:?}"));
                assert_eq!(finding.line, Some(line as u64 + 1), "{place}");
                assert!(!finding.message.is_empty(), "{place}");
            }
        }
    }
}

#[test]
fn t02_bad_lines_in_the_middle_hide_nothing_of_other_programs() {
    for (name, file, records) in files() {
        let texts: Vec<String> = records.iter().map(Value::to_string).collect();
        let expect = told(&*open_file(name, file, texts.join("\n").as_bytes()));
        for (noise, count) in [("noise", 1), ("{\"type\":\"user\",", 1), ("x\ny\n\u{1}", 3)] {
            let damaged = format!("{}\n{noise}\n{}\n{}\n", texts[0], texts[1], texts[2]);
            let reader = open_file(name, file, damaged.as_bytes());
            assert_eq!(told(&*reader), expect, "{name}: {noise:?}");
            assert_eq!(counts(&*reader)[..4], [3 + count, 3, 0, count], "{name}: {noise:?}");
            let found = reader.findings();
            assert_eq!(codes(&found)[0], "2 bad-line", "{name}: {noise:?}");
            assert_eq!(found[0].offset, Some(texts[0].len() as u64 + 1), "{name}: {noise:?}");
        }
    }
}
