//! Follows a path through the text of a document.

use std::ops::Range;

use super::Document;
use super::path::PathSegment;
use super::style::JsonLayout;
use everturn_json::json::{self, ContainerEntries};

/// A value and the layout around it.
#[derive(Debug)]
pub(super) struct LocatedValue {
    pub(super) value: Range<usize>,
    /// Whether the container of the value has its entries on separate lines.
    pub(super) on_lines: bool,
}

/// The result of following a path.
#[derive(Debug)]
pub(super) enum PathLookup<'p> {
    Value(LocatedValue),
    /// A container has no entry for `segment`; `rest` is the path after it.
    Missing {
        at: LocatedValue,
        entries: ContainerEntries,
        segment: PathSegment<'p>,
        rest: &'p [PathSegment<'p>],
    },
    /// The value after `depth` segments cannot have an entry for the next one.
    Mismatch {
        at: LocatedValue,
        depth: usize,
    },
}

impl Document {
    /// The range of the value at `path`.
    pub(super) fn find(&self, path: &[PathSegment<'_>]) -> Option<Range<usize>> {
        match self.lookup(path) {
            PathLookup::Value(place) => Some(place.value),
            PathLookup::Missing { .. } | PathLookup::Mismatch { .. } => None,
        }
    }

    pub(super) fn lookup<'p>(&self, path: &'p [PathSegment<'p>]) -> PathLookup<'p> {
        let on_lines = matches!(self.style.layout, JsonLayout::Pretty(_));
        let mut at = LocatedValue { value: self.root.clone(), on_lines };
        let mut left = path;
        while let Some((&segment, rest)) = left.split_first() {
            let entries = match self.entries(at.value.start) {
                Some(entries) if entries.container == segment.container() => entries,
                _ => return PathLookup::Mismatch { at, depth: path.len() - left.len() },
            };
            match self.entry_index(&entries, segment).and_then(|index| entries.list.get(index)) {
                Some(entry) => {
                    let on_lines = self.has_lines(&entries);
                    at = LocatedValue { value: entry.value.clone(), on_lines };
                }
                None => return PathLookup::Missing { at, entries, segment, rest },
            }
            left = rest;
        }
        PathLookup::Value(at)
    }

    /// The entries of the value at `start`, if it is a container.
    pub(super) fn entries(&self, start: usize) -> Option<ContainerEntries> {
        // The text is valid, so the scan cannot fail.
        json::entries(self.text.as_bytes(), start).ok().flatten()
    }

    /// The index of the entry for `segment`: the last one, if a key occurs more than once.
    pub(super) fn entry_index(
        &self,
        entries: &ContainerEntries,
        segment: PathSegment<'_>,
    ) -> Option<usize> {
        match segment {
            PathSegment::Key(key) => entries.list.iter().rposition(|entry| {
                let raw = entry.key.clone().and_then(|raw| self.text.get(raw));
                raw.is_some_and(|raw| json::key_matches(raw.as_bytes(), key))
            }),
            PathSegment::Index(index) => (index < entries.list.len()).then_some(index),
        }
    }

    /// Whether the entries of a container are on separate lines.
    fn has_lines(&self, entries: &ContainerEntries) -> bool {
        let first = entries.list.first();
        let lead = first.and_then(|first| self.text.get(entries.span.start..first.start()));
        lead.is_some_and(|lead| lead.contains('\n'))
    }

    /// The kind of the value at `start`, for messages.
    pub(super) fn kind(&self, start: usize) -> &'static str {
        match self.text.as_bytes().get(start) {
            Some(b'{') => "an object",
            Some(b'[') => "an array",
            Some(b'"') => "a string",
            Some(b't' | b'f') => "a boolean",
            Some(b'n') => "null",
            _ => "a number",
        }
    }
}
