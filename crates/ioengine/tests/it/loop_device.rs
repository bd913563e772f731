//! Files of a block device of the tests' own, with small sectors and small blocks.

use crate::conformance::CASES;
use crate::oracle;
use crate::stand::{Kind, within_a_minute};
use std::path::Path;
use std::process::Command;

const IMAGE_BYTES: u64 = 64 << 20;

/// An ext4 of its own image, mounted. Goes when it is dropped, whatever is still open on it.
struct LoopDevice {
    device: Option<String>,
    is_mounted: bool,
    folder: tempfile::TempDir,
}

impl LoopDevice {
    fn new(sector_bytes: u32, block_bytes: u32) -> Result<LoopDevice, String> {
        if !rustix::process::geteuid().is_root() {
            return Err("only root may mount".to_owned());
        }
        let folder = tempfile::tempdir().unwrap();
        let (image, mount) = (folder.path().join("image"), folder.path().join("mount"));
        std::fs::create_dir(&mount).unwrap();
        std::fs::File::create(&image).unwrap().set_len(IMAGE_BYTES).unwrap();
        let mut made = LoopDevice { device: None, is_mounted: false, folder };
        let sectors = sector_bytes.to_string();
        let attach = ["--find", "--show", "--sector-size", &sectors];
        let device = run(Command::new("losetup").args(attach).arg(&image))?.trim().to_owned();
        made.device = Some(device.clone());
        let blocks = block_bytes.to_string();
        run(Command::new("mkfs.ext4").args(["-q", "-F", "-b", &blocks, &device]))?;
        run(Command::new("mount").args(["-t", "ext4", &device]).arg(&mount))?;
        made.is_mounted = true;
        Ok(made)
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        if self.is_mounted {
            let mount = self.folder.path().join("mount");
            // Lazily: a lane of a test that failed may still hold files.
            let _ = rustix::mount::unmount(mount, rustix::mount::UnmountFlags::DETACH);
        }
        if let Some(device) = &self.device {
            // While something uses the device, the kernel only notes this, and does it later.
            let _ = run(Command::new("losetup").args(["--detach", device]));
        }
    }
}

fn run(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr).trim()))
    }
}

/// Every case of the conformance suite, and random batches, over one mount.
fn check(sector_bytes: u32, block_bytes: u32) {
    let device = match LoopDevice::new(sector_bytes, block_bytes) {
        Ok(device) => device,
        Err(reason) => return println!("skipped: no loop device with a file system on it: {reason}"),
    };
    let mount: &'static Path = Box::leak(device.folder.path().join("mount").into_boxed_path());
    for (name, case) in CASES {
        println!("{name}");
        within_a_minute(move || case(Kind::Mounted(mount)));
    }
    oracle::agrees(Kind::Mounted(mount));
}

#[test]
fn sectors_of_512_bytes_and_blocks_of_1_kib() {
    check(512, 1024);
}

/// ext4 has no blocks smaller than the sectors of its device.
#[test]
fn sectors_of_4_kib() {
    check(4096, 4096);
}

#[test]
fn a_panic_detaches_the_device() {
    let panicked = std::thread::spawn(|| match LoopDevice::new(512, 1024) {
        Ok(device) => {
            let mount = device.folder.path().join("mount");
            std::panic::resume_unwind(Box::new((device.device.clone().unwrap(), mount)));
        }
        Err(reason) => println!("skipped: no loop device with a file system on it: {reason}"),
    });
    let Err(panic) = panicked.join() else { return };
    let (device, mount) = *panic.downcast::<(String, std::path::PathBuf)>().unwrap();
    let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap();
    assert!(!mounts.contains(mount.to_str().unwrap()), "{device} is still mounted");
    assert!(!mount.exists());
}
