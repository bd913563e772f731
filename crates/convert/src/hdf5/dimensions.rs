//! Names of dimensions, by the scales that datasets are attached to.

use super::attributes::{bytes, text};
use hdf5_reader::reference::read_object_references;
use hdf5_reader::{Attribute, Dataset, Hdf5File};
use std::collections::{BTreeMap, HashMap};

/// What NetCDF-4 puts before the name of a variable that is called as a dimension but is not its coordinate.
const NO_COORDINATE: &str = "_nc4_non_coord_";

/// What NetCDF-4 calls a scale that is no variable, at the beginning.
const NO_VARIABLE: &str = "This is a netCDF dimension but not a netCDF variable";

/// The dimension scales of a file.
#[derive(Default)]
pub(super) struct Scales {
    by_address: HashMap<u64, String>,
    /// By the number that NetCDF-4 gives dimensions.
    by_number: HashMap<i32, String>,
}

impl Scales {
    /// Adds a dataset, if it is a scale.
    pub(super) fn add(&mut self, dataset: &Dataset, attributes: &[Attribute]) {
        if !is_scale(attributes) {
            return;
        }
        let name = name(dataset).to_owned();
        if let Some(number) = integers(attributes, "_Netcdf4Dimid").first() {
            self.by_number.insert(*number, name.clone());
        }
        self.by_address.insert(dataset.address(), name);
    }

    /// The names of a dataset's dimensions.
    pub(super) fn names(
        &self,
        file: &Hdf5File,
        dataset: &Dataset,
        attributes: &[Attribute],
        phony: &mut Phony,
    ) -> Vec<String> {
        let rank = dataset.shape().len();
        let numbers = integers(attributes, "_Netcdf4Coordinates");
        if numbers.len() == rank {
            let names: Vec<String> =
                numbers.iter().filter_map(|number| self.by_number.get(number).cloned()).collect();
            if names.len() == rank {
                return names;
            }
        }
        if is_scale(attributes) && rank == 1 {
            return vec![name(dataset).to_owned()];
        }
        let attached = attached(file, dataset, attributes);
        let mut names: Vec<String> = Vec::with_capacity(rank);
        for (axis, length) in dataset.shape().iter().enumerate() {
            let known = attached.get(axis).copied().flatten();
            let known = known.and_then(|address| self.by_address.get(&address).cloned());
            let next = known.unwrap_or_else(|| phony.name(*length, &names));
            names.push(next);
        }
        names
    }
}

/// Names of dimensions that have none: one for each length, and another one where an array has a length twice.
#[derive(Default)]
pub(super) struct Phony {
    by_length: BTreeMap<u64, Vec<usize>>,
    count: usize,
}

impl Phony {
    fn name(&mut self, length: u64, taken: &[String]) -> String {
        let called = |number: usize| format!("phony_dim_{number}");
        let numbers = self.by_length.entry(length).or_default();
        if let Some(free) = numbers.iter().map(|number| called(*number)).find(|name| !taken.contains(name)) {
            return free;
        }
        numbers.push(self.count);
        self.count += 1;
        called(self.count - 1)
    }
}

/// The name of a variable.
pub(super) fn name(dataset: &Dataset) -> &str {
    dataset.name().strip_prefix(NO_COORDINATE).unwrap_or(dataset.name())
}

/// Whether a dataset is only there to be a dimension.
pub(super) fn is_no_variable(attributes: &[Attribute]) -> bool {
    is_scale(attributes) && text(attributes, "NAME").is_some_and(|name| name.starts_with(NO_VARIABLE))
}

fn is_scale(attributes: &[Attribute]) -> bool {
    text(attributes, "CLASS").is_some_and(|class| class == "DIMENSION_SCALE")
}

/// The address of the first scale of each axis.
fn attached(file: &Hdf5File, dataset: &Dataset, attributes: &[Attribute]) -> Vec<Option<u64>> {
    let offset_size = file.superblock().offset_size;
    let list = attributes.iter().find(|attribute| attribute.name == "DIMENSION_LIST");
    let lists = list.map(|list| list.raw_data.chunks_exact(dataset.vlen_reference_size()));
    let first = |list: &[u8]| {
        let found = dataset.resolve_vlen_reference_bytes(list, offset_size.into()).ok()?;
        read_object_references(&found, offset_size).ok()?.first().copied()
    };
    lists.into_iter().flatten().map(first).collect()
}

/// An attribute of 32-bit integers.
fn integers(attributes: &[Attribute], name: &str) -> Vec<i32> {
    let found = attributes.iter().find(|attribute| attribute.name == name);
    // One alone is read as any other attribute is.
    if bytes(attributes, name).is_none_or(|first| first.len() != 4) {
        return Vec::new();
    }
    found.and_then(|attribute| attribute.read_1d::<i32>().ok()).unwrap_or_default()
}
