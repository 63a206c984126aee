//! What is said about a session as a whole, and times as people read them.

use jiff::Timestamp;

use crate::piece::Role;
use crate::source::{Cover, Outline, Speaker};

/// How many speakers are named.
const NAMED: usize = 12;

/// A day and a minute, in UTC.
pub(crate) fn minute(time: Timestamp) -> String {
    time.strftime("%Y-%m-%d %H:%M").to_string()
}

/// A day in words.
pub(crate) fn day(time: Timestamp) -> String {
    time.strftime("%-d %B %Y").to_string()
}

/// The time of day, in UTC.
pub(crate) fn clock(time: Timestamp) -> String {
    time.strftime("%H:%M").to_string()
}

/// A number of things.
pub(crate) fn count(number: u64, one: &str, many: &str) -> String {
    if number == 1 { format!("1 {one}") } else { format!("{number} {many}") }
}

/// The names of those who speak, most busy ones first.
fn names(speakers: &[Speaker]) -> Option<String> {
    let speaks = |speaker: &&Speaker| !matches!(speaker.role, Role::System | Role::Event);
    let mut speakers: Vec<&Speaker> = speakers.iter().filter(speaks).collect();
    speakers.sort_by_key(|speaker| std::cmp::Reverse(speaker.entries));
    let more = speakers.len().saturating_sub(NAMED);
    let names: Vec<&str> =
        speakers.iter().take(NAMED).map(|speaker| speaker.name.as_str()).collect();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    (!names.is_empty()).then(|| format!("{}{more}", names.join(", ")))
}

/// What is known of a session, with what each thing is called.
pub(crate) fn facts(cover: &Cover, outline: &Outline) -> Vec<(&'static str, String)> {
    let mut facts = vec![("Session", format!("{} ({})", cover.id, cover.layout))];
    facts.extend(cover.parent.clone().map(|parent| ("Branch of", parent)));
    if let Some((first, last)) = outline.times {
        let (first, last) = (minute(first), minute(last));
        let span = if first == last { first } else { format!("{first} to {last}") };
        facts.push(("Told", format!("{span} UTC")));
    }
    let (turns, entries) = (outline.turns, outline.entries);
    let turns = count(turns, "turn", "turns");
    facts.push(("Length", format!("{turns}, {}", count(entries, "entry", "entries"))));
    facts.extend(names(&outline.speakers).map(|names| ("Voices", names)));
    facts.push(("Exported", format!("{} UTC", minute(cover.now))));
    facts
}
