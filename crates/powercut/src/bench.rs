//! [`Bench`]: the setup that a disk is tested on: FUSE file, loop device, file system. Dropping it tears it down.

use std::fs::{self, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use fuser::{BackgroundSession, Config, MountOption};
use rustix::fs::OFlags;

use crate::blocks::Blocks;
use crate::error::{PowercutError, cannot};
use crate::filesystem::FileSystem;
use crate::program;
use crate::recorder::{Disk, DiskServer, FILE_NAME};

/// The loop device that the disk is mounted from. The two have different device numbers.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Device {
    /// The device used for recording.
    Recorded,
    /// Another device, as after a disk was moved or copied.
    Other,
}

/// How often an operation that fails as busy is retried, and the pause between attempts.
const ATTEMPTS: u32 = 100;
const PAUSE: Duration = Duration::from_millis(20);

/// How long another program may keep a file system mounted in its own namespace.
const LONGEST_USE: Duration = Duration::from_secs(120);

/// A recording disk with a file system on it.
pub(crate) struct Bench {
    system: &'static FileSystem,
    disk: Arc<Disk>,
    fuse: PathBuf,
    mount: PathBuf,
    /// Serves the disk; taken when the bench is dropped.
    session: Option<BackgroundSession>,
    /// The loop devices; the kernel drops the cache of a device when it is unmounted.
    devices: Vec<String>,
    /// A mount that takes the next device number, for file systems without the number of a real device.
    spacer: PathBuf,
    has_spacer: bool,
    is_mounted: bool,
}

impl Bench {
    /// Creates a bench below `directory` with an empty disk for `system`.
    pub(crate) fn new(
        directory: &Path,
        system: &'static FileSystem,
    ) -> Result<Bench, PowercutError> {
        let fuse = directory.join("fuse");
        let mount = directory.join("mnt");
        let spacer = directory.join("spacer");
        for path in [&fuse, &mount, &spacer] {
            fs::create_dir_all(path).map_err(cannot(format!("create {}", path.display())))?;
        }
        let disk = Arc::new(Disk::new(system.megabytes << 20));
        let mut config = Config::default();
        config.mount_options = vec![MountOption::FSName("everturn-powercut".to_owned())];
        let session = fuser::spawn_mount(DiskServer::new(Arc::clone(&disk)), &fuse, &config)
            .map_err(cannot("mount a FUSE file system"))?;
        let mut bench = Bench {
            system,
            disk,
            fuse,
            mount,
            session: Some(session),
            devices: Vec::new(),
            spacer,
            has_spacer: false,
            is_mounted: false,
        };
        let file = bench.fuse.join(FILE_NAME).display().to_string();
        for _ in [Device::Recorded, Device::Other] {
            let name = repeat(|| program::run("losetup", &["--find", "--show", &file]))?;
            bench.devices.push(name);
        }
        Ok(bench)
    }

    /// The disk.
    pub(crate) fn disk(&self) -> &Disk {
        &self.disk
    }

    /// Returns the mount point of the file system.
    pub(crate) fn path(&self) -> &Path {
        &self.mount
    }

    /// Creates a file system on an empty disk, and returns the content.
    pub(crate) fn format(&mut self) -> Result<Blocks, PowercutError> {
        self.disk.set(Blocks::default());
        let device = self.device(Device::Recorded);
        if let Some((program, options)) = self.system.make.split_first() {
            let mut arguments = options.to_vec();
            arguments.push(&device);
            program::run(program, &arguments)?;
        }
        Ok(self.disk.blocks())
    }

    /// Sets the content of the disk and mounts it.
    pub(crate) fn mount(&mut self, blocks: Blocks, device: Device) -> Result<(), PowercutError> {
        for device in &self.devices {
            await_free(device)?;
        }
        self.disk.set(blocks);
        if self.system.kind == "btrfs" {
            // btrfs remembers disks by their contents, and prefers the newer of two that look alike.
            program::run("btrfs", &["device", "scan", "--forget"])?;
            // Its files get the next free device number, whatever disk it is on.
            self.set_spacer(device == Device::Other)?;
        }
        let device = self.device(device);
        let target = self.mount.display().to_string();
        let arguments =
            ["-t", self.system.kind, "-o", self.system.options, device.as_str(), target.as_str()];
        program::run("mount", &arguments)?;
        self.is_mounted = true;
        Ok(())
    }

    /// Returns the device number of files in the mounted file system.
    pub(crate) fn device_number(&self) -> Result<u64, PowercutError> {
        let metadata =
            fs::metadata(&self.mount).map_err(cannot("inspect the mounted directory"))?;
        Ok(metadata.dev())
    }

    /// Unmounts the file system; the recording stays.
    pub(crate) fn unmount(&mut self) -> Result<(), PowercutError> {
        if self.is_mounted {
            let target = self.mount.display().to_string();
            repeat(|| program::run("umount", &[&target]))?;
            self.is_mounted = false;
        }
        Ok(())
    }

    fn device(&self, device: Device) -> String {
        self.devices.get(device as usize).cloned().unwrap_or_default()
    }

    fn set_spacer(&mut self, is_wanted: bool) -> Result<(), PowercutError> {
        let target = self.spacer.display().to_string();
        if is_wanted && !self.has_spacer {
            program::run("mount", &["-t", "tmpfs", "-o", "size=4k", "spacer", &target])?;
        } else if !is_wanted && self.has_spacer {
            program::run("umount", &[&target])?;
        }
        self.has_spacer = is_wanted;
        Ok(())
    }
}

/// Waits until nothing has the file system of a device mounted. A program that was started in its own mount namespace
/// takes a copy of every mount with it. As long as it runs, the kernel would show the old content at a new mount.
fn await_free(device: &str) -> Result<(), PowercutError> {
    let deadline = Instant::now() + LONGEST_USE;
    loop {
        let exclusive = OpenOptions::new()
            .read(true)
            .custom_flags(OFlags::EXCL.bits().cast_signed())
            .open(device);
        match exclusive {
            Ok(_) => return Ok(()),
            Err(error) if error.kind() == ErrorKind::ResourceBusy && Instant::now() < deadline => {
                thread::sleep(PAUSE);
            }
            Err(error) => return Err(cannot(format!("open {device} for this test only"))(error)),
        }
    }
}

fn repeat(
    mut attempt: impl FnMut() -> Result<String, PowercutError>,
) -> Result<String, PowercutError> {
    for _ in 1..ATTEMPTS {
        if let Ok(output) = attempt() {
            return Ok(output);
        }
        thread::sleep(PAUSE);
    }
    attempt()
}

impl Drop for Bench {
    fn drop(&mut self) {
        // The next run finds and reports what could not be torn down.
        if self.unmount().is_err() {
            program::run("umount", &["--lazy", &self.mount.display().to_string()]).ok();
        }
        self.set_spacer(false).ok();
        for device in &self.devices {
            program::run("losetup", &["--detach", device]).ok();
        }
        if let Some(session) = self.session.take() {
            session.umount_and_join().ok();
        }
    }
}
