//! What the operating system knows of a file: kind, length, identity, permissions. Never its times.
//!
//! On Linux the times are left out on purpose. Since 6.13, asking for them makes the next write to the file
//! take a finer time stamp, which dirties the inode and, on ext4, makes every flush of the log half as
//! expensive again.

use std::io;

use super::{FileId, Kind, Stat};

#[cfg(target_os = "linux")]
mod system {
    use std::os::fd::AsFd;

    use rustix::fs::{AtFlags, CWD, FileType, Statx, StatxFlags, statx};

    use super::{FileId, Kind, Stat, io};

    const WANTED: StatxFlags =
        StatxFlags::TYPE.union(StatxFlags::MODE).union(StatxFlags::INO).union(StatxFlags::SIZE);

    pub(crate) fn of_path(path: &std::path::Path) -> io::Result<Stat> {
        Ok(stat_from(&statx(CWD, path, AtFlags::empty(), WANTED)?))
    }

    pub(crate) fn of_file(file: impl AsFd) -> io::Result<Stat> {
        Ok(stat_from(&statx(file, "", AtFlags::EMPTY_PATH, WANTED)?))
    }

    fn stat_from(data: &Statx) -> Stat {
        let mode = u32::from(data.stx_mode);
        let kind = match FileType::from_raw_mode(mode) {
            FileType::RegularFile => Kind::File,
            FileType::Directory => Kind::Dir,
            _ => Kind::Other,
        };
        let device = (u64::from(data.stx_dev_major) << 32) | u64::from(data.stx_dev_minor);
        Stat { kind, len: data.stx_size, id: FileId(device, data.stx_ino), mode: mode & 0o7777 }
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use std::os::unix::fs::MetadataExt;

    use super::{FileId, Kind, Stat, io};

    pub(crate) fn of_path(path: &std::path::Path) -> io::Result<Stat> {
        Ok(stat_from(&path.metadata()?))
    }

    pub(crate) fn of_file(file: &std::fs::File) -> io::Result<Stat> {
        Ok(stat_from(&file.metadata()?))
    }

    fn stat_from(data: &std::fs::Metadata) -> Stat {
        let kind = match data.file_type() {
            kind if kind.is_file() => Kind::File,
            kind if kind.is_dir() => Kind::Dir,
            _ => Kind::Other,
        };
        let id = FileId(data.dev(), data.ino());
        Stat { kind, len: data.len(), id, mode: data.mode() & 0o7777 }
    }
}

pub(super) use system::{of_file, of_path};
