//! An archive's members, by name and by place.

use super::central::{Fields, RECORD_BYTES, Record, corrupt};
use super::end_record::{EndRecord, TAIL_BYTES_MIN};
use super::local_header::{FIELD_BYTES_MAX, HEADER_BYTES, header_len};
use crate::catalog::fetch::{Fetched, fetch, size_of};
use crate::catalog::listing::{SortedKeys, list, position};
use crate::{Error, ErrorKind};
use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};
use swath_codecs::Scratch;
use swath_ioengine::{ByteRange, Engine, Entry, Identity, ObjectRef, memory_len, storage_len};

/// What is read of an archive's end at first: the end record with any comment, and the whole directory of a small archive.
const TAIL_BYTES: u64 = 128 << 10;

/// Bytes of a central directory at most: some five million members.
const DIRECTORY_BYTES_MAX: u64 = 512 << 20;

/// Bytes that a deflated member takes at most beyond an eighth more than what it holds, be that nothing.
const DEFLATED_MORE_MAX: u64 = 64 << 10;

/// How many times as long a DEFLATE stream can become, and some bytes.
///
/// Source: zlib's "Technical Details", "Maximum Compression Factor": 1032:1.
const INFLATION_MAX: u64 = 1032;

const STORED: u16 = 0;
const DEFLATED: u16 = 8;
/// Flags of members that are encrypted, in the two ways that there are.
const ENCRYPTED: u16 = 1 | 1 << 6 | 1 << 13;

/// The members of one version of an archive. About 80 bytes and its name for each.
pub(crate) struct Directory {
    identity: Option<Identity>,
    /// What stands before every key: empty, or ending in `/`.
    root: String,
    /// Whether it was found, so that keys may begin with it as well.
    is_root_found: bool,
    /// All names, one behind the other, sorted.
    names: String,
    /// Sorted by name.
    members: Vec<Member>,
}

/// A file in the archive.
struct Member {
    name: Range<usize>,
    /// Bytes of the name as the archive has it.
    name_len: u16,
    method: u16,
    flags: u16,
    crc: u32,
    /// Where its local header begins, from the file's start.
    header: u64,
    /// Where whatever follows it begins.
    end: u64,
    stored_len: u64,
    len: u64,
    /// Bytes of its local header, once they are known.
    header_len: AtomicU32,
}

impl Directory {
    /// Reads the directory of an archive. The root is the directory of that name; where none is named, the archive itself,
    /// or the one directory that all members lie in, if it and not the archive holds a node. Keys may name that one too.
    ///
    /// # Errors
    ///
    /// `Corrupt` for what is no zip archive, or a broken one; `Unsupported` for one in several files, or of too many members.
    pub(crate) fn read(engine: &Engine, object: &ObjectRef, root: Option<&str>) -> Result<Directory, Error> {
        let tail = fetch(engine, object, ByteRange::Suffix { len: TAIL_BYTES }, None)?;
        Directory::parse(&tail, root, |range| fetch(engine, object, range, tail.identity.as_ref()))
            .map_err(|error| error.with_object(&object.key))
    }

    fn parse(
        tail: &Fetched,
        root: Option<&str>,
        more: impl FnOnce(ByteRange) -> Result<Fetched, Error>,
    ) -> Result<Directory, Error> {
        const { assert!(TAIL_BYTES_MIN < TAIL_BYTES, "the end record is within the tail") };
        let end = EndRecord::find(&tail.bytes)?;
        if DIRECTORY_BYTES_MAX < end.bytes {
            let message = format!("a zip archive whose directory has {} bytes", end.bytes);
            return Err(Error::unsupported(message));
        }
        let len = end.from_end.saturating_add(end.bytes);
        let fetched = match len <= storage_len(tail.bytes.len()) {
            true => tail.clone(),
            false => more(ByteRange::Suffix { len })?,
        };
        let central = central_of(&fetched.bytes, &end)?;
        // What stands before the archive moves it.
        let start = match size_of(tail, TAIL_BYTES) {
            Some(size) => size.checked_sub(len),
            None => Some(end.offset),
        };
        let start = start.and_then(|start| Some((start, start.checked_sub(end.offset)?)));
        let (start, shift) =
            start.ok_or_else(|| corrupt("the zip archive's directory is said to lie behind where it is"))?;
        let mut directory = Directory {
            identity: tail.identity.clone(),
            root: String::new(),
            is_root_found: root.is_none(),
            names: String::new(),
            members: Vec::new(),
        };
        directory.take_members(central, &end, shift)?;
        directory.find_ends(start)?;
        directory.root = match root {
            Some("") => String::new(),
            Some(root) => format!("{root}/"),
            None => directory.only_folder().unwrap_or_default(),
        };
        Ok(directory)
    }

