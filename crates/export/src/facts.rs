//! What is said about a session as a whole, and times as people read them.

use jiff::Timestamp;

use crate::piece::SpeakerRole;
use crate::source::{SessionCover, SessionOutline, SpeakerStats};

/// How many speakers are named.
const NAMED: usize = 12;

/// A day and a minute, in UTC.
pub(crate) fn format_minute(time: Timestamp) -> String {
    time.strftime("%Y-%m-%d %H:%M").to_string()
}

/// A day in words.
pub(crate) fn format_day(time: Timestamp) -> String {
    time.strftime("%-d %B %Y").to_string()
}

/// The time of day, in UTC.
pub(crate) fn format_clock(time: Timestamp) -> String {
    time.strftime("%H:%M").to_string()
}

/// A number of things.
pub(crate) fn format_count(number: u64, one: &str, many: &str) -> String {
    if number == 1 { format!("1 {one}") } else { format!("{number} {many}") }
}

/// The names of those who speak, most busy ones first.
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

/// What is known of a session, with what each thing is called.
pub(crate) fn session_facts(
    cover: &SessionCover,
    outline: &SessionOutline,
) -> Vec<(&'static str, String)> {
    let mut facts = vec![("Session", format!("{} ({})", cover.id, cover.layout))];
    facts.extend(cover.parent.clone().map(|parent| ("Branch of", parent)));
    if let Some((first, last)) = outline.times {
        let (first, last) = (format_minute(first), format_minute(last));
        let span = if first == last { first } else { format!("{first} to {last}") };
        facts.push(("Told", format!("{span} UTC")));
    }
    let (turns, entries) = (outline.turns, outline.entries);
    let turns = format_count(turns, "turn", "turns");
    facts.push(("Length", format!("{turns}, {}", format_count(entries, "entry", "entries"))));
    facts.extend(speaker_names(&outline.speakers).map(|names| ("Voices", names)));
    facts.push(("Exported", format!("{} UTC", format_minute(cover.now))));
    facts
}
