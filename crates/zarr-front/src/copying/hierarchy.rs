//! Copying a group, and all that is below it.

use super::options::{CopyExisting, CopyOptions};
use super::overlap::refuse_overlap;
use crate::metadata::ZarrFormat;
use crate::store::{Store, join};
use crate::{Array, Error, Existing, Group, Node};

/// What became of the copy of a group.
#[derive(Clone, Debug, Default)]
pub struct CopyReport {
    /// Groups that are there now.
    pub groups: u64,
    /// Arrays that are complete now.
    pub arrays: u64,
    /// Bytes of elements of those arrays.
    pub bytes: u64,
    /// Nodes that could not be copied, by path, and why. All others were.
    pub failed: Vec<(String, Error)>,
}

impl Group {
    /// Copies the group to a path of a store, with all groups and arrays below it, each array as [`Array::copy_to`] does, one
    /// after the other. Where the source has consolidated metadata the copy gets it once all is copied.
    ///
    /// # Errors
    ///
    /// `Invalid` for a copy onto itself, into itself or over what holds it; those of listing the source and of making groups; `Cancelled`; `Unsupported` for a region. What is wrong with a single
    /// node is in the report.
    pub fn copy_to(&self, store: &Store, path: &str, options: &CopyOptions<'_>) -> Result<CopyReport, Error> {
        if options.region.is_some() {
            return Err(Error::unsupported("a region of a group: copy its arrays one by one")
                .with_object(&self.name()));
        }
        let path = crate::node::node_path(path)?;
        refuse_overlap((self.store(), self.path()), (store, &path))?;
        let zarr_format = options.zarr_format.unwrap_or(self.zarr_format());
        let mut report = CopyReport::default();
        let below = self.walk()?;
        make_group(self, store, &path, zarr_format, options.existing)?;
        report.groups += 1;
        // What is below was removed with the group, where it was to be replaced.
        let existing = match options.existing {
            CopyExisting::Replace => CopyExisting::Refuse,
            other => other,
        };
        let options = CopyOptions { existing, ..options.clone() };
        for (name, node) in below {
            let place = join(&path, &name);
            let copied = match node {
                Err(error) => Err(error),
                Ok(Node::Group(group)) => {
                    make_group(&group, store, &place, zarr_format, existing).map(|()| report.groups += 1)
                }
                Ok(Node::Array(array)) => copy_array(&array, store, &place, &options, &mut report),
            };
            match copied {
                Err(error) if ends_all(&error) => return Err(error),
                Err(error) => report.failed.push((name, error)),
                Ok(()) => {}
            }
        }
        if self.metadata().consolidated().is_some() && report.failed.is_empty() {
            Group::open_in(store, &path)?.consolidate()?;
        }
        Ok(report)
    }
}

fn ends_all(error: &Error) -> bool {
    matches!(error.kind(), crate::ErrorKind::Cancelled | crate::ErrorKind::DeadlineExceeded)
}

fn copy_array(
    array: &Array,
    store: &Store,
    path: &str,
    options: &CopyOptions<'_>,
    report: &mut CopyReport,
) -> Result<(), Error> {
    let copy = array.copy_to(store, path, options)?;
    report.arrays += 1;
    report.bytes = report.bytes.saturating_add(copy.nbytes().unwrap_or(u64::MAX));
    Ok(())
}

fn make_group(
    source: &Group,
    store: &Store,
    path: &str,
    zarr_format: ZarrFormat,
    existing: CopyExisting,
) -> Result<(), Error> {
    let is_resumed = existing == CopyExisting::Resume && store.contains_node(path)?;
    if is_resumed {
        let found = Group::open_in(store, path)?;
        if found.attributes() == source.attributes() && found.zarr_format() == zarr_format {
            return Ok(());
        }
        let error = Error::invalid("wanted the group that this copy made, found one with other metadata");
        return Err(error.with_object(&found.name()));
    }
    let existing = match existing {
        CopyExisting::Replace => Existing::Replace,
        CopyExisting::Refuse | CopyExisting::Resume => Existing::Refuse,
    };
    Group::create(store, path, zarr_format, source.attributes(), existing).map(|_| ())
}