    fn take_members(&mut self, central: &[u8], end: &EndRecord, shift: u64) -> Result<(), Error> {
        let mut fields = Fields::new(central);
        let mut named: Vec<(String, Member)> = Vec::new();
        let mut count = 0u64;
        while !fields.is_empty() {
            let record = Record::take(&mut fields)?;
            count += 1;
            let name = String::from_utf8_lossy(record.name);
            let name = name.strip_prefix("./").unwrap_or(&name).trim_start_matches('/');
            if name.ends_with('/') || name.is_empty() {
                continue;
            }
            named.push((name.to_owned(), Member::new(&record, shift)?));
        }
        let is_counted = if end.is_64 { count == end.count } else { count & 0xffff == end.count };
        if !is_counted {
            let message =
                format!("the zip archive is said to have {} members, its directory {count}", end.count);
            return Err(corrupt(message));
        }
        // Stable: of those of one name the last one counts, which was written last.
        named.sort_by(|a, b| a.0.cmp(&b.0));
        for (name, member) in named {
            let start = self.names.len();
            if let Some(last) = self.members.last_mut()
                && self.names.get(last.name.clone()) == Some(name.as_str())
            {
                *last = Member { name: last.name.clone(), ..member };
                continue;
            }
            self.names.push_str(&name);
            self.members.push(Member { name: start..self.names.len(), ..member });
        }
        Ok(())
    }

    /// Works out where each member ends: no later than the next one begins, and the directory itself at `start`.
    fn find_ends(&mut self, start: u64) -> Result<(), Error> {
        let mut order: Vec<usize> = (0..self.members.len()).collect();
        order.sort_by_key(|number| self.members[*number].header);
        let mut end = start;
        for number in order.into_iter().rev() {
            let member = &mut self.members[number];
            let len = HEADER_BYTES + u64::from(member.name_len);
            let least = member.header.checked_add(len).and_then(|bytes| bytes.checked_add(member.stored_len));
            if least.is_none_or(|least| end < least) {
                let name = self.names.get(member.name.clone()).unwrap_or_default();
                let message = format!("the zip archive's member {name:?} reaches into what follows it");
                return Err(corrupt(message));
            }
            member.end = end;
            end = member.header;
        }
        Ok(())
    }

    /// The one folder that all members lie in, where it holds a node and the archive's own root does not.
    fn only_folder(&self) -> Option<String> {
        let is_node = |folder: &str| {
            let documents = ["zarr.json", ".zarray", ".zgroup", ".zmetadata"];
            documents.iter().any(|name| position(self, &format!("{folder}{name}")).is_some())
        };
        let (folder, _) = self.name_of(self.members.first()?).split_once('/')?;
        let folder = format!("{folder}/");
        let is_only = self.members.iter().all(|member| self.name_of(member).starts_with(&folder));
        (is_only && !is_node("") && is_node(&folder)).then_some(folder)
    }

    fn name_of(&self, member: &Member) -> &str {
        self.names.get(member.name.clone()).unwrap_or_default()
    }

    fn member(&self, number: u32) -> Option<&Member> {
        self.members.get(usize::try_from(number).ok()?)
    }

    /// The version of the archive that this is the directory of, where its medium knows it.
    pub(crate) fn identity(&self) -> Option<&Identity> {
        self.identity.as_ref()
    }

    /// The member of a key.
    pub(crate) fn find(&self, key: &str) -> Option<u32> {
        let found = match self.root.as_str() {
            "" => position(self, key),
            root => position(self, &format!("{root}{key}")),
        };
        let found = found.or_else(|| position(self, self.name_in_archive(key)?));
        found.and_then(|number| u32::try_from(number).ok())
    }

