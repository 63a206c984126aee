//! [`WeakMount`]: mounted file systems on which a commit may not survive a power cut.
//!
//! [`weak_mounts`] parses `/proc/self/mountinfo`. For ext4, that file shows neither a missing journal nor a journal
//! mode set in the file system itself; the file system's own list of options does.

use std::fmt;
use std::path::{Path, PathBuf};

/// Why a commit may not be durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weakness {
    /// There is no journal: after a power cut, flushed files may be lost with their directory.
    NoJournal,
    /// The journal does not wait for contents (`data=writeback`): files may contain old blocks of others.
    Writeback,
    /// Flushes do not reach the device (`nobarrier`).
    NoBarrier,
}

/// A mounted file system on which a commit may not survive a power cut.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WeakMount {
    /// The mount point.
    pub mount_point: PathBuf,
    /// The file system type, such as `ext4`.
    pub kind: String,
    /// The reason.
    pub weakness: Weakness,
}

impl fmt::Display for WeakMount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let WeakMount { mount_point: place, kind, weakness } = self;
        let place = place.display();
        match weakness {
            Weakness::NoJournal => write!(
                f,
                "{place} is {kind} without a journal: a power cut can lose committed turns; use ext4 with a journal, xfs or btrfs"
            ),
            Weakness::Writeback => write!(
                f,
                "{place} is {kind} with data=writeback: a power cut can lose committed turns; mount it with data=ordered"
            ),
            Weakness::NoBarrier => write!(
                f,
                "{place} is {kind} with nobarrier: a power cut can lose committed turns; mount it with barriers"
            ),
        }
    }
}

/// One line of `mountinfo`.
struct MountEntry {
    mount_point: PathBuf,
    /// The device numbers, such as `8:1`.
    device: String,
    kind: String,
    /// The options of the file system, not those of this mount.
    options: String,
}

impl MountEntry {
    /// Parses `42 27 7:0 / /mnt rw,relatime shared:1 - ext4 /dev/loop0 rw,data=writeback`.
    fn parse(line: &str) -> Option<MountEntry> {
        let (mount, system) = line.split_once(" - ")?;
        let mut mount = mount.split(' ').skip(2);
        let device = mount.next()?.to_owned();
        let place = PathBuf::from(unescape(mount.nth(1)?));
        let mut system = system.split(' ');
        let kind = system.next()?.to_owned();
        let options = system.nth(1).unwrap_or_default().to_owned();
        Some(MountEntry { mount_point: place, device, kind, options })
    }

    fn weakness(&self, own_options: impl Fn(&str) -> Option<String>) -> Option<Weakness> {
        let has = |option: &str| self.options.split(',').any(|set| set == option);
        if has("nobarrier") || has("barrier=0") {
            return Some(Weakness::NoBarrier);
        }
        match self.kind.as_str() {
            "ext2" => Some(Weakness::NoJournal),
            "ext3" | "ext4" if has("data=writeback") => Some(Weakness::Writeback),
            "ext3" | "ext4" => {
                let own = own_options(&self.device)?;
                match own.lines().find_map(|line| line.trim().strip_prefix("data=")) {
                    Some("writeback") => Some(Weakness::Writeback),
                    Some(_) => None,
                    // Every journal has a mode.
                    None => Some(Weakness::NoJournal),
                }
            }
            _ => None,
        }
    }
}

/// Decodes octal escapes such as `\040`; only blanks and backslashes are escaped.
fn unescape(text: &str) -> String {
    let mut rest = text;
    let mut plain = String::with_capacity(text.len());
    while let Some((before, after)) = rest.split_once('\\') {
        plain.push_str(before);
        let code = after.get(..3).and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match code.filter(u8::is_ascii) {
            Some(code) => {
                plain.push(char::from(code));
                rest = after.get(3..).unwrap_or_default();
            }
            None => {
                plain.push('\\');
                rest = after;
            }
        }
    }
    plain.push_str(rest);
    plain
}

