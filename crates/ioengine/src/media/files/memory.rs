//! How much memory the process may use.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// The machine's memory in bytes, or what the process's control group, or one above it, may use of it where that is less.
///
/// A control group that cannot be read limits nothing. Looked up once a process: opening an array should not read files
/// of the kernel's each time.
pub(super) fn memory_bytes() -> u64 {
    // Not a lock, which a forked child might find held by a thread that it does not have.
    static FOUND: AtomicU64 = AtomicU64::new(0);
    let found = FOUND.load(Ordering::Relaxed);
    if found != 0 {
        return found;
    }
    let info = rustix::system::sysinfo();
    let machine = u64::from(info.mem_unit).saturating_mul(info.totalram);
    let read = |path: &Path| std::fs::read_to_string(path).ok();
    let found = machine.min(group_bytes(&read).unwrap_or(u64::MAX));
    FOUND.store(found, Ordering::Relaxed);
    found
}

/// The least limit of the control groups that the process is in, of either version (`cgroups(7)`).
fn group_bytes(read: &dyn Fn(&Path) -> Option<String>) -> Option<u64> {
    let groups = read(Path::new("/proc/self/cgroup"))?;
    let mounts = read(Path::new("/proc/self/mountinfo"))?;
    mounts.lines().filter_map(Mount::parse).filter_map(|mount| mount.limit(&groups, read)).min()
}

/// A mounted hierarchy of control groups that limits memory.
struct Mount<'a> {
    /// The group that is mounted.
    root: &'a str,
    point: &'a str,
    version: Version,
}

#[derive(Clone, Copy)]
enum Version {
    One,
    Two,
}

impl<'a> Mount<'a> {
    /// A line of `/proc/self/mountinfo` (`proc_pid_mountinfo(5)`); `None` for other mounts.
    fn parse(line: &'a str) -> Option<Mount<'a>> {
        let (place, system) = line.split_once(" - ")?;
        let mut place = place.split(' ').skip(3);
        let (root, point) = (place.next()?, place.next()?);
        let mut system = system.split(' ');
        let version = match system.next()? {
            "cgroup2" => Version::Two,
            "cgroup" if system.nth(1)?.split(',').any(|option| option == "memory") => Version::One,
            _ => return None,
        };
        Some(Mount { root, point, version })
    }

    /// The least limit of the process's group in this hierarchy and of the groups above it, as far as they are mounted. A
    /// group outside what is mounted, as containers see their own, is taken to be the mounted one.
    fn limit(&self, groups: &str, read: &dyn Fn(&Path) -> Option<String>) -> Option<u64> {
        let mut groups = groups.lines().filter_map(|line| line.split_once(':')?.1.split_once(':'));
        let (_, group) = groups.find(|(controllers, _)| match self.version {
            Version::One => controllers.split(',').any(|name| name == "memory"),
            Version::Two => controllers.is_empty(),
        })?;
        let below = Path::new(group).strip_prefix(self.root).unwrap_or(Path::new(""));
        let folder: PathBuf = Path::new(self.point).join(below);
        let file = match self.version {
            Version::One => "memory.limit_in_bytes",
            Version::Two => "memory.max",
        };
        let up = folder.ancestors().take_while(|folder| folder.starts_with(self.point));
        // A group of version 2 without a limit says "max", one of version 1 a number beyond any machine.
        up.filter_map(|folder| read(&folder.join(file))?.trim().parse().ok()).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With these files.
    fn limit(files: &[(&str, &str)]) -> Option<u64> {
        let read = |path: &Path| {
            files.iter().find(|(name, _)| path == Path::new(name)).map(|(_, text)| (*text).to_owned())
        };
        group_bytes(&read)
    }

    #[test]
    fn the_least_limit_of_the_groups_above_counts() {
        let mounts = (
            "/proc/self/mountinfo",
            "25 1 0:22 / /sys/fs/cgroup rw,relatime shared:4 - cgroup2 cgroup2 rw\n26 1 8:1 / / rw - ext4 /dev/sda rw\n",
        );
        let group = ("/proc/self/cgroup", "0::/jobs/mine\n");
        let own = ("/sys/fs/cgroup/jobs/mine/memory.max", "max\n");
        let above = ("/sys/fs/cgroup/jobs/memory.max", "4096\n");
        assert_eq!(limit(&[mounts, group, own]), None);
        assert_eq!(limit(&[mounts, group, own, above]), Some(4096));
        let own = (own.0, "1024\n");
        assert_eq!(limit(&[mounts, group, own, above]), Some(1024));
        assert_eq!(limit(&[mounts, own]), None);
        assert_eq!(limit(&[]), None);
    }

    #[test]
    fn a_container_reads_its_own_group() {
        let mounts = (
            "/proc/self/mountinfo",
            "35 1 0:30 /docker/ab /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n34 1 0:29 / /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu\n",
        );
        let found = ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "2048\n");
        for group in ["4:memory:/docker/ab\n0::/\n", "4:memory:/elsewhere\n", "4:cpu,memory:/\n"] {
            assert_eq!(limit(&[mounts, ("/proc/self/cgroup", group), found]), Some(2048), "{group}");
        }
        let deeper = ("/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "512\n");
        let group = ("/proc/self/cgroup", "4:memory:/docker/ab/job\n");
        assert_eq!(limit(&[mounts, group, found, deeper]), Some(512));
        assert_eq!(limit(&[mounts, ("/proc/self/cgroup", "1:cpu:/\n"), found]), None);
    }

    #[test]
    fn there_is_some_memory() {
        assert!((1 << 20) < memory_bytes());
    }
}
