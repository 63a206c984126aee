//! [`FileSystemFacts`]: what a file system offers beyond single files: flushing all of it at once, and exact times of
//! changes.

#![expect(clippy::disallowed_methods, reason = "part of the only module that accesses real files")]

/// What a mounted file system offers. Nothing where it is unknown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct FileSystemFacts {
    /// Whether flushing all of it reports every error.
    pub(super) flushes_whole: bool,
    /// Whether a file whose time of change was asked gets another time with its next change, however soon that is.
    pub(super) has_exact_times: bool,
}

/// Above this much unwritten data on the whole system, in KiB, files are flushed one by one: flushing a whole file system
/// also writes what other programs have changed there.
const MAX_UNWRITTEN: u64 = 64 << 10;

impl FileSystemFacts {
    /// Returns what a file system of this type offers on Linux of this version.
    ///
    /// Since Linux 5.8, `syncfs` reports errors of earlier background writes. Since 6.13 the times of these file systems
    /// tell any two changes apart, if the first one was looked at. Layered file systems, such as overlayfs, do not
    /// report every error.
    fn of(magic: u64, release: &str) -> FileSystemFacts {
        const EXT4: u64 = 0xef53;
        const XFS: u64 = 0x5846_5342;
        const BTRFS: u64 = 0x9123_683e;
        let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(str::parse::<u32>);
        let mut number = || numbers.next().and_then(Result::ok).unwrap_or(0);
        let version = (number(), number());
        let is_known = [EXT4, XFS, BTRFS].contains(&magic);
        FileSystemFacts {
            flushes_whole: is_known && version >= (5, 8),
            has_exact_times: is_known && version >= (6, 13),
        }
    }
}

/// Returns whether the text of `/proc/meminfo` shows little unwritten data.
fn is_little(meminfo: &str) -> bool {
    let amount = |name: &str| {
        let line = meminfo.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()
    };
    let amounts = ["Dirty:", "Writeback:"].map(amount);
    let total =
        amounts.into_iter().try_fold(0, |sum: u64, amount| Some(sum.saturating_add(amount?)));
    total.is_some_and(|total| total <= MAX_UNWRITTEN)
}

#[cfg(target_os = "linux")]
mod system {
    use std::fs::{self, File};
    use std::io;

    use rustix::fs::{fstatfs, syncfs};

    use super::{FileSystemFacts, is_little};

    /// Returns what the file system of a directory offers.
    pub(crate) fn facts(dir: &File) -> FileSystemFacts {
        let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        let magic = fstatfs(dir).map_or(0, |found| u64::try_from(found.f_type).unwrap_or(0));
        FileSystemFacts::of(magic & u64::from(u32::MAX), &release)
    }

    /// Returns whether the system has little unwritten data.
    pub(crate) fn has_little_unwritten() -> bool {
        fs::read_to_string("/proc/meminfo").is_ok_and(|text| is_little(&text))
    }

    /// Flushes the file system of a directory.
    pub(crate) fn sync_whole(dir: &File) -> io::Result<()> {
        Ok(syncfs(dir)?)
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use std::io;

    use super::super::platform::Base;
    use super::FileSystemFacts;

    pub(crate) fn facts(_: &Base) -> FileSystemFacts {
        FileSystemFacts::default()
    }

    pub(crate) fn has_little_unwritten() -> bool {
        false
    }

    pub(crate) fn sync_whole(_: &Base) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

pub(super) use system::{facts, has_little_unwritten, sync_whole};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_known_file_systems_of_new_systems_offer_more() {
        let facts = |magic, release| {
            let FileSystemFacts { flushes_whole, has_exact_times } =
                FileSystemFacts::of(magic, release);
            (flushes_whole, has_exact_times)
        };
        assert_eq!(facts(0xef53, "6.18.44-arch1"), (true, true));
        assert_eq!(facts(0x9123_683e, "6.12.9"), (true, false));
        assert_eq!(facts(0x5846_5342, "5.8"), (true, false));
        assert_eq!(facts(0x5846_5342, "5.7.19"), (false, false));
        assert_eq!(facts(0xef53, ""), (false, false));
        // overlayfs
        assert_eq!(facts(0x794c_7630, "6.18.0"), (false, false));
    }

    #[test]
    fn much_unwritten_data_is_noticed() {
        assert!(is_little("MemTotal: 1 kB\nDirty:     2048 kB\nWriteback:   0 kB\n"));
        assert!(!is_little("Dirty:     60000 kB\nWriteback:   9000 kB\n"));
        assert!(!is_little("Dirty: 1 kB\n"));
        assert!(!is_little(""));
    }
}
