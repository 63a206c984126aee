//! T1: a last line that is torn after a kill or a power cut.

use everturn::finding::Code;
use serde_json::Value;

use crate::foreign::{codes, counts, layout, only, open as open_file, store, told};
use crate::kinds::{ALL, open};
use crate::records::files;
use crate::support::{at_byte, bytes, checked, log, numbers, played, quarantined, read};

#[test]
fn t01_a_torn_last_line_takes_nothing_else_away_in_every_layout() {
    for kind in ALL {
        let (before, file) = (played(kind, 2), log(kind));
        let (short, long) = (bytes(&before, &file), bytes(&played(kind, 3), &file));
        let last = long.strip_prefix(&short[..]).unwrap();
        let (expect, _) = read(kind, &open(&before.fork()).unwrap());
        assert!(last.len() > 20 && numbers(&expect) == [1, 2], "{}: {expect:?}", kind.layout);
        for cut in 1..last.len() - 1 {
            let place = format!("{}, cut at {cut}", kind.layout);
            let disk = before.fork();
            let torn = &last[..cut];
            disk.put(&file, &[&short[..], torn].concat());
            // Everything else loads, and the tail is reported.
            let store = open(&disk).unwrap();
            assert_eq!(read(kind, &store).0, expect, "{place}");
            let found = checked(&disk);
            assert!(at_byte(&found, &file, Code::TornTail, short.len()).is_some(), "{place}");
            // The next turn starts on a line of its own, and the damaged bytes are kept.
            drop(kind.begin(&store, "Turn 3.", crate::kinds::at(1)).unwrap());
            assert_eq!(numbers(&read(kind, &store).0), [1, 2, 3], "{place}");
            assert_eq!(quarantined(&disk), [torn], "{place}");
            let now = bytes(&disk, &file);
            assert!(now.starts_with(&short), "{place}");
            for line in now.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
                assert!(serde_json::from_slice::<Value>(line).is_ok(), "{place}");
            }
        }
    }
}

#[test]
fn t01_a_torn_last_line_takes_nothing_else_away_from_other_programs() {
    for (name, file, records) in files() {
        let texts: Vec<String> = records.iter().map(Value::to_string).collect();
        let whole = format!("{}\n{}\n", texts[0], texts[1]);
        let expect = told(&*open_file(name, file, whole.as_bytes()));
        for cut in 1..texts[2].len() {
            let torn = &texts[2][..cut];
            let damaged = format!("{whole}{torn}");
            let reader = open_file(name, file, damaged.as_bytes());
            assert_eq!(told(&*reader), expect, "{name}, cut at {cut}");
            assert_eq!(codes(&reader.findings()), ["3 torn-tail"], "{name}, cut at {cut}");
            assert_eq!(counts(&*reader)[..4], [3, 2, 0, 1], "{name}, cut at {cut}");
            // A copy has the damaged bytes beside it.
            let from = store(&[(file, damaged.as_bytes())]);
            let mended = layout(name).mended(&from, &only(layout(name), &from)).unwrap();
            let into = store(&[]);
            mended.write(&into).unwrap();
            let aside = crate::support::path(&format!("{file}.quarantine"));
            let aside = into.read(&aside, 0..u64::MAX).unwrap();
            assert_eq!(aside, format!("{torn}\n").into_bytes(), "{name}, cut at {cut}");
        }
    }
}
