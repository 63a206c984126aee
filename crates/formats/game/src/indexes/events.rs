//! `event-index.json`: the number of events of each type, and the significant events.

use serde_json::Value;

use super::counter::BoundedCounter;
use super::text::{self, IndexFields, IndexText, MOST_NAME, clip, quote, width};
use super::thinned_list::{AROUND, ListEntry, ThinnedList};
use super::{EventFacts, IndexError};

/// The budget of `byType`, in bytes.
const MOST_KINDS: usize = 60_000;

/// The budget of `significant`, in bytes.
const MOST_SIGNIFICANT: usize = 300_000;

/// The maximum size of a summary in bytes: one readable line.
const MOST_SUMMARY: usize = 200;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct EventIndex {
    by_kind: BoundedCounter,
    significant: ThinnedList<EventListing>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct EventListing {
    id: String,
    kind: String,
    summary: String,
}

impl EventIndex {
    pub(super) fn new() -> EventIndex {
        EventIndex {
            by_kind: BoundedCounter::new(MOST_KINDS),
            significant: ThinnedList::new(MOST_SIGNIFICANT),
        }
    }

    pub(super) fn add(&mut self, facts: &EventFacts<'_>) {
        self.by_kind.add(facts.kind, 1);
        if facts.significant {
            let [id, kind] = [facts.id, facts.kind].map(|text| clip(text, MOST_NAME).into_owned());
            let summary = clip(facts.summary, MOST_SUMMARY).into_owned();
            self.significant.push(EventListing { id, kind, summary });
        }
    }

    pub(super) fn write(&self, page: &mut IndexText, through: u64) {
        page.plain("totalEvents", self.by_kind.total());
        page.plain("throughTurn", through);
        self.by_kind.write(page, "byType");
        self.significant.write(page, "significant");
    }

    pub(super) fn read(fields: &IndexFields) -> Result<EventIndex, IndexError> {
        let by_kind = BoundedCounter::read(fields, "byType", MOST_KINDS)?;
        if fields.number("totalEvents")? != by_kind.total() {
            return Err(fields.bad("totalEvents"));
        }
        let significant = ThinnedList::read(fields, "significant", MOST_SIGNIFICANT)?;
        Ok(EventIndex { by_kind, significant })
    }

    /// Returns how many events are listed.
    #[cfg(test)]
    pub(super) fn listed(&self) -> usize {
        self.significant.entries().len()
    }
}

impl ListEntry for EventListing {
    fn line(&self) -> String {
        let [id, kind, summary] = [&self.id, &self.kind, &self.summary].map(|text| quote(text));
        format!("{{ \"eventId\": {id}, \"type\": {kind}, \"summary\": {summary} }}")
    }

    fn read(entry: &Value) -> Option<EventListing> {
        Some(EventListing {
            id: text::string(entry, "eventId", MOST_NAME)?,
            kind: text::string(entry, "type", MOST_NAME)?,
            summary: text::string(entry, "summary", MOST_SUMMARY)?,
        })
    }

    fn weight(&self) -> usize {
        const FIXED: usize = r#"{ "eventId": "", "type": "", "summary": "" }"#.len();
        FIXED + width(&self.id) + width(&self.kind) + width(&self.summary) + AROUND
    }
}
