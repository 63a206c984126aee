//! The fields of change lines that are the same in both dialects.

use super::*;

#[test]
fn times_are_numbers_or_texts() {
    let line = |time: &str| {
        let text = format!(
            r#"{{"deltaId":"d","turnId":1,"timestamp":{time},"scope":"world","deltas":[]}}"#
        );
        ChangeRecord::parse(&TextSlice::from_text(text)).unwrap().time
    };
    assert_eq!(line("1000"), Some(1000));
    assert_eq!(line(r#""1970-01-01T00:00:01Z""#), Some(1000));
    assert_eq!(line("null"), None);
    let odd = r#"{"deltaId":"d","turnId":1,"timestamp":1.5,"scope":"world","deltas":[]}"#;
    assert!(ChangeRecord::parse(&TextSlice::from_text(odd)).is_err());
}
