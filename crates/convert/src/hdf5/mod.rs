//! HDF5 and NetCDF-4 files as the Zarr that lies in them: each chunk of a dataset is a range of the file, behind the same filters.
//!
//! The metadata is read by the crate `hdf5-reader`, whose reads go through the engine in aligned blocks; of chunks only those are read
//! that skip filters. What comes out are [`References`](crate::References), in the form that kerchunk gives such files, so that a
//! conversion is a copy of a reference store, and what stays virtual is its document.
//!
//! # What becomes what
//!
//! - Groups are groups, datasets are Zarr v2 arrays, attributes are attributes: lists of one element are that element, as NetCDF has
//!   it. Soft links are what they point to; those to other files are passed over.
//! - Filters: deflate, shuffle, Fletcher-32, LZ4 (32004), blosc (32001), zstd (32015). A dataset with another one is left out.
//!   Chunks that skip the last filters, as they would be longer behind them, are filtered and held in the references.
//! - A contiguous dataset is cut along its first axes into chunks of at most 8 MiB where its shape allows; a compact one, and one of
//!   strings of any length, is held in the references.
//! - Dimensions have the names of their scales (HDF5's Dimension Scales specification; NetCDF-4's conventions over it); those without
//!   one are called `phony_dim_0` and so on, one for each length within a group.
//! - `fill_value` is the attribute `_FillValue`; else the dataset's own fill value where that is not 0; else null, which reads as 0.
//!
//! Source: HDF5 File Format Specification 3.0; NetCDF-4's format description.

mod attributes;
mod blocks;
mod chunks;
mod data_type;
mod dimensions;
mod element;
mod filters;
mod members;
mod naming;
mod skipped;
mod strings;
mod variable;

use crate::{Error, References};
use blocks::Failure;
use dimensions::{Phony, Scales};
use hdf5_reader::group::Group;
use hdf5_reader::{Attribute, Dataset, Hdf5File, OpenOptions, Storage};
use members::Members;
pub use naming::{has_hdf5_signature, hdf5_file_in, is_hdf5_name};
use serde_json::json;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use swath_ioengine::{Engine, ObjectRef};
use variable::Variable;

/// Groups within groups, at most: what links lead round in circles ends there.
const DEPTH_MAX: usize = 64;

/// Groups and datasets of a file, at most: links may lead to one object under many names.
const NODES_MAX: usize = 1 << 20;

/// Bytes of what is known of one group or dataset, at most.
const OBJECT_HEADER_BYTES_MAX: usize = 64 << 20;

/// Bytes of elements that are read for the references themselves, at once and at most.
const READ_BYTES_MAX: usize = 256 << 20;

/// What a blocking call asks now and then; true ends it.
pub type Interrupt = Arc<dyn Fn() -> bool + Send + Sync>;

/// What an HDF5 file holds, as references to its bytes. `interrupt` is asked while storage is waited for.
///
/// # Errors
///
/// `Invalid` for what is no HDF5 file, `Corrupt` for one whose groups cannot be listed, `Cancelled` where the interrupt said so,
/// those of the storage. What of a file cannot be said by references is in [`References::left_out`], with the reason.
pub fn hdf5_references(
    engine: &Engine,
    file: &ObjectRef,
    interrupt: Option<Interrupt>,
) -> Result<References, Error> {
    let (storage, failure) = blocks::storage(engine, file, interrupt)?;
    // Broken bytes are errors of the reader; an index out of its bounds would still be a panic.
    let panicked = || Error::corrupt("an HDF5 file that its reader panics on");
    let result =
        catch_unwind(AssertUnwindSafe(|| walk(storage, &failure))).unwrap_or_else(|_| Err(panicked()));
    // What the storage said is clearer than what the reader made of it.
    match failure.take() {
        Some(error) => Err(error),
        None => result.map_err(|error| error.with_object(&file.key)),
    }
}

fn walk(storage: Arc<dyn Storage>, failure: &Failure) -> Result<References, Error> {
    let options = OpenOptions {
        max_object_header_bytes: OBJECT_HEADER_BYTES_MAX,
        max_read_bytes: READ_BYTES_MAX,
        ..OpenOptions::default()
    };
    let file = Hdf5File::from_storage_with_options(storage, options).map_err(of_reader)?;
    let mut tree = Tree {
        file: &file,
        failure,
        groups: Vec::new(),
        scales: Scales::default(),
        nodes: 0,
        unread: Vec::new(),
    };
    let root = file.root_group().map_err(of_reader)?;
    let members = Members::of(&file, &root, failure)?;
    tree.add(root, members, String::new(), 0)?;
    tree.references()
}

