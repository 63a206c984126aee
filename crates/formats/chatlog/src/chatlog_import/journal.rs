//! Rollback journals of SQLite: the pages of a database before a change.
//!
//! A journal has one or more parts. Each starts with a header at a sector boundary, followed by records of a page
//! number, the page, and a checksum of some of its bytes. The first record with a wrong checksum ends the journal: it
//! was not completely written before the program was killed, so its page was not changed either.

const MAGIC: &[u8] = &[0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];

/// The header of a part.
struct JournalHeader {
    /// The number of records that follow; `u32::MAX` means all there are.
    records: u32,
    nonce: u32,
    /// The number of pages of the database.
    pages: u32,
    sector: usize,
    page_size: usize,
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk::<4>().map(|bytes| u32::from_be_bytes(*bytes))
}

fn header(journal: &[u8], at: usize) -> Option<JournalHeader> {
    let bytes = journal.get(at..)?.strip_prefix(MAGIC)?;
    let size = |at: usize| number(bytes, at).and_then(|size| usize::try_from(size).ok());
    Some(JournalHeader {
        records: number(bytes, 0)?,
        nonce: number(bytes, 4)?,
        pages: number(bytes, 8)?,
        sector: size(12)?,
        page_size: size(16)?,
    })
}

/// The database before the change that the journal belongs to.
pub(super) fn roll_back(mut database: Vec<u8>, journal: &[u8]) -> Result<Vec<u8>, String> {
    let first = header(journal, 0).ok_or("it has no header")?;
    let page_size = first.page_size;
    let sensible =
        |size: usize, least: usize| size.is_power_of_two() && (least..=65536).contains(&size);
    if !sensible(page_size, 512) || !sensible(first.sector, 32) {
        return Err(format!("it has pages of {page_size} bytes in sectors of {}", first.sector));
    }
    let length = (first.pages as usize).saturating_mul(page_size);
    if length > database.len().saturating_add(journal.len()) {
        return Err(format!("it declares a database of {} pages", first.pages));
    }
    let mut at = 0;
    'parts: while let Some(part) = header(journal, at) {
        if part.page_size != page_size || part.sector != first.sector {
            break;
        }
        at += part.sector;
        for _ in 0..part.records {
            let Some((page, content)) = record(journal, at, page_size, part.nonce) else {
                break 'parts;
            };
            put(&mut database, page, content, length);
            at += page_size + 8;
        }
        at = at.next_multiple_of(part.sector);
    }
    database.resize(length, 0);
    Ok(database)
}

/// A record with a correct checksum: a page number, counted from 1, and its content.
fn record(journal: &[u8], at: usize, page_size: usize, nonce: u32) -> Option<(u32, &[u8])> {
    let page = number(journal, at)?;
    let content = journal.get(at + 4..at + 4 + page_size)?;
    let sum = number(journal, at + 4 + page_size)?;
    let summed = (1..).map(|step: usize| page_size.checked_sub(200 * step));
    let summed = summed.map_while(|at| at.filter(|&at| at > 0));
    let right = summed
        .fold(nonce, |sum, at| sum.wrapping_add(content.get(at).copied().map_or(0, u32::from)));
    (sum == right && page > 0).then_some((page, content))
}

/// Writes a page to its position, unless the database was shorter.
fn put(database: &mut Vec<u8>, page: u32, content: &[u8], length: usize) {
    let start = (page as usize - 1).saturating_mul(content.len());
    let end = start.saturating_add(content.len());
    if end > length {
        return;
    }
    if database.len() < end {
        database.resize(end, 0);
    }
    if let Some(place) = database.get_mut(start..end) {
        place.copy_from_slice(content);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A journal of one part, with pages of 512 equal bytes.
    fn journal(pages: u32, records: u32, content: &[(u32, u8)]) -> Vec<u8> {
        let numbers = [records, 7, pages, 512, 512];
        let numbers: Vec<u8> = numbers.iter().flat_map(|number| number.to_be_bytes()).collect();
        let mut journal = [MAGIC, &numbers].concat();
        journal.resize(512, 0);
        for &(page, byte) in content {
            journal.extend(page.to_be_bytes());
            journal.extend([byte; 512]);
            journal.extend((7 + 2 * u32::from(byte)).to_be_bytes());
        }
        journal
    }

    fn pages(bytes: &[u8]) -> Vec<u8> {
        bytes.chunks(512).map(|page| page[0]).collect()
    }

    #[test]
    fn pages_are_put_back_and_the_length_is_restored() {
        let check = |database: &[u8], journal: &[u8], expect: &[u8]| {
            let database: Vec<u8> = database.iter().flat_map(|&byte| [byte; 512]).collect();
            assert_eq!(pages(&roll_back(database, journal).unwrap()), expect);
        };
        check(&[1, 2, 3], &journal(3, 1, &[(2, 9)]), &[1, 9, 3]);
        check(&[1, 2, 3], &journal(2, 1, &[(2, 9)]), &[1, 9]);
        check(&[1], &journal(2, 1, &[(2, 9)]), &[1, 9]);
        check(&[1, 2, 3], &journal(3, u32::MAX, &[(1, 8), (2, 9)]), &[8, 9, 3]);
        check(&[1, 2, 3], &journal(3, 0, &[(1, 8)]), &[1, 2, 3]);
        check(&[1, 2, 3], &journal(3, 1, &[(99, 8)]), &[1, 2, 3]);
        let mut torn = journal(3, 2, &[(1, 8), (2, 9)]);
        *torn.last_mut().unwrap() ^= 1;
        check(&[1, 2, 3], &torn, &[8, 2, 3]);
    }

    #[test]
    fn what_is_no_journal_is_refused() {
        for bad in [&b""[..], b"hello", MAGIC] {
            assert_eq!(roll_back(vec![], bad).unwrap_err(), "it has no header");
        }
        let mut odd = journal(1, 0, &[]);
        odd[26] = 3;
        assert!(roll_back(vec![], &odd).unwrap_err().contains("pages of"));
        let many = journal(u32::MAX, 0, &[]);
        assert!(roll_back(vec![], &many).unwrap_err().contains("4294967295 pages"));
    }

    #[test]
    fn no_cut_makes_rolling_back_panic() {
        let whole = journal(3, 2, &[(1, 8), (2, 9)]);
        for end in 0..whole.len() {
            drop(roll_back(vec![0; 1536], &whole[..end]));
        }
    }
}
