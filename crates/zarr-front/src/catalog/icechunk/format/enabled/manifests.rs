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

/// What a manifest says, of at most so many bytes when it is decompressed, and of at most [`MEMORY_PER_BYTE`] times as many in
/// memory.
///
/// # Errors
///
/// `Corrupt` for what is none, `Unsupported` for one of a newer format or of more bytes.
pub(in crate::catalog::icechunk) fn manifest(file: &[u8], len_max: usize) -> Result<Manifest, Error> {
    let bytes = content(file, FileTypeBin::Manifest, len_max)?;
    let manifest = root::<generated::Manifest<'_>>(&bytes)?;
    let left = MemoryLeft(len_max.saturating_mul(MEMORY_PER_BYTE));
    let mut reading = Reading { locations: Locations::new(manifest)?, inline: Vec::new(), left };
    let arrays = manifest.arrays().iter().map(|array| reading.array(array)).collect::<Result<_, _>>()?;
    let inline_len = reading.inline.len();
    let memory = MemoryMedium::new();
    memory.put("inline", reading.inline);
    Ok(Manifest::new(arrays, reading.locations.into_list(), memory.object("inline"), inline_len))
}

/// Bytes of memory that what a manifest says may take for each byte that it may have. What is written by anybody honest takes about
/// one; but locations are stored compressed each by itself, a hundredfold at best, and tables may be pointed to several times.
const MEMORY_PER_BYTE: usize = 2;

/// Bytes of memory that what a manifest says may still take.
struct MemoryLeft(usize);

impl MemoryLeft {
    fn take(&mut self, bytes: usize) -> Result<(), Error> {
        self.0 = self.0.checked_sub(bytes).ok_or_else(|| {
            Error::unsupported("a manifest whose chunks and locations are many times its length")
        })?;
        Ok(())
    }
}

/// A manifest while it is read.
struct Reading {
    locations: Locations,
    /// What references hold themselves, one behind the other.
    inline: Vec<u8>,
    left: MemoryLeft,
}

impl Reading {
    fn array(&mut self, array: generated::ArrayManifest<'_>) -> Result<ArrayChunks, Error> {
        let refs = array.refs();
        let rank = if refs.is_empty() { 0 } else { refs.get(0).index().len() };
        let mut chunks = ArrayChunks::new(array.node_id().0, rank);
        for found in refs {
            let index = found.index();
            self.left.take(size_of::<ChunkRef>() + index.len() * size_of::<u32>())?;
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
        if let Some(location) = self.locations.number_of(found, &mut self.left)? {
            return Ok(ChunkRef::Virtual { location, offset, len });
        }
        let inline = found.inline().ok_or_else(|| corrupt(&"a chunk that is nowhere"))?;
        self.left.take(inline.bytes().len())?;
        match add_inline(&mut self.inline, inline.bytes())? {
            Reference::Inline { offset, len } => Ok(ChunkRef::Inline { offset, len }),
            _ => Err(Error::new(ErrorKind::Internal, "inline bytes without a place")),
        }
    }
}

/// Locations of virtual chunks, each once.
struct Locations {
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
        Ok(Locations { numbers: HashMap::new(), dictionary, text: Vec::with_capacity(LOCATION_BYTES_MAX) })
    }

    /// The number of where a virtual chunk is; `None` of one that is not virtual.
    fn number_of(
        &mut self,
        found: &generated::ChunkRef<'_>,
        left: &mut MemoryLeft,
    ) -> Result<Option<u32>, Error> {
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
        let number = u32::try_from(self.numbers.len())
            .map_err(|_| Error::unsupported("a manifest of more locations than 32 bits can count"))?;
        left.take(location.memory_bytes())?;
        self.numbers.insert(location, number);
        Ok(Some(number))
    }

    /// All of them, by number.
    fn into_list(self) -> Vec<Location> {
        let mut numbered: Vec<(Location, u32)> = self.numbers.into_iter().collect();
        numbered.sort_unstable_by_key(|(_, number)| *number);
        numbered.into_iter().map(|(location, _)| location).collect()
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

#[cfg(test)]
mod tests {
    use super::*;
    use icechunk_format::format_constants::{ICECHUNK_FORMAT_MAGIC_BYTES, SpecVersionBin};
    use icechunk_format::manifest::{
        ChunkInfo, ChunkPayload, LocationCompressionConfig, Manifest as Written, VirtualChunkLocation,
        VirtualChunkRef,
    };
    use icechunk_format::{ChunkIndices, ManifestId, NodeId};

    /// The file of a manifest of virtual chunks, whose locations are compressed.
    fn virtual_chunks(count: u32, location: impl Fn(u32) -> String) -> Vec<u8> {
        let chunk = |at: u32| ChunkInfo {
            node: NodeId::new([5; 8]),
            coord: ChunkIndices(vec![at]),
            payload: ChunkPayload::Virtual(VirtualChunkRef {
                location: VirtualChunkLocation::from_url(&location(at)).unwrap(),
                offset: u64::from(at),
                length: 1,
                checksum: None,
            }),
        };
        let compression = LocationCompressionConfig {
            min_num_chunks: 1000,
            dictionary_max_training_samples: 100,
            dictionary_max_size_bytes: 4096,
            compression_level: 3,
        };
        let chunks = (0..count).map(chunk).collect();
        let written = Written::from_sorted_vec(&ManifestId::new([9; 12]), chunks, Some(&compression));
        let written = written.unwrap().unwrap();
        assert!(written.uses_location_compression());
        let mut file = ICECHUNK_FORMAT_MAGIC_BYTES.to_vec();
        file.extend_from_slice(format!("{:24}", "test-1").as_bytes());
        file.extend_from_slice(&[SpecVersionBin::V2 as u8, FileTypeBin::Manifest as u8, 0]);
        file.extend_from_slice(written.bytes());
        file
    }

    /// Each location takes some bytes of the file, and a thousand in memory.
    #[test]
    fn locations_are_counted_as_they_expand() {
        let long = "x".repeat(950);
        let location = |at: u32| format!("s3://bucket/{long}/{at}");
        let file = virtual_chunks(4000, location);
        let len_max = 1 << 20;
        assert!(file.len() < len_max, "{} bytes", file.len());
        let error = manifest(&file, len_max).map(|_| ()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
        let found = manifest(&file, 4 << 20).unwrap();
        for at in [0, 1, 3999] {
            let Some(ChunkRef::Virtual { location: number, offset, len: 1 }) = found.find([5; 8], &[at])
            else {
                panic!("chunk {at} is not virtual");
            };
            assert_eq!(offset, u64::from(at));
            assert_eq!(found.location(number).unwrap().url, location(at));
        }
        // One location of all costs its length once.
        let same = virtual_chunks(4000, |_| location(0));
        assert!(manifest(&same, len_max).is_ok());
    }
}
