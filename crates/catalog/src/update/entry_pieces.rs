//! Splits entries into [`EntryPiece`]s for the index; [`ByteBudget`] limits how many wait at once.

use std::sync::{Arc, Condvar, Mutex, PoisonError};

use everturn::model::Entry;
use jiff::Timestamp;
use tantivy::Document;
use tantivy::schema::{Field, OwnedValue};

use crate::index::{IndexFields, UNKNOWN_TIME};

/// The maximum size of a piece in bytes, and the overlap of two pieces, so that phrases are found across a cut.
const LONGEST: usize = 256 << 10;
const OVERLAP: usize = 512;

/// The number of bytes of text that may wait to be split into words.
const WAITING: usize = 8 << 20;

/// Waiting threads continue when the queue is down to this size.
const ENOUGH: usize = WAITING / 2;

/// Splits a text into pieces of limited size, between words if possible.
pub(crate) fn split_pieces(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while rest.len() > LONGEST {
        let end = boundary(rest, LONGEST);
        pieces.push(rest.get(..end).unwrap_or_default());
        let next = boundary(rest, end - OVERLAP).max(1);
        rest = rest.get(next..).unwrap_or_default();
    }
    pieces.push(rest);
    pieces
}

/// Returns a position before `most` where a text may be cut.
fn boundary(text: &str, most: usize) -> usize {
    let end = (0..=most).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    let start = end.saturating_sub(OVERLAP);
    let near = (start..end).find(|at| text.is_char_boundary(*at)).and_then(|at| text.get(at..end));
    let space = near.and_then(|near| near.rfind(char::is_whitespace));
    match (space, near) {
        (Some(space), Some(near)) => end - near.len() + space,
        _ => end,
    }
}

/// Counts the waiting bytes, and blocks threads that would add too many.
#[derive(Debug, Clone, Default)]
pub(crate) struct ByteBudget(Arc<(Mutex<usize>, Condvar)>);

impl ByteBudget {
    /// Waits until there is room for this many bytes.
    fn reserve(&self, bytes: usize) -> BudgetGuard {
        let (waiting, freed) = &*self.0;
        let mut waiting = waiting.lock().unwrap_or_else(PoisonError::into_inner);
        while *waiting > 0 && *waiting + bytes > WAITING {
            waiting = freed.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
        *waiting += bytes;
        BudgetGuard { room: self.clone(), bytes }
    }
}

/// Reserved room, released when its piece is done.
#[derive(Debug)]
struct BudgetGuard {
    room: ByteBudget,
    bytes: usize,
}

impl Drop for BudgetGuard {
    fn drop(&mut self) {
        let (waiting, freed) = &*self.room.0;
        let mut waiting = waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let before = *waiting;
        *waiting -= self.bytes;
        // Waiting threads are woken when there is room for many pieces, not for each one.
        if before > ENOUGH && *waiting <= ENOUGH {
            freed.notify_all();
        }
    }
}

/// A piece of an entry, as a document of the index.
#[derive(Debug)]
pub(crate) struct EntryPiece {
    values: Vec<(Field, OwnedValue)>,
    /// The field for the parts of words in the text, which is the first value.
    parts: Field,
    _taken: BudgetGuard,
}

impl EntryPiece {
    pub(crate) fn new(
        fields: &IndexFields,
        (number, branch, entry, time): (u64, u64, &Entry, Option<Timestamp>),
        text: &str,
        room: &ByteBudget,
    ) -> EntryPiece {
        let time = time.map_or(UNKNOWN_TIME, Timestamp::as_microsecond);
        let values = vec![
            (fields.text, OwnedValue::Str(text.to_owned())),
            (fields.speaker, OwnedValue::Str(entry.speaker.clone())),
            (fields.kind, OwnedValue::Str(entry.kind.as_str().to_lowercase())),
            (fields.session, OwnedValue::U64(number)),
            (fields.branch, OwnedValue::U64(branch)),
            (fields.turn, OwnedValue::U64(entry.turn)),
            (fields.seq, OwnedValue::U64(entry.seq)),
            (fields.time, OwnedValue::I64(time)),
        ];
        EntryPiece { values, parts: fields.parts, _taken: room.reserve(text.len()) }
    }
}

impl Document for EntryPiece {
    type Value<'a> = &'a OwnedValue;
    type FieldsValuesIter<'a> = PieceValues<'a>;

    fn iter_fields_and_values(&self) -> PieceValues<'_> {
        let text = self.values.first().map(|(_, text)| (self.parts, text));
        PieceValues { text, rest: self.values.iter() }
    }
}

/// Iterates over the fields of a piece and their values; the text is used for two fields.
pub(crate) struct PieceValues<'a> {
    text: Option<(Field, &'a OwnedValue)>,
    rest: std::slice::Iter<'a, (Field, OwnedValue)>,
}

impl<'a> Iterator for PieceValues<'a> {
    type Item = (Field, &'a OwnedValue);

    fn next(&mut self) -> Option<(Field, &'a OwnedValue)> {
        self.text.take().or_else(|| self.rest.next().map(|(field, value)| (*field, value)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_cut_between_words_and_nothing_is_lost() {
        let check = |text: String, count: usize| {
            let found = split_pieces(&text);
            assert_eq!(found.len(), count);
            let mut end = 0;
            for piece in found {
                assert!(piece.len() <= LONGEST);
                let start = piece.as_ptr() as usize - text.as_ptr() as usize;
                assert!(start <= end, "a gap from {end} to {start}");
                assert!(start == 0 || start + OVERLAP <= end);
                end = start + piece.len();
            }
            assert_eq!(end, text.len());
        };
        check(String::new(), 1);
        check("word ".repeat(10), 1);
        check("word ".repeat(100_000), 2);
        check("結".repeat(300_000), 4);
        check("x".repeat(LONGEST), 1);
        let words = "word ".repeat(100_000);
        assert!(
            split_pieces(&words)
                .iter()
                .all(|piece| piece.trim().split(' ').all(|word| word == "word"))
        );
    }
}
