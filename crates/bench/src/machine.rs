//! [`Machine`]: the machine of the measurements.

use std::path::Path;
use std::thread;

use crate::files;

/// The properties of a machine that matter most for a disk benchmark.
#[derive(Debug)]
pub(crate) struct Machine {
    /// The number of hardware threads; `None` if unknown.
    pub(crate) cores: Option<usize>,
    /// The kernel release, if there is a `/proc`.
    pub(crate) kernel: Option<String>,
    /// The type of the file system that holds the data, if there is a `/proc`.
    pub(crate) file_system: Option<String>,
    /// `release`, or `debug`, whose numbers mean little.
    pub(crate) build: &'static str,
}

impl Machine {
    /// Detects this machine; `dir` is the absolute path of the data.
    pub(crate) fn detect(dir: &Path) -> Machine {
        let mounts = files::read_if_there("/proc/mounts");
        Machine {
            cores: thread::available_parallelism().ok().map(usize::from),
            kernel: files::read_if_there("/proc/sys/kernel/osrelease")
                .map(|release| release.trim().to_owned()),
            file_system: mounts.and_then(|mounts| file_system_of(&mounts, dir)),
            build: if cfg!(debug_assertions) { "debug" } else { "release" },
        }
    }
}

/// Returns the type of the file system that holds `dir`, from the text of `/proc/mounts`: that of the deepest mount
/// point above it, the last one if several are stacked there.
fn file_system_of(mounts: &str, dir: &Path) -> Option<String> {
    let above = mounts.lines().filter_map(|line| {
        let mut fields = line.split(' ').skip(1);
        let point = fields.next()?.replace("\\040", " ");
        let kind = fields.next()?;
        dir.starts_with(&point).then_some((point.len(), kind))
    });
    above.max_by_key(|(depth, _)| *depth).map(|(_, kind)| kind.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
/dev/vda / ext4 rw,relatime 0 0
proc /proc proc rw 0 0
/dev/vdb /data xfs rw 0 0
tmpfs /data/fast tmpfs rw 0 0
/dev/vdc /data/two\\040words btrfs rw 0 0
/dev/vdd /stack ext4 rw 0 0
overlay /stack overlay rw 0 0
";

    fn check(dir: &str, expect: &str) {
        assert_eq!(file_system_of(MOUNTS, Path::new(dir)).as_deref(), Some(expect), "{dir}");
    }

    #[test]
    fn the_deepest_and_last_mount_above_a_directory_holds_it() {
        check("/home/me", "ext4");
        check("/data", "xfs");
        check("/data/slow/x", "xfs");
        check("/database", "ext4");
        check("/data/fast/x", "tmpfs");
        check("/data/two words/x", "btrfs");
        check("/stack/x", "overlay");
        assert_eq!(file_system_of("", Path::new("/")), None);
    }
}
