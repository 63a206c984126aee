//! Pages of entries.
//!
//! A page ends with a turn. Its cursor is the turn of the next page; if turn numbers may start again, it is the number of
//! entries so far, as `#120`.

use everturn::format::SessionReader;
use everturn::{Entry, Error};

use crate::error::{ErrorCode, RequestError};
use crate::request::EntriesRequest;
use crate::response::EntriesAnswer;
use crate::views::{entry_view, warnings};

/// The default number of entries of a page.
pub const PAGE: u64 = 100;

/// The largest number of entries that may be asked for.
pub const MAX_PAGE: u64 = 1000;

/// A page ends early when its texts and records have so many bytes.
const PAGE_BYTES: usize = 1 << 20;

/// Where a page starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cursor {
    /// At a turn.
    Turn(u64),
    /// After so many entries of the session.
    Entries(u64),
}

impl Cursor {
    fn parse(text: &str) -> Option<Cursor> {
        let digits = text.strip_prefix('#').unwrap_or(text);
        let number =
            digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())??;
        Some(if text.starts_with('#') { Cursor::Entries(number) } else { Cursor::Turn(number) })
    }

    fn render(self) -> String {
        match self {
            Cursor::Turn(turn) => turn.to_string(),
            Cursor::Entries(count) => format!("#{count}"),
        }
    }
}

/// Reads the page that a request asks for, of a session or along one of its branches.
pub fn read_page(
    reader: &dyn SessionReader,
    request: &EntriesRequest,
) -> Result<EntriesAnswer, RequestError> {
    let limit = request.limit.unwrap_or(PAGE);
    if limit == 0 || limit > MAX_PAGE {
        let what = format!("limit is {limit}; a page has 1 to {MAX_PAGE} entries");
        return Err(RequestError::new(ErrorCode::BadRequest, what).at("limit"));
    }
    let bad_cursor = || {
        RequestError::new(ErrorCode::BadRequest, "the cursor is not one of this session")
            .at("cursor")
            .hint("send next of the previous page, unchanged")
    };
    let repeats = reader.repeats_turns();
    let (mut from, to) = (request.from.unwrap_or(0), request.to.unwrap_or(u64::MAX));
    let mut skipped = 0;
    match request
        .cursor
        .as_deref()
        .map(|text| Cursor::parse(text).ok_or_else(bad_cursor))
        .transpose()?
    {
        Some(Cursor::Turn(turn)) if !repeats => from = from.max(turn),
        Some(Cursor::Entries(count)) if repeats => skipped = count,
        Some(_) => return Err(bad_cursor()),
        None => {}
    }
    let mut stream = reader.entries(from..=to).map_err(Error::from)?;
    let mut page = EntriesAnswer { entries: Vec::new(), next: None, warnings: Vec::new() };
    let (mut last, mut bytes) = (None, 0);
    while let Some(entry) = stream.next().transpose().map_err(Error::from)? {
        if entry.seq <= skipped && repeats {
            continue;
        }
        let is_full = page.entries.len() as u64 >= limit || bytes >= PAGE_BYTES;
        if is_full && last.is_some_and(|(turn, _)| turn != entry.turn) {
            let so_far = last.map_or(0, |(_, seq)| seq);
            let next = if repeats { Cursor::Entries(so_far) } else { Cursor::Turn(entry.turn) };
            page.next = Some(next.render());
            break;
        }
        last = Some((entry.turn, entry.seq));
        bytes += size(&entry, request.raw);
        page.entries.push(entry_view(entry, request.raw)?);
    }
    page.warnings = warnings(&stream.take_findings());
    Ok(page)
}

fn size(entry: &Entry, with_raw: bool) -> usize {
    entry.text.len() + if with_raw { entry.raw.to_line().len() } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_read_as_it_is_written() {
        for cursor in [Cursor::Turn(0), Cursor::Turn(12), Cursor::Entries(7)] {
            assert_eq!(Cursor::parse(&cursor.render()), Some(cursor));
        }
        for wrong in ["", "#", "-1", "1.5", "x", "##1", "99999999999999999999"] {
            assert_eq!(Cursor::parse(wrong), None, "{wrong}");
        }
    }
}