    /// The name that a key has which begins with the root that was found.
    fn name_in_archive<'k>(&self, key: &'k str) -> Option<&'k str> {
        (self.is_root_found && !self.root.is_empty() && key.starts_with(&self.root)).then_some(key)
    }

    /// Where in the archive a member's bytes are, as far as that is known, where they are stored as they are.
    pub(crate) fn extent(&self, number: u32) -> Option<(u64, u64)> {
        let member = self.member(number)?;
        let header_len = u64::from(member.header_len.load(Ordering::Relaxed));
        (header_len != 0 && member.check().is_ok() && member.method == STORED)
            .then_some((member.header + header_len, member.stored_len))
    }

    /// Whether a member is stored as it is, so that it can be read in part.
    ///
    /// # Errors
    ///
    /// `Unsupported` where it cannot be read at all.
    pub(crate) fn is_plain(&self, number: u32) -> Result<bool, Error> {
        let member = self.member(number).ok_or_else(no_member)?;
        member.check().map(|()| member.method == STORED)
    }

    /// Bytes of a member, once they are inflated.
    pub(crate) fn len(&self, number: u32) -> u64 {
        self.member(number).map_or(0, |member| member.len)
    }

    /// Where in the archive a member's local header begins.
    pub(crate) fn header_offset(&self, number: u32) -> u64 {
        self.member(number).map_or(0, |member| member.header)
    }

    /// Where a member's local header is, without name and extra fields.
    pub(crate) fn header(&self, number: u32) -> ByteRange {
        ByteRange::Bounded { offset: self.header_offset(number), len: HEADER_BYTES }
    }

    /// What to read for the whole of a member: from its local header on, and no further than the next one.
    ///
    /// # Errors
    ///
    /// `Unsupported` for members that are encrypted, or compressed in another way than by DEFLATE.
    pub(crate) fn span(&self, number: u32) -> Result<ByteRange, Error> {
        let member = self.member(number).ok_or_else(no_member)?;
        member.check()?;
        let most =
            member.stored_len.saturating_add(HEADER_BYTES + u64::from(member.name_len) + FIELD_BYTES_MAX);
        Ok(ByteRange::Bounded { offset: member.header, len: most.min(member.end - member.header) })
    }

    /// Takes a member's local header, so that its [extent](Self::extent) is known.
    ///
    /// # Errors
    ///
    /// `Corrupt` for anything else.
    pub(crate) fn take_header(&self, number: u32, stored: &[u8]) -> Result<u64, Error> {
        let member = self.member(number).ok_or_else(no_member)?;
        let found = header_len(stored, u64::from(member.name_len))?;
        // Both are below the archive's length: see `find_ends`.
        if member.end - member.header < member.stored_len.saturating_add(u64::from(found)) {
            return Err(corrupt("a member of the zip archive reaches into what follows it"));
        }
        member.header_len.store(found, Ordering::Relaxed);
        Ok(u64::from(found))
    }

    /// A member's bytes, from its [span](Self::span). `memory` is where they are put if they were compressed.
    ///
    /// # Errors
    ///
    /// `Corrupt` where they are not what the directory says.
    pub(crate) fn unpack<'a>(
        &self,
        number: u32,
        span: &'a [u8],
        scratch: &mut Scratch,
        memory: &'a mut Vec<u8>,
    ) -> Result<&'a [u8], Error> {
        let member = self.member(number).ok_or_else(no_member)?;
        let start = memory_len(self.take_header(number, span)?)?;
        let end = start.saturating_add(memory_len(member.stored_len)?);
        let stored =
            span.get(start..end).ok_or_else(|| corrupt("a member of the zip archive was cut short"))?;
        let bytes = if member.method == STORED {
            stored
        } else {
            let len = memory_len(member.len)?;
            if memory.len() < len {
                memory.resize(len, 0);
            }
            let target = &mut memory[..len];
            swath_codecs::inflate(stored, target, scratch)?;
            target
        };
        match swath_codecs::crc32(bytes) == member.crc {
            true => Ok(bytes),
            false => Err(corrupt("a member of the zip archive has another checksum than its directory says")),
        }
    }

    /// What lies directly below a key that ends in `/`, or is empty; sorted by name.
    pub(crate) fn list(&self, prefix: &str) -> Vec<Entry> {
        let below_root = list(self, &format!("{}{prefix}", self.root));
        match self.name_in_archive(prefix) {
            Some(name) if below_root.is_empty() => list(self, name),
            _ => below_root,
        }
    }
}

