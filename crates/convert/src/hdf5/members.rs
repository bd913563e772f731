//! What a group holds, as far as it can be read.

use super::blocks::Failure;
use super::{of_reader, reason};
use crate::Error;
use hdf5_reader::btree_v1::collect_btree_v1_leaves_storage;
use hdf5_reader::btree_v2::{BTreeV2Header, BTreeV2Record, collect_btree_v2_records_storage};
use hdf5_reader::error::Error as ReaderError;
use hdf5_reader::fractal_heap::{FractalHeap, FractalHeapDirectBlockCache};
use hdf5_reader::group::Group;
use hdf5_reader::io::Cursor;
use hdf5_reader::local_heap::LocalHeap;
use hdf5_reader::messages::link_info::LinkInfoMessage;
use hdf5_reader::messages::symbol_table_msg::SymbolTableMessage;
use hdf5_reader::messages::{HdfMessage, link};
use hdf5_reader::symbol_table::SymbolTableNode;
use hdf5_reader::{Dataset, Hdf5File};

/// Links in a group's own header, at most, that are looked up one by one: each is looked for among all of them.
const COMPACT_LINKS_MAX: usize = 1 << 14;

/// What a group holds.
pub(super) struct Members {
    pub(super) groups: Vec<Group>,
    pub(super) datasets: Vec<Dataset>,
    /// The names of what cannot be read, and why.
    pub(super) unread: Vec<(String, String)>,
}

impl Members {
    /// The members of a group. Where one of them cannot be read, each is looked up by its name, so that the others are there.
    ///
    /// # Errors
    ///
    /// Where the links themselves cannot be read, and where the storage has failed.
    pub(super) fn of(file: &Hdf5File, group: &Group, failure: &Failure) -> Result<Members, Error> {
        let error = match group.members() {
            Ok((groups, datasets)) => return Ok(Members { groups, datasets, unread: Vec::new() }),
            Err(error) => error,
        };
        let mut members = Members { groups: Vec::new(), datasets: Vec::new(), unread: Vec::new() };
        if failure.is_there() {
            return Err(of_reader(error));
        }
        for name in names(file, group).map_err(of_reader)? {
            match group.dataset(&name) {
                Ok(dataset) => members.datasets.push(dataset),
                // A group, or nothing that becomes an array: a link that leads nowhere, or a named type.
                Err(ReaderError::DatasetNotFound(_)) => members.groups.extend(group.group(&name).ok()),
                Err(error) => members.unread.push((name, reason(error))),
            }
            if failure.is_there() {
                return Err(of_reader(error));
            }
        }
        Ok(members)
    }
}

/// The names of a group's links, sorted.
fn names(file: &Hdf5File, group: &Group) -> Result<Vec<String>, ReaderError> {
    let header = file.get_or_parse_header(group.address())?;
    let mut names = Vec::new();
    for message in &header.messages {
        if let HdfMessage::SymbolTable(table) = message {
            return names_of_symbols(group, table);
        }
        if let HdfMessage::Link(link) = message {
            names.push(link.name.clone());
        }
    }
    if COMPACT_LINKS_MAX < names.len() {
        let message = format!("{} links in one header, of which one cannot be followed", names.len());
        return Err(ReaderError::ResourceLimit(message));
    }
    for message in &header.messages {
        match message {
            HdfMessage::LinkInfo(info)
                if !Cursor::is_undefined_offset(info.fractal_heap_address, group.offset_size()) =>
            {
                names.extend(names_in_heap(group, info)?);
            }
            _ => {}
        }
    }
    names.sort_unstable();
    names.dedup();
    Ok(names)
}

/// Names in a symbol table, which groups of the oldest format are.
fn names_of_symbols(group: &Group, table: &SymbolTableMessage) -> Result<Vec<String>, ReaderError> {
    let (storage, offset_size, length_size) = (group.storage(), group.offset_size(), group.length_size());
    let heap = LocalHeap::parse_at_storage(storage, table.heap_address, offset_size, length_size)?;
    let len = usize::try_from(heap.data_segment_size).unwrap_or(usize::MAX);
    let segment = storage.read_range(heap.data_segment_address, len)?;
    let heap = LocalHeap { data_segment_address: 0, ..heap };
    let leaves = collect_btree_v1_leaves_storage(
        storage,
        table.btree_address,
        offset_size,
        length_size,
        None,
        &[],
        None,
    )?;
    let mut names = Vec::new();
    for (_, address) in leaves {
        let head = storage.read_range(address, NODE_HEAD_BYTES)?;
        let [.., low, high] = *head.as_ref() else { return Err(ReaderError::OffsetOutOfBounds(address)) };
        let symbols = usize::from(u16::from_le_bytes([low, high]));
        let symbol_bytes = 2 * usize::from(offset_size) + SYMBOL_BYTES;
        let node = storage.read_range(address, NODE_HEAD_BYTES + symbols * symbol_bytes)?;
        let node = SymbolTableNode::parse(&mut Cursor::new(node.as_ref()), offset_size, length_size)?;
        for symbol in &node.entries {
            names.push(heap.get_string(symbol.link_name_offset, segment.as_ref())?);
        }
    }
    Ok(names)
}

/// Bytes of a node of symbols before its first one, the last two of them their number.
const NODE_HEAD_BYTES: usize = 8;

/// Bytes of a symbol beyond its two offsets: its kind, a gap, and what is kept for readers.
const SYMBOL_BYTES: usize = 4 + 4 + 16;

/// Names in a heap, where groups of many links have them.
fn names_in_heap(group: &Group, info: &LinkInfoMessage) -> Result<Vec<String>, ReaderError> {
    let (storage, offset_size, length_size) = (group.storage(), group.offset_size(), group.length_size());
    let heap = FractalHeap::parse_at_storage(storage, info.fractal_heap_address, offset_size, length_size)?;
    let index =
        BTreeV2Header::parse_at_storage(storage, info.btree_name_index_address, offset_size, length_size)?;
    let records =
        collect_btree_v2_records_storage(storage, &index, offset_size, length_size, None, &[], None)?;
    let mut blocks = FractalHeapDirectBlockCache::default();
    let mut names = Vec::with_capacity(records.len());
    for record in &records {
        let BTreeV2Record::LinkNameHash { heap_id, .. } = record else { continue };
        let bytes = heap.get_object_storage_cached_with_registry(
            heap_id,
            storage,
            offset_size,
            length_size,
            &mut blocks,
            None,
        )?;
        let link = link::parse(&mut Cursor::new(&bytes), offset_size, length_size, bytes.len())?;
        names.push(link.name);
    }
    Ok(names)
}