/// Returns the weak mounts that hold `root` or something below it. `own_options` returns the option list of an ext4
/// file system by its device numbers, if it can be read.
pub(super) fn weak_mounts(
    mountinfo: &str,
    root: &Path,
    own_options: impl Fn(&str) -> Option<String>,
) -> Vec<WeakMount> {
    let mounts: Vec<MountEntry> = mountinfo.lines().filter_map(MountEntry::parse).collect();
    // Of two mounts at one mount point the later one is visible.
    let above = mounts.iter().filter(|mount| root.starts_with(&mount.mount_point));
    let owner = above.max_by_key(|mount| mount.mount_point.components().count());
    let below = mounts
        .iter()
        .filter(|mount| mount.mount_point.starts_with(root) && mount.mount_point != root);
    let weak = owner.into_iter().chain(below).filter_map(|mount| {
        let weakness = mount.weakness(&own_options)?;
        Some(WeakMount {
            mount_point: mount.mount_point.clone(),
            kind: mount.kind.clone(),
            weakness,
        })
    });
    weak.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines as Linux 6.18 writes them, with loop devices of each kind.
    const MOUNTS: &str = r"27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard
25 24 0:23 / /dev/shm rw,relatime - tmpfs tmpfs rw,size=24684112k
42 27 7:0 / /ordered rw,relatime shared:1 - ext4 /dev/loop0 rw
43 27 7:1 / /writeback rw,relatime - ext4 /dev/loop1 rw,data=writeback
44 27 7:2 / /journal rw,relatime - ext4 /dev/loop2 rw,nodioread_nolock,nodelalloc,data=journal
45 27 7:3 / /none rw,relatime - ext4 /dev/loop3 rw
46 27 7:4 / /two rw,relatime - ext2 /dev/loop4 rw
47 27 7:5 / /default rw,relatime - ext4 /dev/loop5 rw
48 27 7:6 / /with\040blank rw,relatime - ext4 /dev/loop6 rw,nobarrier
49 42 7:7 / /ordered/root/sub rw,relatime - ext2 /dev/loop7 rw
50 27 7:8 / /covered rw,relatime - ext2 /dev/loop8 rw
51 50 7:9 / /covered rw,relatime - xfs /dev/loop9 rw,attr2,inode64
broken line
";

    fn own_options(device: &str) -> Option<String> {
        let journal = match device {
            "7:0" | "254:0" => "data=ordered\n",
            "7:2" => "data=journal\n",
            "7:3" => "",
            "7:5" => "data=writeback\n",
            _ => return None,
        };
        Some(format!("rw\nbsddf\nnojournal_checksum\nbarrier\n{journal}"))
    }

    fn found(root: &str) -> Vec<(String, Weakness)> {
        let found = weak_mounts(MOUNTS, Path::new(root), own_options);
        found
            .into_iter()
            .map(|weak| (weak.mount_point.display().to_string(), weak.weakness))
            .collect()
    }

    fn check(root: &str, weak: &[(&str, Weakness)]) {
        let weak: Vec<_> = weak.iter().map(|(at, why)| ((*at).to_owned(), *why)).collect();
        assert_eq!(found(root), weak, "{root}");
    }

    #[test]
    fn weak_file_systems_are_known_by_their_options() {
        use Weakness::{NoBarrier, NoJournal, Writeback};
        check("/home/me", &[]);
        check("/dev/shm/root", &[]);
        check("/journal/root", &[]);
        check("/writeback", &[("/writeback", Writeback)]);
        check("/writebacks", &[]);
        check("/none/root", &[("/none", NoJournal)]);
        check("/two/root", &[("/two", NoJournal)]);
        check("/default/root", &[("/default", Writeback)]);
        check("/with blank/root", &[("/with blank", NoBarrier)]);
        check("/covered/root", &[]);
    }

    #[test]
    fn mounts_below_the_root_count_too() {
        check("/ordered/root", &[("/ordered/root/sub", Weakness::NoJournal)]);
        check("/ordered/other", &[]);
    }

    #[test]
    fn a_file_system_whose_options_cannot_be_read_is_not_accused() {
        assert_eq!(weak_mounts(MOUNTS, Path::new("/none"), |_| None), []);
    }

    #[test]
    fn a_warning_says_what_to_do() {
        let weak = weak_mounts(MOUNTS, Path::new("/writeback"), own_options);
        assert_eq!(
            weak[0].to_string(),
            "/writeback is ext4 with data=writeback: a power cut can lose committed turns; mount it with data=ordered"
        );
    }
}