impl SortedKeys for Directory {
    fn count(&self) -> usize {
        self.members.len()
    }

    fn name(&self, number: usize) -> &str {
        self.members.get(number).map_or("", |member| self.name_of(member))
    }

    fn size(&self, number: usize) -> u64 {
        self.members.get(number).map_or(0, |member| member.stored_len)
    }
}

impl Member {
    fn new(record: &Record<'_>, shift: u64) -> Result<Member, Error> {
        let name = || String::from_utf8_lossy(record.name);
        let inflated_max = record.stored_len.saturating_mul(INFLATION_MAX).saturating_add(INFLATION_MAX);
        // What does not compress is stored in blocks, with five bytes for each: there are no longer ones of good reason.
        let deflated_max = record.len.saturating_add(record.len / 8).saturating_add(DEFLATED_MORE_MAX);
        let is_sound = match record.method {
            STORED => record.flags & ENCRYPTED != 0 || record.len == record.stored_len,
            DEFLATED => record.len <= inflated_max && record.stored_len <= deflated_max,
            _ => true,
        };
        let header = record.header.checked_add(shift).filter(|_| is_sound).ok_or_else(|| {
            let (stored, len) = (record.stored_len, record.len);
            corrupt(format!(
                "the zip archive's member {:?} of {stored} bytes is said to be {len} bytes",
                name()
            ))
        })?;
        Ok(Member {
            name: 0..0,
            // Names have 16 bits of length.
            name_len: u16::try_from(record.name.len()).unwrap_or(u16::MAX),
            method: record.method,
            flags: record.flags,
            crc: record.crc,
            header,
            end: 0,
            stored_len: record.stored_len,
            len: record.len,
            header_len: AtomicU32::new(0),
        })
    }

    /// Whether the member can be read.
    fn check(&self) -> Result<(), Error> {
        if self.flags & ENCRYPTED != 0 {
            return Err(Error::unsupported("an encrypted member of a zip archive"));
        }
        match self.method {
            STORED | DEFLATED => Ok(()),
            method => {
                let name = METHODS.iter().find(|(number, _)| *number == method).map(|(_, name)| *name);
                let name = name.map_or_else(|| format!("method {method}"), str::to_owned);
                Err(Error::unsupported(format!("a member of a zip archive compressed by {name}")))
            }
        }
    }
}

/// Ways of compression by their numbers.
const METHODS: [(u16, &str); 9] = [
    (1, "shrink"),
    (6, "implode"),
    (9, "deflate64"),
    (12, "bzip2"),
    (14, "lzma"),
    (20, "zstd (an older number)"),
    (93, "zstd"),
    (95, "xz"),
    (98, "ppmd"),
];

/// The central directory, in the bytes from it, or from before it, to the file's end.
fn central_of<'a>(bytes: &'a [u8], end: &EndRecord) -> Result<&'a [u8], Error> {
    let broken = || corrupt("the zip archive is shorter than its directory");
    let behind = memory_len(end.from_end)?;
    let before = bytes.len().checked_sub(behind).ok_or_else(broken)?;
    let start = before.checked_sub(memory_len(end.bytes)?).ok_or_else(broken)?;
    if end.bytes / RECORD_BYTES < end.count && end.is_64 {
        return Err(corrupt(format!(
            "a zip directory of {} bytes cannot hold {} members",
            end.bytes, end.count
        )));
    }
    Ok(&bytes[start..before])
}

fn no_member() -> Error {
    Error::new(ErrorKind::Internal, "a member that the zip archive does not have")
}

impl fmt::Debug for Directory {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Directory({} members)", self.members.len())
    }
}
