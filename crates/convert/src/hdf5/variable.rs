//! A dataset as an array.

use super::chunks::{Chunks, StoredChunks, chunks, key};
use super::data_type::{Stored, stored};
use super::dimensions::{Phony, Scales};
use super::{attributes, element, filters, of_reader, strings};
use crate::References;
use hdf5_reader::messages::HdfMessage;
use hdf5_reader::object_header::ObjectHeader;
use hdf5_reader::{Attribute, Dataset, Hdf5File};
use serde_json::{Value, json};

/// A dataset, and where it is to be.
pub(super) struct Variable<'a> {
    pub(super) file: &'a Hdf5File,
    pub(super) dataset: &'a Dataset,
    pub(super) attributes: &'a [Attribute],
    pub(super) path: &'a str,
}

/// What an array is made of.
struct Parts {
    stored: Stored,
    codecs: Vec<Value>,
    chunks: Chunks,
}

impl Variable<'_> {
    /// Adds the dataset, or why it is left out.
    pub(super) fn add(&self, scales: &Scales, phony: &mut Phony, references: &mut References) {
        let Parts { stored, codecs, chunks } = match self.parts() {
            Ok(parts) => parts,
            Err(reason) => return references.leave_out(self.path, reason),
        };
        let shape = self.dataset.shape();
        let document = json!({
            "zarr_format": 2,
            "shape": shape,
            "chunks": chunks.shape,
            "dtype": match &stored { Stored::Fixed { name, .. } => name.clone(), Stored::Strings => json!("|O") },
            "compressor": null,
            "filters": if codecs.is_empty() { Value::Null } else { codecs.into() },
            "fill_value": self.fill_value(&stored),
            "order": "C",
            "dimension_separator": ".",
        });
        let path = self.path;
        references.documents.insert(format!("{path}/.zarray"), document);
        let mut values = attributes::values(self.attributes, path, references);
        let names = scales.names(self.file, self.dataset, self.attributes, phony);
        values.insert("_ARRAY_DIMENSIONS".to_owned(), json!(names));
        references.documents.insert(format!("{path}/.zattrs"), values.into());
        match chunks.stored {
            StoredChunks::Parts(parts, inline) => {
                references.parts.extend(parts);
                references.inline.extend(inline);
            }
            StoredChunks::Inline(bytes) => {
                references.inline.insert(format!("{path}/{}", key(&vec![0; shape.len()])), bytes);
            }
        }
    }

    fn parts(&self) -> Result<Parts, String> {
        let Self { file, dataset, path, .. } = *self;
        let said = |error| of_reader(error).message().to_owned();
        let header = file.get_or_parse_header(dataset.address()).map_err(said)?;
        let elements = dataset.num_elements().map_err(said)?;
        if elements == 0 && !dataset.shape().contains(&0) {
            return Err("no elements and no shape".to_owned());
        }
        if header.messages.iter().any(|message| matches!(message, HdfMessage::ExternalFiles(_))) {
            return Err("elements in another file".to_owned());
        }
        let stored = stored(dataset.dtype())?;
        let Stored::Fixed { bytes, .. } = stored else {
            let shape = dataset.shape().iter().map(|length| (*length).max(1)).collect();
            let chunks = Chunks { shape, stored: StoredChunks::Inline(strings::chunk(dataset)?) };
            return Ok(Parts { stored, codecs: strings::codecs(), chunks });
        };
        let layout = header.messages.iter().find_map(|message| match message {
            HdfMessage::DataLayout(found) => Some(&found.layout),
            _ => None,
        });
        let layout = layout.ok_or("no layout")?;
        let codecs = codecs(&header, bytes)?;
        let chunks = chunks(file, dataset, layout, (bytes, &codecs), path)?;
        let codecs = codecs.into_iter().flatten().collect();
        Ok(Parts { stored, codecs, chunks })
    }

    /// What the attribute `_FillValue` holds, else the dataset's own fill value where that is not all zeros, else null.
    fn fill_value(&self, stored: &Stored) -> Value {
        let Stored::Fixed { name, bytes } = stored else { return Value::Null };
        let is_element = |found: &&[u8]| swath_ioengine::storage_len(found.len()) == *bytes;
        let said = attributes::bytes(self.attributes, "_FillValue").filter(is_element);
        let own = self.dataset.fill_value().and_then(|fill| fill.value.as_deref());
        let own = own.filter(|own| own.iter().any(|byte| *byte != 0)).filter(is_element);
        said.or(own).map_or(Value::Null, |found| element::of(name, found))
    }
}

fn codecs(header: &ObjectHeader, element_bytes: u64) -> Result<Vec<Option<Value>>, String> {
    let pipeline = header.messages.iter().find_map(|message| match message {
        HdfMessage::FilterPipeline(pipeline) => Some(pipeline),
        _ => None,
    });
    pipeline.map_or_else(|| Ok(Vec::new()), |pipeline| filters::codecs(pipeline, element_bytes))
}
