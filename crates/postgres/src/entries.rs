//! [`Entry`]: a row of the table `entries`, and how rows are read.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;

use everturn_json::checksum::checksum;
use everturn_json::names::FilePath;
use everturn_store::StoreError;
use everturn_store::disk::{DirEntry, DirListing, FileId, FileKind, FileStat};
use postgres::Row;

use crate::connection::Connection;
use crate::error::Failure;

/// The largest piece of a content in bytes.
pub(crate) const PIECE_BYTES: usize = 256 << 10;

const PRIVATE_BITS: u32 = 0o600;
const USUAL_BITS: u32 = 0o644;
const DIR_BITS: u32 = 0o755;

/// A name and what it stands for; a directory has no content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) content: Option<Content>,
}

/// The content of a file. Its pieces are rows of their own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Content {
    pub(crate) id: i64,
    pub(crate) len: i64,
    pub(crate) secret: bool,
    /// Whether the last byte is not a newline.
    pub(crate) open_tail: bool,
    /// The checksum of all bytes, if it is known.
    pub(crate) sum: Option<i64>,
    /// Where the pieces start that were not merged yet, and their number.
    pub(crate) tail_start: i64,
    pub(crate) tail_pieces: i32,
}

pub(crate) type Entries = BTreeMap<FilePath, Entry>;

const NAMED: &str = "SELECT path, content, len, secret, open_tail, sum, tail_start, tail_pieces \
     FROM entries WHERE path = ANY($1)";
const BELOW: &str = "SELECT path, content, len, secret, open_tail, sum, tail_start, tail_pieces \
     FROM entries WHERE path > $1 || '/' AND path < $1 || '0'";

/// Adds the rows of these paths.
pub(crate) fn load(
    connection: &mut Connection,
    paths: &[&str],
    into: &mut Entries,
) -> Result<(), Failure> {
    add_rows(&connection.query(NAMED, &[&paths])?, into)
}

/// Adds the rows of everything below a path.
pub(crate) fn load_below(
    connection: &mut Connection,
    path: &FilePath,
    into: &mut Entries,
) -> Result<(), Failure> {
    add_rows(&connection.query(BELOW, &[&path.as_str()])?, into)
}

fn add_rows(rows: &[Row], into: &mut Entries) -> Result<(), Failure> {
    for row in rows {
        let path = FilePath::parse(row.try_get(0)?)
            .map_err(|error| damaged(&FilePath::root(), error.to_string()))?;
        let content = match row.try_get(1)? {
            None => None,
            Some(id) => Some(Content {
                id,
                len: row.try_get(2)?,
                secret: row.try_get(3)?,
                open_tail: row.try_get(4)?,
                sum: row.try_get(5)?,
                tail_start: row.try_get(6)?,
                tail_pieces: row.try_get(7)?,
            }),
        };
        into.insert(path, Entry { content });
    }
    Ok(())
}

/// As [`everturn_store::Store::stat`].
pub(crate) fn stat(
    connection: &mut Connection,
    path: &FilePath,
) -> Result<Option<FileStat>, Failure> {
    let dir = FileStat {
        kind: FileKind::Dir,
        len: 0,
        id: FileId::default(),
        mode: DIR_BITS,
        modified: 0,
    };
    if path.is_root() {
        return Ok(Some(dir));
    }
    let sql = "SELECT e.content, e.len, e.secret, e.modified, r.id FROM entries e, root_version r WHERE path = $1";
    let rows = connection.query(sql, &[&path.as_str()])?;
    let Some(row) = rows.first() else { return Ok(None) };
    let Some(content) = row.try_get::<_, Option<i64>>(0)? else { return Ok(Some(dir)) };
    let number = |column: usize| row.try_get::<_, i64>(column).map(i64::cast_unsigned);
    Ok(Some(FileStat {
        kind: FileKind::File,
        len: number(1)?,
        // A replaced file has a new content, and an appended one is longer.
        id: FileId::numbered(number(4)?, content.cast_unsigned()),
        mode: if row.try_get(2)? { PRIVATE_BITS } else { USUAL_BITS },
        modified: number(3)?,
    }))
}

/// As [`everturn_store::Store::list`].
pub(crate) fn list(connection: &mut Connection, dir: &FilePath) -> Result<DirListing, Failure> {
    // One statement, so that the directory and its entries are of the same moment.
    let listing = "SELECT path, content IS NULL FROM entries WHERE parent = $1 AND path <> '' \
         UNION ALL SELECT NULL, content IS NULL FROM entries WHERE path = $1";
    let rows = connection.query(listing, &[&dir.as_str()])?;
    let mut exists = dir.is_root();
    let mut entries = Vec::new();
    for row in rows {
        let is_dir: bool = row.try_get(1)?;
        match row.try_get::<_, Option<&str>>(0)? {
            None => exists |= is_dir,
            Some(path) => {
                let kind = if is_dir { FileKind::Dir } else { FileKind::File };
                let name = FilePath::parse(path).ok().and_then(|path| path.name());
                let name = name.ok_or_else(|| damaged(dir, format!("{path} is not a name")))?;
                entries.push(DirEntry { name, kind, linked: false });
            }
        }
    }
    if !exists {
        return Err(StoreError::Missing { path: dir.clone() }.into());
    }
    entries.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(DirListing { entries, refused: Vec::new() })
}

/// As [`everturn_store::Store::read`].
pub(crate) fn read(
    connection: &mut Connection,
    file: &FilePath,
    range: Range<u64>,
) -> Result<Vec<u8>, Failure> {
    let whole = "SELECT e.content, e.len, p.start, p.sum, p.bytes FROM entries e LEFT JOIN pieces p \
         ON p.content = e.content AND p.start < $3::bigint AND p.start > $2::bigint - 262144 \
         WHERE e.path = $1 ORDER BY p.start";
    let (start, end) = (as_offset(range.start), as_offset(range.end));
    let rows = connection.query(whole, &[&file.as_str(), &start, &end])?;
    let Some(first) = rows.first() else {
        return Err(StoreError::Missing { path: file.clone() }.into());
    };
    if first.try_get::<_, Option<i64>>(0)?.is_none() {
        let error = io::Error::new(io::ErrorKind::IsADirectory, "it is a directory");
        return Err(StoreError::io("read", file)(error).into());
    }
    let end = end.min(first.try_get(1)?);
    let mut bytes = Vec::new();
    let mut at = start;
    for row in &rows {
        let Some(piece_start) = row.try_get::<_, Option<i64>>(2)? else { continue };
        let piece: &[u8] = row.try_get(4)?;
        if checksum(&[piece]).cast_signed() != row.try_get::<_, i64>(3)? {
            return Err(damaged(
                file,
                format!("the piece at byte {piece_start} has a wrong checksum"),
            )
            .into());
        }
        let within =
            |offset: i64| usize::try_from(offset - piece_start).unwrap_or(0).min(piece.len());
        if piece_start > at {
            break;
        }
        let part = piece.get(within(at)..within(end)).unwrap_or_default();
        bytes.extend_from_slice(part);
        at += i64::try_from(part.len()).unwrap_or(0);
    }
    if at < end {
        return Err(damaged(file, format!("bytes {at} to {end} are missing")).into());
    }
    Ok(bytes)
}

fn as_offset(offset: u64) -> i64 {
    i64::try_from(offset).unwrap_or(i64::MAX)
}

/// The error for rows that contradict each other.
pub(crate) fn damaged(path: &FilePath, text: String) -> StoreError {
    StoreError::io("read", path)(io::Error::new(io::ErrorKind::InvalidData, text))
}
