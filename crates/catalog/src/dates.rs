//! Parses dates as people write them: days, months and years, or how long ago.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, ToSpan};

/// The period that a date denotes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DatePeriod {
    /// The first instant of the period.
    pub start: Timestamp,
    /// The first instant after the period.
    pub end: Timestamp,
}

/// Parses a date such as `2026-01-03`, `2026-01`, `yesterday`, `3d`, `2w`, or an RFC 3339 time. Days are UTC days; a
/// relative date such as `3d` is an instant.
///
/// ```
/// use everturn_catalog::parse_period;
///
/// let now = "2026-03-10T12:00:00Z".parse()?;
/// let day = parse_period("2026-01-03", now).ok_or("no date")?;
/// assert_eq!(day.start.to_string(), "2026-01-03T00:00:00Z");
/// assert_eq!(day.end.to_string(), "2026-01-04T00:00:00Z");
/// assert_eq!(parse_period("2w", now).ok_or("no date")?.start.to_string(), "2026-02-24T12:00:00Z");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn parse_period(text: &str, now: Timestamp) -> Option<DatePeriod> {
    let today = now.to_zoned(TimeZone::UTC).date();
    let day = |date: Date| days(date, date.checked_add(1.day()).ok()?);
    match text {
        "today" => return day(today),
        "yesterday" => return day(today.checked_sub(1.day()).ok()?),
        _ => {}
    }
    let moment = |moment: Timestamp| {
        let end = moment.checked_add(SignedDuration::from_nanos(1)).unwrap_or(moment);
        Some(DatePeriod { start: moment, end })
    };
    if let Some(ago) = parse_duration(text) {
        return moment(now.checked_sub(ago).ok()?);
    }
    if text.len() > "2026-01-03".len() {
        return moment(text.parse().ok()?);
    }
    let mut numbers = text.split('-').map(|part| {
        part.bytes().all(|byte| byte.is_ascii_digit()).then(|| part.parse::<i16>().ok()).flatten()
    });
    let year = numbers.next()?.filter(|_| text.len() >= "2026".len())?;
    let month = numbers.next();
    let date = numbers.next();
    let small = |number: Option<i16>| i8::try_from(number?).ok();
    match (month, date, numbers.next()) {
        (None, ..) => {
            days(Date::new(year, 1, 1).ok()?, Date::new(year.checked_add(1)?, 1, 1).ok()?)
        }
        (Some(month), None, _) => {
            let first = Date::new(year, small(month)?, 1).ok()?;
            days(first, first.checked_add(1.month()).ok()?)
        }
        (Some(month), Some(date), None) => day(Date::new(year, small(month)?, small(date)?).ok()?),
        _ => None,
    }
}

/// Returns the period from one day to another.
fn days(first: Date, after: Date) -> Option<DatePeriod> {
    let start = |date: Date| Some(date.to_zoned(TimeZone::UTC).ok()?.timestamp());
    Some(DatePeriod { start: start(first)?, end: start(after)? })
}

/// Parses a relative date such as `3d`.
fn parse_duration(text: &str) -> Option<SignedDuration> {
    let unit = text.chars().next_back()?;
    let count: i64 = text.strip_suffix(unit)?.parse().ok().filter(|count| *count >= 0)?;
    let hours: i64 = match unit {
        'h' => 1,
        'd' => 24,
        'w' => 24 * 7,
        'm' => 24 * 30,
        'y' => 24 * 365,
        _ => return None,
    };
    Some(SignedDuration::from_secs(count.checked_mul(hours)?.checked_mul(3600)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expect: &str) {
        let now = "2026-03-10T12:00:00Z".parse().unwrap();
        let is_moment =
            |start: Timestamp, end: Timestamp| end.duration_since(start).as_nanos() == 1;
        let found =
            parse_period(text, now).map(|DatePeriod { start, end }| match is_moment(start, end) {
                true => start.to_string(),
                false => format!("{start} {end}"),
            });
        assert_eq!(found.unwrap_or_else(|| "nothing".to_owned()), expect, "{text:?}");
    }

    #[test]
    fn a_date_means_the_time_that_it_covers() {
        check("2026-01-03", "2026-01-03T00:00:00Z 2026-01-04T00:00:00Z");
        check("2026-12-31", "2026-12-31T00:00:00Z 2027-01-01T00:00:00Z");
        check("2026-02", "2026-02-01T00:00:00Z 2026-03-01T00:00:00Z");
        check("2025", "2025-01-01T00:00:00Z 2026-01-01T00:00:00Z");
        check("today", "2026-03-10T00:00:00Z 2026-03-11T00:00:00Z");
        check("yesterday", "2026-03-09T00:00:00Z 2026-03-10T00:00:00Z");
        check("2026-01-03T10:00:00Z", "2026-01-03T10:00:00Z");
        check("3d", "2026-03-07T12:00:00Z");
        check("0h", "2026-03-10T12:00:00Z");
        check("1y", "2025-03-10T12:00:00Z");
    }

    #[test]
    fn what_is_no_date_is_none() {
        let wrong = [
            "",
            "d",
            "3",
            "-3d",
            "3x",
            "2026-13",
            "2026-02-30",
            "2026-1-1-1",
            "soon",
            "26-01-03x",
            "99999999999999999y",
            "２０２６",
            "2026--1",
        ];
        for text in wrong {
            check(text, "nothing");
        }
    }
}
