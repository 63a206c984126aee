//! Timestamps in the form of the upstream program.

use jiff::Timestamp;

/// Formats a time in UTC like Python's `isoformat`: six digits of a second, or none if they are all zero.
#[must_use]
pub fn stamp(time: Timestamp) -> String {
    let micros = time.subsec_nanosecond().div_euclid(1000);
    let seconds = time.strftime("%Y-%m-%dT%H:%M:%S");
    match micros {
        0 => format!("{seconds}+00:00"),
        _ => format!("{seconds}.{micros:06}+00:00"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractions_of_a_second_have_six_digits_or_none() {
        for (given, expect) in [
            ("2026-01-14T16:05:00Z", "2026-01-14T16:05:00+00:00"),
            ("2026-01-14T09:10:51.675241Z", "2026-01-14T09:10:51.675241+00:00"),
            ("2026-01-14T09:10:51.0000419Z", "2026-01-14T09:10:51.000041+00:00"),
            ("2026-01-14T09:10:51.0000004Z", "2026-01-14T09:10:51+00:00"),
            ("2026-01-14T10:10:51.5+01:00", "2026-01-14T09:10:51.500000+00:00"),
        ] {
            assert_eq!(stamp(given.parse().unwrap()), expect);
        }
    }
}
