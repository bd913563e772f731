//! A file system of the tests' own: a directory seen through FUSE, whose reads take as long as they would over a
//! network, and fail when told to.
//!
//! The server is a process of its own, this very program started once more: a process that reads from a file system it
//! serves itself cannot be ended while a read is in flight. It goes, and takes the mount with it, when its standard
//! input ends, so also when the test panics or is killed.

#[cfg(not(target_os = "linux"))]
#[path = "no_server.rs"]
mod server;
#[cfg(target_os = "linux")]
mod server;

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

/// How the file system behaves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slowness {
    /// What each read takes at least.
    pub(crate) latency: Duration,
    /// What it takes in addition, at most.
    pub(crate) jitter: Duration,
    pub(crate) seed: u64,
    pub(crate) cache: Cache,
    /// The read that fails, with EIO, counted from one; zero for none.
    pub(crate) fail_read: u64,
    /// Reads, of a thousand, that bring half of what was asked for. Only [`Cache::None`] lets a reader see it: the page
    /// cache takes a short read for the end of the file.
    pub(crate) short_per_mille: u64,
    /// Reads that the kernel sends without being waited for, such as those of its page cache, at one time.
    pub(crate) background_max: u16,
}

/// Whether the kernel keeps the bytes of files that are open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cache {
    Pages,
    None,
}

impl Default for Slowness {
    fn default() -> Slowness {
        Slowness {
            latency: Duration::from_micros(200),
            jitter: Duration::from_micros(200),
            seed: 1,
            cache: Cache::Pages,
            fail_read: 0,
            short_per_mille: 0,
            background_max: 1024,
        }
    }
}

/// A mounted file system. Unmounts when it is dropped, whatever is still open on it.
pub(crate) struct SlowFs {
    server: Child,
    output: BufReader<ChildStdout>,
    folder: tempfile::TempDir,
}

/// What a file system has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Served {
    pub(crate) reads: u64,
    /// Most reads that it had been asked for, and had not answered, at one time.
    pub(crate) in_flight_max: u64,
}

/// Tells a process that it is to serve, how, and in which directory.
const ASKED: &str = "SWATH_SLOW_FS";

/// The lines that a server writes. Test harnesses may have written to the same line before.
const MOUNTED: &str = "slow_fs: mounted";
const REFUSED: &str = "slow_fs: refused: ";
const SERVED: &str = "slow_fs: served ";

impl SlowFs {
    /// Mounts one, or tells why there is none to be had here.
    pub(crate) fn mount(slowness: Slowness) -> Result<SlowFs, String> {
        let folder = tempfile::tempdir().unwrap();
        for name in [FILES, MOUNT] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        let mut server = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "slow_fs::serves_where_it_is_asked_to", "--nocapture"])
            .env(ASKED, slowness.to_line(folder.path()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(server.stdout.take().unwrap());
        let mut mounted = SlowFs { server, output, folder };
        match mounted.line_with(&[MOUNTED, REFUSED]) {
            Some((MOUNTED, _)) => Ok(mounted),
            Some((_, reason)) => Err(reason),
            None => Err("the server ended before it had mounted anything".to_owned()),
        }
    }

    /// Where the files are seen through FUSE.
    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join(MOUNT)
    }

    /// Where the files are. What is written here is seen at once through FUSE.
    pub(crate) fn files(&self) -> PathBuf {
        self.folder.path().join(FILES)
    }

    /// Unmounts, and tells what there was to do.
    pub(crate) fn stop(mut self) -> Served {
        drop(self.server.stdin.take());
        let (_, line) = self.line_with(&[SERVED]).unwrap();
        let mut numbers = line.split_whitespace().map(|number| number.parse().unwrap());
        Served { reads: numbers.next().unwrap(), in_flight_max: numbers.next().unwrap() }
    }

    /// The next line with one of the texts, and what follows it there.
    fn line_with(&mut self, texts: &[&'static str]) -> Option<(&'static str, String)> {
        let mut lines = self.output.by_ref().lines().map_while(Result::ok);
        lines.find_map(|line| {
            let after = |text: &&'static str| Some((*text, line.split_once(*text)?.1.to_owned()));
            texts.iter().find_map(after)
        })
    }
}

impl Drop for SlowFs {
    fn drop(&mut self) {
        drop(self.server.stdin.take());
        let _ = self.server.wait();
        // For a server that was killed; else nothing is mounted here any more.
        server::detach(&self.path());
    }
}

impl Slowness {
    fn to_line(self, folder: &Path) -> String {
        let Slowness { latency, jitter, seed, cache, fail_read, short_per_mille, background_max } = self;
        let is_cached = u64::from(cache == Cache::Pages);
        let (latency, jitter) = (latency.as_micros(), jitter.as_micros());
        let folder = folder.display();
        format!(
            "{latency} {jitter} {seed} {is_cached} {fail_read} {short_per_mille} {background_max} {folder}"
        )
    }

    fn from_line(line: &str) -> (Slowness, PathBuf) {
        let mut words = line.splitn(8, ' ');
        let mut number = || words.next().unwrap().parse::<u64>().unwrap();
        let slowness = Slowness {
            latency: Duration::from_micros(number()),
            jitter: Duration::from_micros(number()),
            seed: number(),
            cache: if number() == 1 { Cache::Pages } else { Cache::None },
            fail_read: number(),
            short_per_mille: number(),
            background_max: u16::try_from(number()).unwrap(),
        };
        (slowness, PathBuf::from(words.next().unwrap()))
    }
}

const FILES: &str = "files";
const MOUNT: &str = "mount";

/// Whether one can be mounted here. Says why not.
pub(crate) fn is_here() -> bool {
    static REFUSED: OnceLock<Option<String>> = OnceLock::new();
    match REFUSED.get_or_init(|| SlowFs::mount(Slowness::default()).err()) {
        Some(reason) => println!("skipped: FUSE cannot be mounted: {reason}"),
        None => return true,
    }
    false
}

/// Serves until standard input ends, where this process was started for that; else returns at once.
pub(crate) fn serve_if_asked() -> bool {
    let Ok(line) = std::env::var(ASKED) else { return false };
    let (slowness, folder) = Slowness::from_line(&line);
    let mount = folder.join(MOUNT);
    match server::Server::mount(slowness, &folder.join(FILES), &mount) {
        Err(error) => println!("{REFUSED}{error}"),
        Ok(server) => {
            println!("{MOUNTED}");
            let _ = std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink());
            let Served { reads, in_flight_max } = server.unmount(&mount);
            println!("{SERVED}{reads} {in_flight_max}");
        }
    }
    true
}

#[test]
fn serves_where_it_is_asked_to() {
    serve_if_asked();
}
