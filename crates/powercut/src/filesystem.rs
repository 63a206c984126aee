//! [`FileSystem`]: the file systems under test, and how each is created and mounted.

use crate::error::PowercutError;

/// A file system with its options.
#[derive(Debug)]
pub(crate) struct FileSystem {
    /// The name on the command line and in the report.
    pub(crate) name: &'static str,
    /// The type for `mount -t`.
    pub(crate) kind: &'static str,
    /// The command that creates one, without the device.
    pub(crate) make: &'static [&'static str],
    /// The options for `mount -o`.
    pub(crate) options: &'static str,
    /// The size of the disk in MiB; only written blocks take memory.
    pub(crate) megabytes: u64,
}

const MAKE_EXT4: &[&str] = &[
    "mkfs.ext4",
    "-q",
    "-F",
    "-b",
    "4096",
    "-E",
    "nodiscard,lazy_itable_init=0,lazy_journal_init=0",
];

/// All file systems, in the order of the report.
pub(crate) const FILE_SYSTEMS: &[FileSystem] = &[
    FileSystem { name: "ext4", kind: "ext4", make: MAKE_EXT4, options: "rw", megabytes: 128 },
    FileSystem {
        name: "ext4-noda",
        kind: "ext4",
        make: MAKE_EXT4,
        options: "noauto_da_alloc",
        megabytes: 128,
    },
    FileSystem {
        name: "ext4-journal",
        kind: "ext4",
        make: MAKE_EXT4,
        options: "data=journal",
        megabytes: 128,
    },
    FileSystem {
        name: "xfs",
        kind: "xfs",
        make: &["mkfs.xfs", "-q", "-f", "-K"],
        options: "rw",
        megabytes: 320,
    },
    FileSystem {
        name: "btrfs",
        kind: "btrfs",
        make: &["mkfs.btrfs", "-q", "-f", "-K", "-m", "single"],
        options: "rw",
        megabytes: 256,
    },
];

/// Returns the file systems of these names; all of them if `names` is empty.
pub(crate) fn choose(names: &[String]) -> Result<Vec<&'static FileSystem>, PowercutError> {
    if names.is_empty() {
        return Ok(FILE_SYSTEMS.iter().collect());
    }
    let find = |name: &String| {
        FILE_SYSTEMS.iter().find(|system| system.name == name).ok_or_else(|| {
            let known: Vec<&str> = FILE_SYSTEMS.iter().map(|system| system.name).collect();
            PowercutError::Usage(format!(
                "unknown file system {name:?}; known: {}",
                known.join(", ")
            ))
        })
    };
    names.iter().map(find).collect()
}
