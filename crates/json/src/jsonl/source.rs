//! [`ByteSource`]: bytes at offsets, and a window over them.

use std::io;

use crate::json::find_last_byte;

/// The default number of bytes that are read at once.
pub const DEFAULT_CHUNK: usize = 64 * 1024;

/// A source of bytes at offsets: a file, or a substitute.
#[expect(
    clippy::len_without_is_empty,
    reason = "a length costs a system call, and no caller needs only emptiness"
)]
pub trait ByteSource {
    /// The number of bytes.
    fn len(&self) -> io::Result<u64>;

    /// Reads some bytes from `offset` on into `buf` and returns their number.
    ///
    /// There may be fewer than requested; 0 means the end, or an empty `buf`.
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize>;
}

impl ByteSource for [u8] {
    fn len(&self) -> io::Result<u64> {
        Ok(self.len() as u64)
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        let rest = self.get(start..).unwrap_or_default();
        let count = rest.len().min(buf.len());
        if let (Some(to), Some(from)) = (buf.get_mut(..count), rest.get(..count)) {
            to.copy_from_slice(from);
        }
        Ok(count)
    }
}

impl ByteSource for Vec<u8> {
    fn len(&self) -> io::Result<u64> {
        Ok(self.len() as u64)
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        self.as_slice().read_at(offset, buf)
    }
}

impl<S: ByteSource + ?Sized> ByteSource for &S {
    fn len(&self) -> io::Result<u64> {
        (**self).len()
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        (**self).read_at(offset, buf)
    }
}

/// The part of a source that is in memory, which moves with the reads.
#[derive(Debug)]
pub(super) struct SourceWindow<S> {
    source: S,
    /// The most bytes that are held.
    chunk: usize,
    /// The offset of the held bytes.
    base: u64,
    /// The buffer, of which `length` bytes are held; it never shrinks.
    room: Vec<u8>,
    length: usize,
}

impl<S: ByteSource> SourceWindow<S> {
    pub(super) fn new(source: S, chunk: usize) -> SourceWindow<S> {
        SourceWindow { source, chunk: chunk.max(1), base: 0, room: Vec::new(), length: 0 }
    }

    pub(super) fn source_len(&self) -> io::Result<u64> {
        self.source.len()
    }

    /// The first bytes of `start..end`, at least one; empty only if the range is.
    pub(super) fn read_first(&mut self, start: u64, end: u64) -> io::Result<&[u8]> {
        if start >= end {
            return Ok(&[]);
        }
        if start < self.base || start >= self.held_end() {
            self.load(start, self.at_most_chunk(end - start))?;
        }
        Ok(self.held_part(start, end.min(self.held_end())))
    }

    /// The last bytes of `start..end`, at least one; empty only if the range is.
    pub(super) fn read_last(&mut self, start: u64, end: u64) -> io::Result<&[u8]> {
        if start >= end {
            return Ok(&[]);
        }
        if end <= self.base || end > self.held_end() {
            let length = self.at_most_chunk(end - start);
            self.load(end - length as u64, length)?;
        }
        Ok(self.held_part(start.max(self.base), end))
    }

    /// All bytes of `start..end`, from memory if they are held.
    pub(super) fn read_whole(&self, start: u64, end: u64) -> io::Result<Vec<u8>> {
        if start >= self.base && end <= self.held_end() {
            return Ok(self.held_part(start, end).to_vec());
        }
        let length = usize::try_from(end.saturating_sub(start)).map_err(io::Error::other)?;
        let mut bytes = vec![0; length];
        read_exact_at(&self.source, start, &mut bytes)?;
        Ok(bytes)
    }

    /// The start of the line that `end` is in: after the last newline of `start..end`.
    pub(super) fn line_start(&mut self, start: u64, end: u64) -> io::Result<u64> {
        self.after_last(start, end, |byte| byte == b'\n')
    }

    /// The end of `start..end` without trailing NUL bytes.
    pub(super) fn trim_nuls(&mut self, start: u64, end: u64) -> io::Result<u64> {
        self.after_last(start, end, |byte| byte != 0)
    }

    fn after_last(&mut self, start: u64, end: u64, is: impl Fn(u8) -> bool) -> io::Result<u64> {
        let mut at = end;
        while at > start {
            let bytes = self.read_last(start, at)?;
            let found = find_last_byte(bytes, &is);
            at -= (bytes.len() - found) as u64;
            if found > 0 {
                return Ok(at);
            }
        }
        Ok(start)
    }

    fn at_most_chunk(&self, length: u64) -> usize {
        usize::try_from(length).unwrap_or(usize::MAX).min(self.chunk)
    }

    fn held_end(&self) -> u64 {
        self.base + self.length as u64
    }

    /// The held bytes of a range that is inside them.
    fn held_part(&self, start: u64, end: u64) -> &[u8] {
        let index = |at: u64| usize::try_from(at.saturating_sub(self.base)).unwrap_or(usize::MAX);
        self.room.get(index(start)..index(end)).unwrap_or_default()
    }

    fn load(&mut self, base: u64, length: usize) -> io::Result<()> {
        self.length = 0;
        if self.room.len() < length {
            self.room.resize(length, 0);
        }
        read_exact_at(&self.source, base, self.room.get_mut(..length).unwrap_or_default())?;
        self.base = base;
        self.length = length;
        Ok(())
    }
}

/// Reads exactly `buf`; a source that has become shorter is an error.
fn read_exact_at(source: &impl ByteSource, mut offset: u64, buf: &mut [u8]) -> io::Result<()> {
    let mut rest = buf;
    while !rest.is_empty() {
        match source.read_at(offset, rest) {
            Ok(0) => {
                let message =
                    format!("the file became shorter while it was read, at byte {offset}");
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, message));
            }
            Ok(count) => {
                offset += count as u64;
                rest = rest.get_mut(count..).unwrap_or_default();
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
