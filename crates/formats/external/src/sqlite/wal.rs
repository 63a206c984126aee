//! Merges a database with the write-ahead log beside it, as SQLite would.

/// The magic number of the log; its last bit is the byte order of the checksums.
const MAGIC: u32 = 0x377f_0682;
const HEADER: usize = 32;
const FRAME: usize = 24;

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(*bytes.get(at..at + 4)?.first_chunk()?))
}

/// The checksum of a log, which continues from frame to frame.
fn sum(bytes: &[u8], big: bool, from: (u32, u32)) -> (u32, u32) {
    let word = |bytes: &[u8]| {
        let bytes = bytes.first_chunk::<4>().copied().unwrap_or_default();
        if big { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
    };
    bytes.chunks_exact(8).fold(from, |(one, two), pair| {
        let (first, second) = pair.split_at(4);
        let one = one.wrapping_add(word(first)).wrapping_add(two);
        let two = two.wrapping_add(word(second)).wrapping_add(one);
        (one, two)
    })
}

/// The page size; page numbers with their offsets; the total number of pages.
type CommittedPages = (usize, Vec<(u32, usize)>, u32);

/// The pages of a log up to the last committed transaction, with their offsets, and the number of pages that the
/// database has then.
fn committed_pages(log: &[u8]) -> Option<CommittedPages> {
    let magic = number(log, 0).filter(|magic| magic & !1 == MAGIC)?;
    let (big, page) = (magic & 1 == 1, usize::try_from(number(log, 8)?).ok()?);
    if !page.is_power_of_two() || page < 512 {
        return None;
    }
    let salts = log.get(16..24)?;
    let mut sums = sum(log.get(..24)?, big, (0, 0));
    if (number(log, 24)?, number(log, 28)?) != sums {
        return None;
    }
    let (mut pages, mut done, mut size) = (Vec::new(), 0, 0);
    let mut at = HEADER;
    while let Some(frame) = log.get(at..at + FRAME + page) {
        let (head, content) = frame.split_at(FRAME);
        sums = sum(content, big, sum(head.get(..8)?, big, sums));
        let is_ours = head.get(8..16) == Some(salts)
            && (number(head, 16), number(head, 20)) == (Some(sums.0), Some(sums.1));
        if !is_ours {
            break;
        }
        pages.push((number(head, 0)?, at + FRAME));
        let total = number(head, 4)?;
        if total > 0 {
            (done, size) = (pages.len(), total);
        }
        at += FRAME + page;
    }
    pages.truncate(done);
    Some((page, pages, size))
}

/// The database with the committed part of the log. Its header no longer refers to a log.
pub(super) fn apply_wal(mut database: Vec<u8>, log: &[u8]) -> Vec<u8> {
    // Pages that the database does not have yet are in the log, so a larger size is not to be believed.
    let most = database.len().saturating_add(log.len());
    let is_possible = |(page, pages, size): &CommittedPages| {
        !pages.is_empty() && (*size as usize).saturating_mul(*page) <= most
    };
    if let Some((page, pages, size)) = committed_pages(log).filter(is_possible) {
        database.resize((size as usize).saturating_mul(page), 0);
        for (number, from) in pages {
            let to = (number as usize).saturating_sub(1).saturating_mul(page);
            if let (Some(to), Some(from)) =
                (database.get_mut(to..to.saturating_add(page)), log.get(from..from + page))
            {
                to.copy_from_slice(from);
            }
        }
    }
    if let Some(mode) = database.get_mut(18..20) {
        mode.fill(1);
    }
    database
}
