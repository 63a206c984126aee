//! T3: two records on one line, at the start, in the middle and at the end of a file.

use everturn::finding::FindingCode;
use serde_json::Value;

use crate::failures::foreign::{codes, open as open_file, told};
use crate::failures::kinds::{ALL, open};
use crate::failures::records::files;
use crate::failures::support::{at_byte, bytes, checked, log, played, read, starts};

#[test]
fn t03_glued_records_are_both_there_in_their_order_in_every_layout() {
    for kind in ALL.iter() {
        let (disk, file) = (played(kind, 4), log(kind));
        let good = bytes(&disk, &file);
        let (expect, _) = read(kind, &open(&disk).unwrap());
        let starts = starts(&good);
        // Without the newline between each two lines, and without that and the last one.
        for second in &starts[1..starts.len() - 1] {
            let mut glued = good.clone();
            glued.remove(second - 1);
            for tail in [&glued[..], &glued[..glued.len() - 1]] {
                let disk = disk.fork();
                disk.put_file(&file, tail);
                let store = open(&disk).unwrap();
                assert_eq!(read(kind, &store).0, expect, "{}: glued at {second}", kind.layout);
                let found = checked(&disk);
                let finding = at_byte(&found, &file, FindingCode::GluedRecords, second - 1);
                assert!(finding.is_some(), "{}: {found:?}", kind.layout);
                // Whoever goes on does not glue anything to it.
                drop(kind.begin(&store, "Turn 5.", crate::failures::kinds::at(1)).unwrap());
                let told = read(kind, &store).0;
                assert_eq!(told[..expect.len()], expect[..], "{}", kind.layout);
                assert!(told.len() > expect.len(), "{}", kind.layout);
            }
        }
    }
}

#[test]
fn t03_glued_records_of_other_programs_are_both_there() {
    for (name, file, records) in files() {
        let texts: Vec<String> = records.iter().map(Value::to_string).collect();
        let [one, two, three] = [&texts[0], &texts[1], &texts[2]];
        let expect = told(&*open_file(name, file, texts.join("\n").as_bytes()));
        let check = |text: String, found: &[&str]| {
            let reader = open_file(name, file, text.as_bytes());
            assert_eq!(told(&*reader), expect, "{name}: {text}");
            assert_eq!(codes(&reader.findings()), found, "{name}: {text}");
        };
        check(format!("{one}{two}\n{three}\n"), &["1 glued-records"]);
        check(format!("{one} {two}\n{three}\n"), &["1 glued-records"]);
        check(format!("{one}\n{two}{three}\n"), &["2 glued-records"]);
        check(format!("{one}\n{two}{three}"), &["2 glued-records"]);
        check(format!("{one}{two}{three}"), &["1 glued-records"]);
    }
}
