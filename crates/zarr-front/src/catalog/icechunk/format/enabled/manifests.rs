//! Manifests: where chunks are.

use super::{content, corrupt, root};
use crate::catalog::icechunk::manifest::{ArrayChunks, Checksum, ChunkRef, Location, Manifest};
use crate::catalog::references::{Reference, add_inline};
use crate::{Error, ErrorKind};
use icechunk_format::flatbuffers::generated;
use icechunk_format::format_constants::FileTypeBin;
use std::collections::HashMap;
use swath_ioengine::MemoryMedium;
use zstd_safe::{DCtx, DDict, get_error_name};

/// What a manifest says, of at most so many bytes when it is decompressed.
///
/// # Errors
///
/// `Corrupt` for what is none, `Unsupported` for one of a newer format or of more bytes.
pub(in crate::catalog::icechunk) fn manifest(file: &[u8], len_max: usize) -> Result<Manifest, Error> {
    let bytes = content(file, FileTypeBin::Manifest, len_max)?;
    let manifest = root::<generated::Manifest<'_>>(&bytes)?;
    let mut reading = Reading { locations: Locations::new(manifest)?, inline: Vec::new() };
    let arrays = manifest.arrays().iter().map(|array| reading.array(array)).collect::<Result<_, _>>()?;
    let inline_len = reading.inline.len();
    let memory = MemoryMedium::new();
    memory.put("inline", reading.inline);
    Ok(Manifest::new(arrays, reading.locations.found, memory.object("inline"), inline_len))
}

/// A manifest while it is read.
struct Reading {
    locations: Locations,
    /// What references hold themselves, one behind the other.
    inline: Vec<u8>,
}

impl Reading {
    fn array(&mut self, array: generated::ArrayManifest<'_>) -> Result<ArrayChunks, Error> {
        let refs = array.refs();
        let rank = if refs.is_empty() { 0 } else { refs.get(0).index().len() };
        let mut chunks = ArrayChunks::new(array.node_id().0, rank);
        for found in refs {
            let index = found.index();
            let reference = self.reference(&found)?;
            chunks.push(index.iter(), index.len(), reference)?;
        }
        chunks.finish();
        Ok(chunks)
    }

    fn reference(&mut self, found: &generated::ChunkRef<'_>) -> Result<ChunkRef, Error> {
        let (offset, len) = (found.offset(), found.length());
        if offset.checked_add(len).is_none() {
            return Err(corrupt(&format!("{len} bytes at {offset}, past the end of every object")));
        }
        if let Some(id) = found.chunk_id() {
            return Ok(ChunkRef::Native { id: id.0, offset, len });
        }
        if let Some(location) = self.locations.number_of(found)? {
            return Ok(ChunkRef::Virtual { location, offset, len });
        }
        let inline = found.inline().ok_or_else(|| corrupt(&"a chunk that is nowhere"))?;
        match add_inline(&mut self.inline, inline.bytes())? {
            Reference::Inline { offset, len } => Ok(ChunkRef::Inline { offset, len }),
            _ => Err(Error::new(ErrorKind::Internal, "inline bytes without a place")),
        }
    }
}

/// Locations of virtual chunks, each once.
struct Locations {
    found: Vec<Location>,
    numbers: HashMap<Location, u32>,
    dictionary: Option<(DCtx<'static>, DDict<'static>)>,
    /// Where one of them is decompressed.
    text: Vec<u8>,
}

/// Bytes of a location that is stored compressed at most, as its writers have it.
const LOCATION_BYTES_MAX: usize = 1024;

/// How locations are compressed: by zstd with a dictionary.
const ZSTD_DICTIONARY: u8 = 1;

impl Locations {
    fn new(manifest: generated::Manifest<'_>) -> Result<Locations, Error> {
        let dictionary = match (manifest.compression_algorithm(), manifest.location_dictionary()) {
            (ZSTD_DICTIONARY, Some(dictionary)) => {
                let made = DCtx::try_create().zip(DDict::try_create(dictionary.bytes()));
                Some(made.ok_or_else(|| corrupt(&"a dictionary of locations that zstd does not take"))?)
            }
            _ => None,
        };
        Ok(Locations {
            found: Vec::new(),
            numbers: HashMap::new(),
            dictionary,
            text: Vec::with_capacity(LOCATION_BYTES_MAX),
        })
    }

    /// The number of where a virtual chunk is; `None` of one that is not virtual.
    fn number_of(&mut self, found: &generated::ChunkRef<'_>) -> Result<Option<u32>, Error> {
        let url = match (found.compressed_location(), found.location()) {
            (Some(compressed), _) => self.decompressed(compressed.bytes())?.to_owned(),
            (None, Some(url)) => url.to_owned(),
            (None, None) => return Ok(None),
        };
        let checksum = match (found.checksum_etag(), found.checksum_last_modified()) {
            (Some(tag), _) => Some(Checksum::Tag(tag.to_owned())),
            (None, 0) => None,
            (None, seconds) => Some(Checksum::Modified(seconds)),
        };
        let location = Location { url, checksum };
        if let Some(number) = self.numbers.get(&location) {
            return Ok(Some(*number));
        }
        let number = u32::try_from(self.found.len())
            .map_err(|_| Error::unsupported("a manifest of more locations than 32 bits can count"))?;
        self.found.push(location.clone());
        self.numbers.insert(location, number);
        Ok(Some(number))
    }

    fn decompressed(&mut self, compressed: &[u8]) -> Result<&str, Error> {
        let (context, dictionary) =
            self.dictionary.as_mut().ok_or_else(|| corrupt(&"compressed locations without a dictionary"))?;
        self.text.clear();
        context
            .decompress_using_ddict(&mut self.text, compressed, dictionary)
            .map_err(|code| corrupt(&format!("a location: zstd: {}", get_error_name(code))))?;
        std::str::from_utf8(&self.text).map_err(|_| corrupt(&"a location that is not UTF-8"))
    }
}
