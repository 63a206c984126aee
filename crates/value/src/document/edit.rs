//! Edits of a document, each of them one splice of its text.

use std::ops::Range;

use serde::Serialize;

use super::locate::{LocatedValue, PathLookup};
use super::path::{PathSegment, json_pointer};
use super::style::JsonLayout;
use super::{Document, EditError, formatter};
use everturn_json::json::{Container, ContainerEntries};

/// An entry to be added to a container.
struct NewEntry<'p, T: ?Sized> {
    segment: PathSegment<'p>,
    /// The keys of the objects to create around the value, outermost first.
    keys: Vec<&'p str>,
    value: &'p T,
}

impl Document {
    /// Sets `value` at `path`.
    ///
    /// An existing value is replaced. A missing key is added at the end of its object, with the missing objects on the
    /// path. An index equal to the length of an array appends to it.
    pub fn set<T>(&mut self, path: &[PathSegment<'_>], value: &T) -> Result<(), EditError>
    where
        T: Serialize + ?Sized,
    {
        match self.lookup(path) {
            PathLookup::Value(place) => {
                let layout = self.layout_for(place.on_lines);
                let base = self.line_indent(place.value.start);
                let text = formatter::render_value(value, &self.style, layout, base);
                self.splice(place.value, &text.map_err(|source| EditError::write(path, source))?);
                Ok(())
            }
            PathLookup::Missing { at, entries, segment, rest } => {
                let length = entries.list.len();
                if let PathSegment::Index(index) = segment
                    && index != length
                {
                    return Err(EditError::Index { path: json_pointer(path), index, length });
                }
                let entry = NewEntry { segment, keys: keys(path, rest)?, value };
                let inserted = self.insert(&entries, at.on_lines, &entry);
                inserted.map_err(|source| EditError::write(path, source))
            }
            PathLookup::Mismatch { at, depth } => Err(self.mismatch(path, depth, &at)),
        }
    }

    /// Adds `value` to the end of the array at `path`.
    pub fn push<T>(&mut self, path: &[PathSegment<'_>], value: &T) -> Result<(), EditError>
    where
        T: Serialize + ?Sized,
    {
        let place = match self.lookup(path) {
            PathLookup::Value(place) => place,
            PathLookup::Missing { .. } => {
                return Err(EditError::NoArray {
                    path: json_pointer(path),
                    at: json_pointer(path),
                });
            }
            PathLookup::Mismatch { at, depth } => return Err(self.mismatch(path, depth, &at)),
        };
        match self.entries(place.value.start) {
            Some(entries) if entries.container == Container::Array => {
                let segment = PathSegment::Index(entries.list.len());
                let entry = NewEntry { segment, keys: Vec::new(), value };
                let inserted = self.insert(&entries, place.on_lines, &entry);
                inserted.map_err(|source| EditError::write(path, source))
            }
            _ => Err(self.mismatch(path, path.len(), &place)),
        }
    }

    /// Removes the value at `path`, with its key, and returns whether there was one.
    ///
    /// If its object has the key more than once, all of them are removed.
    pub fn remove(&mut self, path: &[PathSegment<'_>]) -> Result<bool, EditError> {
        let Some((&segment, parent)) = path.split_last() else { return Err(EditError::Root) };
        let place = match self.lookup(parent) {
            PathLookup::Value(place) => place,
            PathLookup::Missing { .. } => return Ok(false),
            PathLookup::Mismatch { at, depth } => return Err(self.mismatch(path, depth, &at)),
        };
        let mut removed = false;
        loop {
            let entries = match self.entries(place.value.start) {
                Some(entries) if entries.container == segment.container() => entries,
                _ => return Err(self.mismatch(path, parent.len(), &place)),
            };
            let Some(index) = self.entry_index(&entries, segment) else { return Ok(removed) };
            self.splice(removal_range(&entries, index), "");
            removed = true;
            if segment.container() == Container::Array {
                return Ok(removed);
            }
        }
    }

    /// Adds `entry` at the end of a container.
    ///
    /// `on_lines` is the layout around the container; it matters if the container is empty and shows no layout of its
    /// own.
    fn insert<T>(
        &mut self,
        entries: &ContainerEntries,
        on_lines: bool,
        entry: &NewEntry<'_, T>,
    ) -> serde_json::Result<()>
    where
        T: Serialize + ?Sized,
    {
        let (span, text) = if let Some(last) = entries.list.last() {
            let mut text = self.separator(entries);
            let base = text.rsplit_once('\n').map(|(_, base)| leading_blanks(base).to_owned());
            let layout = self.layout_for(base.is_some());
            let colon = last.key.as_ref().and_then(|key| self.text.get(key.end..last.value.start));
            let colon =
                colon.filter(|colon| !colon.contains('\n')).unwrap_or(formatter::colon(layout));
            self.write_entry(&mut text, entry, colon, layout, &base.unwrap_or_default())?;
            (last.value.end..last.value.end, text)
        } else {
            let layout = self.layout_for(on_lines);
            let outer = self.line_indent(entries.span.start);
            let base = [outer, &layout.indent(1)].concat();
            let mut text = layout.line_break(&self.style, &base);
            self.write_entry(&mut text, entry, formatter::colon(layout), layout, &base)?;
            text.push_str(&layout.line_break(&self.style, outer));
            (entries.span.start + 1..entries.span.end - 1, text)
        };
        self.splice(span, &text);
        Ok(())
    }

    fn write_entry<T>(
        &self,
        text: &mut String,
        entry: &NewEntry<'_, T>,
        colon: &str,
        layout: JsonLayout,
        base: &str,
    ) -> serde_json::Result<()>
    where
        T: Serialize + ?Sized,
    {
        if let PathSegment::Key(key) = entry.segment {
            text.push_str(&formatter::render_line(key, &self.style)?);
            text.push_str(colon);
        }
        let mut indent = base.to_owned();
        for key in &entry.keys {
            indent.push_str(&layout.indent(1));
            text.push('{');
            text.push_str(&layout.line_break(&self.style, &indent));
            text.push_str(&formatter::render_line(key, &self.style)?);
            text.push_str(formatter::colon(layout));
        }
        text.push_str(&formatter::render_value(entry.value, &self.style, layout, &indent)?);
        for depth in (0..entry.keys.len()).rev() {
            let indent = [base, &layout.indent(depth)].concat();
            text.push_str(&layout.line_break(&self.style, &indent));
            text.push('}');
        }
        Ok(())
    }

    /// The separator between the entries of a container: that of its last two, if it has two.
    fn separator(&self, entries: &ContainerEntries) -> String {
        let between = |start: usize, end: usize| self.text.get(start..end).unwrap_or_default();
        match entries.list.as_slice() {
            [.., before, last] => between(before.value.end, last.start()).to_owned(),
            [only] if between(entries.span.start, only.start()).contains('\n') => {
                format!(",{}", between(entries.span.start + 1, only.start()))
            }
            _ if self.style.layout == JsonLayout::Compact => ",".to_owned(),
            _ => ", ".to_owned(),
        }
    }

    fn layout_for(&self, on_lines: bool) -> JsonLayout {
        if on_lines { self.style.layout } else { self.style.flat_layout() }
    }

    /// The indent of the line that contains `at`.
    fn line_indent(&self, at: usize) -> &str {
        let before = self.text.get(..at).unwrap_or_default();
        let start = before.rfind('\n').map_or(0, |newline| newline + 1);
        leading_blanks(before.get(start..).unwrap_or_default())
    }

    fn splice(&mut self, span: Range<usize>, text: &str) {
        self.root.end = self.root.end - span.len() + text.len();
        self.text.replace_range(span, text);
    }

    /// The error for a path that reaches a value of the wrong kind after `depth` segments.
    fn mismatch(&self, path: &[PathSegment<'_>], depth: usize, at: &LocatedValue) -> EditError {
        EditError::Mismatch {
            path: json_pointer(path),
            at: json_pointer(path.get(..depth).unwrap_or_default()),
            found: self.kind(at.value.start),
            wanted: path.get(depth).map_or(Container::Array, |segment| segment.container()),
        }
    }
}

/// The keys of `rest`, the end of `path`; an index in it would need an array that does not exist.
fn keys<'p>(
    path: &[PathSegment<'_>],
    rest: &'p [PathSegment<'p>],
) -> Result<Vec<&'p str>, EditError> {
    let key = |(place, segment): (usize, &PathSegment<'p>)| match *segment {
        PathSegment::Key(key) => Ok(key),
        PathSegment::Index(_) => {
            let depth = path.len() - rest.len() + place;
            let at = json_pointer(path.get(..depth).unwrap_or_default());
            Err(EditError::NoArray { path: json_pointer(path), at })
        }
    };
    rest.iter().enumerate().map(key).collect()
}

/// The range to remove for one entry: includes a comma, and white space that is no longer needed.
fn removal_range(entries: &ContainerEntries, index: usize) -> Range<usize> {
    let list = &entries.list;
    let before = index.checked_sub(1).and_then(|before| list.get(before));
    match (before, list.get(index), list.get(index + 1)) {
        (_, Some(entry), Some(next)) => entry.start()..next.start(),
        (Some(before), Some(entry), None) => before.value.end..entry.value.end,
        _ => entries.span.start + 1..entries.span.end - 1,
    }
}

fn leading_blanks(line: &str) -> &str {
    let end = line.find(|c| c != ' ' && c != '\t').unwrap_or(line.len());
    line.get(..end).unwrap_or_default()
}