/// What a file holds.
struct Tree<'a> {
    file: &'a Hdf5File,
    failure: &'a Failure,
    groups: Vec<Folder>,
    scales: Scales,
    nodes: usize,
    /// The paths of what cannot be read, and why.
    unread: Vec<(String, String)>,
}

/// A group and its datasets. Paths of groups end with `/`, but for the root's, which is empty.
struct Folder {
    path: String,
    group: Group,
    datasets: Vec<(Dataset, Vec<Attribute>)>,
}

impl Tree<'_> {
    /// Adds a group and all below it.
    fn add(&mut self, group: Group, members: Members, path: String, depth: usize) -> Result<(), Error> {
        let Members { groups: below, datasets, unread } = members;
        self.nodes += 1 + datasets.len() + unread.len();
        if NODES_MAX < self.nodes || DEPTH_MAX < depth {
            let message = format!("more than {NODES_MAX} groups and datasets, or over {DEPTH_MAX} deep");
            return Err(Error::corrupt(message));
        }
        self.unread.extend(unread.into_iter().map(|(name, reason)| (format!("{path}{name}"), reason)));
        let attributed = |dataset: Dataset| {
            let attributes = dataset.attributes();
            (dataset, attributes)
        };
        let datasets: Vec<_> = datasets.into_iter().map(attributed).collect();
        for (dataset, attributes) in &datasets {
            self.scales.add(dataset, attributes);
        }
        let names = below.into_iter().map(|below| (format!("{path}{}", below.name()), below));
        let names: Vec<(String, Group)> = names.collect();
        self.groups.push(Folder { path, group, datasets });
        for (path, below) in names {
            match Members::of(self.file, &below, self.failure) {
                Ok(members) => self.add(below, members, format!("{path}/"), depth + 1)?,
                Err(error) if self.failure.is_there() => return Err(error),
                Err(error) => self.unread.push((path, error.message().to_owned())),
            }
        }
        Ok(())
    }

    fn references(&self) -> Result<References, Error> {
        let mut references = References::default();
        for (path, reason) in &self.unread {
            references.leave_out(path, reason.as_str());
        }
        for Folder { path, group, datasets } in &self.groups {
            references.documents.insert(format!("{path}.zgroup"), json!({"zarr_format": 2}));
            let attributes = group.attributes().unwrap_or_else(|error| {
                references.leave_out(&format!("{}@", path.trim_end_matches('/')), reason(error));
                Vec::new()
            });
            let values = attributes::values(&attributes, path, &mut references);
            references.documents.insert(format!("{path}.zattrs"), values.into());
            let mut phony = Phony::default();
            for (dataset, attributes) in datasets {
                if !dimensions::is_no_variable(attributes) {
                    let path = &format!("{path}{}", dimensions::name(dataset));
                    let variable = Variable { file: self.file, dataset, attributes, path };
                    variable.add(&self.scales, &mut phony, &mut references);
                }
            }
        }
        Ok(references)
    }
}

/// What the crate that reads HDF5 says is wrong.
fn of_reader(error: hdf5_reader::error::Error) -> Error {
    use hdf5_reader::error::Error as Reader;
    match &error {
        Reader::InvalidMagic => {
            Error::new(crate::ErrorKind::Invalid, "wanted an HDF5 file, found other bytes")
        }
        _ => Error::corrupt(error.to_string()),
    }
}

/// Why the crate that reads HDF5 does not read a member of a group.
fn reason(error: hdf5_reader::error::Error) -> String {
    use hdf5_reader::error::Error as Reader;
    let mut inner = &error;
    while let Reader::Context { source, .. } = inner {
        inner = source;
    }
    match inner {
        // Source: HDF5 File Format Specification 3.0, IV.A.2.i, "Data Layout": class 3.
        Reader::UnsupportedLayoutClass(3) => "a virtual dataset: its elements are those of others".to_owned(),
        _ => of_reader(error).message().to_owned(),
    }
}
