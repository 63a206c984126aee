//! A path followed through the text of a document.

use std::ops::Range;

use super::Document;
use super::path::Segment;
use super::style::Layout;
use everturn_json::json::{self, Entries};

/// A value and how its surroundings are laid out.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) value: Range<usize>,
    /// Whether the container that holds it has its entries on lines of their own.
    pub(super) on_lines: bool,
}

/// Where a path led.
#[derive(Debug)]
pub(super) enum Found<'p> {
    Value(Place),
    /// To a container that has no entry for `segment`, which `rest` comes after.
    Missing {
        at: Place,
        entries: Entries,
        segment: Segment<'p>,
        rest: &'p [Segment<'p>],
    },
    /// After `depth` segments, to a value that cannot have an entry for the next one.
    Mismatch {
        at: Place,
        depth: usize,
    },
}

impl Document {
    /// Where the value at `path` is.
    pub(super) fn find(&self, path: &[Segment<'_>]) -> Option<Range<usize>> {
        match self.follow(path) {
            Found::Value(place) => Some(place.value),
            Found::Missing { .. } | Found::Mismatch { .. } => None,
        }
    }

    pub(super) fn follow<'p>(&self, path: &'p [Segment<'p>]) -> Found<'p> {
        let on_lines = matches!(self.style.layout, Layout::Pretty(_));
        let mut at = Place { value: self.root.clone(), on_lines };
        let mut left = path;
        while let Some((&segment, rest)) = left.split_first() {
            let entries = match self.entries(at.value.start) {
                Some(entries) if entries.container == segment.container() => entries,
                _ => return Found::Mismatch { at, depth: path.len() - left.len() },
            };
            match self.entry_index(&entries, segment).and_then(|index| entries.list.get(index)) {
                Some(entry) => {
                    let on_lines = self.has_lines(&entries);
                    at = Place { value: entry.value.clone(), on_lines };
                }
                None => return Found::Missing { at, entries, segment, rest },
            }
            left = rest;
        }
        Found::Value(at)
    }

    /// What the value at `start` holds, if it is a container.
    pub(super) fn entries(&self, start: usize) -> Option<Entries> {
        // The text is valid, so the scan has nothing to complain about.
        json::entries(self.text.as_bytes(), start).ok().flatten()
    }

    /// Which entry `segment` leads to: the last one, if a key comes more than once.
    pub(super) fn entry_index(&self, entries: &Entries, segment: Segment<'_>) -> Option<usize> {
        match segment {
            Segment::Key(key) => entries.list.iter().rposition(|entry| {
                let raw = entry.key.clone().and_then(|raw| self.text.get(raw));
                raw.is_some_and(|raw| json::key_is(raw.as_bytes(), key))
            }),
            Segment::Index(index) => (index < entries.list.len()).then_some(index),
        }
    }

    /// Whether the entries of a container are on lines of their own.
    fn has_lines(&self, entries: &Entries) -> bool {
        let first = entries.list.first();
        let lead = first.and_then(|first| self.text.get(entries.span.start..first.start()));
        lead.is_some_and(|lead| lead.contains('\n'))
    }

    /// What kind of value is at `start`, for messages.
    pub(super) fn kind(&self, start: usize) -> &'static str {
        match self.text.as_bytes().get(start) {
            Some(b'{') => "an object",
            Some(b'[') => "an array",
            Some(b'"') => "a string",
            Some(b't' | b'f') => "a truth value",
            Some(b'n') => "null",
            _ => "a number",
        }
    }
}
