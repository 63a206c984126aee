//! The metadata of a session in readable form, and the formatting of times.

use jiff::Timestamp;

use crate::piece::SpeakerRole;
use crate::source::{SessionCover, SessionOutline, SpeakerStats};

/// The maximum number of speakers that are named.
const NAMED: usize = 12;

/// Formats a time as a day and a minute, in UTC.
pub(crate) fn format_minute(time: Timestamp) -> String {
    time.strftime("%Y-%m-%d %H:%M").to_string()
}

/// Formats a day in words.
pub(crate) fn format_day(time: Timestamp) -> String {
    time.strftime("%-d %B %Y").to_string()
}

/// Formats the time of day, in UTC.
pub(crate) fn format_clock(time: Timestamp) -> String {
    time.strftime("%H:%M").to_string()
}

/// Formats a count with its noun.
pub(crate) fn format_count(number: u64, one: &str, many: &str) -> String {
    if number == 1 { format!("1 {one}") } else { format!("{number} {many}") }
}

/// Returns the names of the speakers, most active first.
fn speaker_names(speakers: &[SpeakerStats]) -> Option<String> {
    let speaks =
        |speaker: &&SpeakerStats| !matches!(speaker.role, SpeakerRole::System | SpeakerRole::Event);
    let mut speakers: Vec<&SpeakerStats> = speakers.iter().filter(speaks).collect();
    speakers.sort_by_key(|speaker| std::cmp::Reverse(speaker.entries));
    let more = speakers.len().saturating_sub(NAMED);
    let names: Vec<&str> =
        speakers.iter().take(NAMED).map(|speaker| speaker.name.as_str()).collect();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    (!names.is_empty()).then(|| format!("{}{more}", names.join(", ")))
}

/// Returns the metadata of a session, with labels.
pub(crate) fn session_facts(
    cover: &SessionCover,
    outline: &SessionOutline,
) -> Vec<(&'static str, String)> {
    let mut facts = vec![("Session", format!("{} ({})", cover.id, cover.layout))];
    facts.extend(cover.credits.iter().cloned());
    facts.extend(cover.parent.clone().map(|parent| ("Branch of", parent)));
    if let Some((first, last)) = outline.times {
        let (first, last) = (format_minute(first), format_minute(last));
        let span = if first == last { first } else { format!("{first} to {last}") };
        facts.push(("Time", format!("{span} UTC")));
    }
    let (turns, entries) = (outline.turns, outline.entries);
    let turns = format_count(turns, "turn", "turns");
    facts.push(("Length", format!("{turns}, {}", format_count(entries, "entry", "entries"))));
    facts.extend(speaker_names(&outline.speakers).map(|names| ("Speakers", names)));
    facts.push(("Exported", format!("{} UTC", format_minute(cover.now))));
    facts
}
