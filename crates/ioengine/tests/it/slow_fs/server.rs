//! The file system itself: passes through what a directory holds, read-only.
//!
//! Answers wait in one queue until they are due, and not each in a thread, so that any number of reads can be in
//! flight without the server being what limits them.

use super::{Cache, Served, Slowness};
use fuser::{
    BackgroundSession, Config, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation,
    INodeNo, KernelConfig, LockOwner, MountOption, OpenFlags, ReplyAttr, ReplyData, ReplyDirectory,
    ReplyEntry, ReplyOpen, Request,
};
use std::collections::{BinaryHeap, HashMap};
use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant, UNIX_EPOCH};

pub(super) struct Server {
    session: BackgroundSession,
    line: Arc<DelayLine>,
}

impl Server {
    pub(super) fn mount(slowness: Slowness, files: &Path, mount: &Path) -> io::Result<Server> {
        let line = Arc::new(DelayLine::default());
        let answering = Arc::clone(&line);
        std::thread::spawn(move || answering.run());
        let root = Node { path: files.to_owned(), file: Arc::new(File::open(files)?), lookups: 1 };
        let files = Files {
            slowness,
            nodes: Mutex::new(HashMap::from([(INodeNo::ROOT, root)])),
            line: Arc::clone(&line),
        };
        let mut config = Config::default();
        config.mount_options = vec![MountOption::RO, MountOption::FSName("swath-slow-fs".to_owned())];
        config.n_threads = Some(2);
        Ok(Server { session: fuser::spawn_mount(files, mount, &config)?, line })
    }

    pub(super) fn unmount(self, mount: &Path) -> Served {
        detach(mount);
        drop(self.session);
        Served {
            reads: self.line.reads.load(Ordering::SeqCst),
            in_flight_max: self.line.in_flight_max.load(Ordering::SeqCst),
        }
    }
}

/// Takes the mount away at once, also while files on it are open.
pub(super) fn detach(mount: &Path) {
    let _ = rustix::mount::unmount(mount, rustix::mount::UnmountFlags::DETACH);
}

struct Files {
    slowness: Slowness,
    nodes: Mutex<HashMap<INodeNo, Node>>,
    line: Arc<DelayLine>,
}

/// What the kernel knows of. It stays open for as long, so that it is still there when its name leads elsewhere.
struct Node {
    path: PathBuf,
    file: Arc<File>,
    lookups: u64,
}

/// Nothing is remembered without asking again, as with a network file system that is strict.
const REMEMBERED: Duration = Duration::ZERO;

impl Files {
    fn file(&self, inode: INodeNo) -> io::Result<Arc<File>> {
        let nodes = self.nodes.lock().unwrap();
        nodes.get(&inode).map(|node| Arc::clone(&node.file)).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn look_up(&self, parent: INodeNo, name: &OsStr) -> io::Result<FileAttr> {
        let mut nodes = self.nodes.lock().unwrap();
        let path = nodes.get(&parent).ok_or(io::ErrorKind::NotFound)?.path.join(name);
        let file = File::open(&path)?;
        let attributes = attributes(&file.metadata()?);
        let new = || Node { path, file: Arc::new(file), lookups: 0 };
        nodes.entry(attributes.ino).or_insert_with(new).lookups += 1;
        Ok(attributes)
    }

    fn names(&self, inode: INodeNo) -> io::Result<Vec<(INodeNo, FileType, std::ffi::OsString)>> {
        let path = self.nodes.lock().unwrap().get(&inode).ok_or(io::ErrorKind::NotFound)?.path.clone();
        let mut names = Vec::new();
        for entry in path.read_dir()? {
            let entry = entry?;
            let kind = if entry.file_type()?.is_dir() { FileType::Directory } else { FileType::RegularFile };
            names.push((INodeNo(entry.metadata()?.ino()), kind, entry.file_name()));
        }
        names.sort_by_key(|(inode, ..)| *inode);
        Ok(names)
    }

    fn bytes(&self, inode: INodeNo, offset: u64, len: u32, read: u64) -> Result<Vec<u8>, Errno> {
        if read == self.slowness.fail_read {
            return Err(Errno::EIO);
        }
        let is_short = 1 < len && random(self.slowness.seed ^ 1, read) % 1000 < self.slowness.short_per_mille;
        let len = if is_short { len / 2 } else { len };
        let file = self.file(inode)?;
        let mut bytes = vec![0; usize::try_from(len).unwrap()];
        let mut filled = 0;
        while filled < bytes.len() {
            match file.read_at(&mut bytes[filled..], offset + filled as u64)? {
                0 => break,
                read => filled += read,
            }
        }
        bytes.truncate(filled);
        Ok(bytes)
    }
}

impl Filesystem for Files {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> io::Result<()> {
        let max = self.slowness.background_max;
        config.set_max_background(max).map_err(|least| io::Error::other(format!("at least {least}")))?;
        Ok(())
    }

    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        match self.look_up(parent, name) {
            Ok(attributes) => reply.entry(&REMEMBERED, &attributes, Generation(0)),
            Err(error) => reply.error(error.into()),
        }
    }

    fn forget(&self, _: &Request, inode: INodeNo, lookups: u64) {
        let mut nodes = self.nodes.lock().unwrap();
        if let Some(node) = nodes.get_mut(&inode).filter(|_| inode != INodeNo::ROOT) {
            node.lookups = node.lookups.saturating_sub(lookups);
            if node.lookups == 0 {
                nodes.remove(&inode);
            }
        }
    }

    fn getattr(&self, _: &Request, inode: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        match self.file(inode).and_then(|file| file.metadata()) {
            Ok(metadata) => reply.attr(&REMEMBERED, &FileAttr { ino: inode, ..attributes(&metadata) }),
            Err(error) => reply.error(error.into()),
        }
    }

    fn open(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        let flags = match self.slowness.cache {
            Cache::Pages => FopenFlags::empty(),
            Cache::None => FopenFlags::FOPEN_DIRECT_IO,
        };
        reply.opened(FileHandle(0), flags);
    }

    fn read(
        &self,
        _: &Request,
        inode: INodeNo,
        _: FileHandle,
        offset: u64,
        len: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let read = self.line.begin();
        let jitter_us = u64::try_from(self.slowness.jitter.as_micros()).unwrap();
        let jitter = Duration::from_micros(random(self.slowness.seed, read) % (jitter_us + 1));
        let due = Instant::now() + self.slowness.latency + jitter;
        self.line.answer(Answer { due, read, bytes: self.bytes(inode, offset, len, read), reply });
    }

    fn readdir(&self, _: &Request, inode: INodeNo, _: FileHandle, offset: u64, mut reply: ReplyDirectory) {
        let names = match self.names(inode) {
            Ok(names) => names,
            Err(error) => return reply.error(error.into()),
        };
        for (next, (inode, kind, name)) in (1..).zip(names).skip(usize::try_from(offset).unwrap()) {
            if reply.add(inode, next, kind, name) {
                break;
            }
        }
        reply.ok();
    }
}

fn attributes(metadata: &Metadata) -> FileAttr {
    let is_folder = metadata.is_dir();
    let time = |seconds: i64, nanoseconds: i64| {
        let nanoseconds = u32::try_from(nanoseconds).unwrap();
        UNIX_EPOCH + Duration::new(u64::try_from(seconds).unwrap_or(0), nanoseconds)
    };
    // Not the time of the last change of anything, which nobody can set: tests make files look old.
    let changed = time(metadata.mtime(), metadata.mtime_nsec());
    FileAttr {
        ino: INodeNo(metadata.ino()),
        size: metadata.size(),
        blocks: metadata.blocks(),
        atime: changed,
        mtime: changed,
        ctime: changed,
        crtime: changed,
        kind: if is_folder { FileType::Directory } else { FileType::RegularFile },
        perm: if is_folder { 0o755 } else { 0o644 },
        nlink: 1,
        uid: metadata.uid(),
        gid: metadata.gid(),
        rdev: 0,
        blksize: 4096,
        flags: 0,
    }
}

/// A number for each seed and index.
fn random(seed: u64, index: u64) -> u64 {
    let mut state = seed.wrapping_add(index.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    state = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    state = (state ^ (state >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    state ^ (state >> 31)
}

/// Answers that are not due yet.
#[derive(Default)]
struct DelayLine {
    waiting: Mutex<BinaryHeap<Answer>>,
    added: Condvar,
    reads: AtomicU64,
    in_flight: AtomicU64,
    in_flight_max: AtomicU64,
}

struct Answer {
    due: Instant,
    read: u64,
    bytes: Result<Vec<u8>, Errno>,
    reply: ReplyData,
}

impl DelayLine {
    /// The number of the read that begins, from one.
    fn begin(&self) -> u64 {
        let in_flight = self.in_flight.fetch_add(1, Ordering::SeqCst) + 1;
        self.in_flight_max.fetch_max(in_flight, Ordering::SeqCst);
        self.reads.fetch_add(1, Ordering::SeqCst) + 1
    }

    fn answer(&self, answer: Answer) {
        if answer.due <= Instant::now() {
            return self.send(answer);
        }
        self.waiting.lock().unwrap().push(answer);
        self.added.notify_one();
    }

    fn send(&self, answer: Answer) {
        // Before the answer, which lets the reader begin another.
        self.in_flight.fetch_sub(1, Ordering::SeqCst);
        match answer.bytes {
            Ok(bytes) => answer.reply.data(&bytes),
            Err(error) => answer.reply.error(error),
        }
    }

    fn run(&self) {
        let mut waiting = self.waiting.lock().unwrap();
        loop {
            let now = Instant::now();
            waiting = match waiting.peek().map(|next| next.due) {
                Some(due) if due <= now => {
                    let answer = waiting.pop();
                    drop(waiting);
                    answer.into_iter().for_each(|answer| self.send(answer));
                    self.waiting.lock().unwrap()
                }
                Some(due) => self.added.wait_timeout(waiting, due - now).unwrap().0,
                None => self.added.wait(waiting).unwrap(),
            };
        }
    }
}

/// The one due first is the greatest.
impl Ord for Answer {
    fn cmp(&self, other: &Answer) -> std::cmp::Ordering {
        (other.due, other.read).cmp(&(self.due, self.read))
    }
}

impl PartialOrd for Answer {
    fn partial_cmp(&self, other: &Answer) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Answer {
    fn eq(&self, other: &Answer) -> bool {
        self.read == other.read
    }
}

impl Eq for Answer {}
