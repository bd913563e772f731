//! Chunks whose bytes others store: to elements and back, many at once, with no store and no grid.

use crate::compiled::Compiled;
use crate::metadata::{ArrayCodecs, ArrayMetadata};
use crate::threads::on_a_thread_each;
use crate::{DataType, Error};
use swath_codecs::{Chain, Codec, Scratch};
use swath_ioengine::Engine;

/// The codecs of an array, for chunks that are given as bytes and wanted as elements, or the other way round.
///
/// ```
/// use swath_zarr_front::{ArrayMetadata, ChunkCodec};
///
/// let metadata = ArrayMetadata::parse_v3(br#"{"zarr_format": 3, "node_type": "array", "shape": [2], "data_type": "uint16",
///     "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2]}},
///     "chunk_key_encoding": {"name": "default"}, "fill_value": 0,
///     "codecs": [{"name": "bytes", "configuration": {"endian": "big"}}]}"#, "chunks")?;
/// let codec = ChunkCodec::new(&metadata)?;
/// let mut chunk = [0; 4];
/// codec.decode_many(&[&[1, 2, 3, 4]], &mut chunk)?;
/// assert_eq!(chunk, [258_u16.to_ne_bytes(), 772_u16.to_ne_bytes()].as_flattened());
/// assert_eq!(codec.encode_many(&[&chunk])?, [[1, 2, 3, 4]]);
/// # Ok::<(), swath_zarr_front::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ChunkCodec {
    chain: Chain,
    data_type: DataType,
}

impl ChunkCodec {
    /// The codecs that an array's metadata names.
    ///
    /// # Errors
    ///
    /// `Unsupported` for shards, for chunks of different shapes, for elements that have lengths of their own or whose fields
    /// are stored in a foreign byte order, and for codecs that were registered with swath; and what else
    /// [`Array::open`](crate::Array::open) cannot read.
    pub fn new(metadata: &ArrayMetadata) -> Result<ChunkCodec, Error> {
        let compiled = Compiled::new(metadata)?;
        let refused = |what: &str| Err(Error::unsupported(format!("{what} as chunks by themselves")));
        if !compiled.levels.is_empty() {
            return refused("shards");
        }
        if compiled.shaped.is_some() {
            return refused("chunks of different shapes");
        }
        if compiled.variable.is_some() || metadata.data_type().is_variable_length() {
            return refused("elements of any length");
        }
        if !compiled.foreign.is_empty() {
            return refused("structures in a foreign byte order");
        }
        if let ArrayCodecs::Chain(codecs) = metadata.codecs()
            && codecs.iter().any(|codec| matches!(codec, Codec::Registered(_)))
        {
            return refused("chunks of registered codecs");
        }
        Ok(ChunkCodec { chain: compiled.chain, data_type: metadata.data_type().clone() })
    }

    /// What an element is.
    #[must_use]
    pub fn data_type(&self) -> &DataType {
        &self.data_type
    }

    /// Bytes of a decoded chunk.
    #[must_use]
    pub fn decoded_len(&self) -> usize {
        self.chain.decoded_len()
    }

    /// Decodes chunks into `target`, one behind the other, each in C order and native byte order; on as many threads as the
    /// shared engine has lanes where they are large enough together.
    ///
    /// # Errors
    ///
    /// `Corrupt` for bytes that are no such chunk, naming its number; `Invalid` where `target` is not as long as all chunks
    /// together. What `target` holds then is not defined.
    pub fn decode_many(&self, chunks: &[&[u8]], target: &mut [u8]) -> Result<(), Error> {
        let len = self.chain.decoded_len();
        if len.checked_mul(chunks.len()) != Some(target.len()) {
            return Err(Error::invalid(format!(
                "wanted memory for {} chunks of {len} bytes, found {} bytes",
                chunks.len(),
                target.len()
            )));
        }
        if len == 0 {
            return Ok(());
        }
        let each = run_len(chunks.len(), target.len());
        let runs = chunks.chunks(each).zip(target.chunks_mut(each.saturating_mul(len)));
        let done = on_a_thread_each(THREAD, runs.enumerate(), |(number, (chunks, target))| {
            let mut scratch = Scratch::default();
            let pieces = chunks.iter().zip(target.chunks_exact_mut(len));
            for (at, (chunk, piece)) in pieces.enumerate() {
                let decoded = self.chain.decode_into(chunk, piece, &mut scratch);
                decoded.map_err(|error| named(error.into(), number * each + at))?;
            }
            Ok(())
        })?;
        drop(done);
        Ok(())
    }

    /// Encodes chunks, each in C order and native byte order; on as many threads as decoding.
    ///
    /// # Errors
    ///
    /// `Invalid` for a chunk of another length; `Unsupported` where a codec only decodes; and those of the codecs.
    pub fn encode_many(&self, chunks: &[&[u8]]) -> Result<Vec<Vec<u8>>, Error> {
        let each = run_len(chunks.len(), self.chain.decoded_len().saturating_mul(chunks.len()));
        let runs = on_a_thread_each(THREAD, chunks.chunks(each).enumerate(), |(number, chunks)| {
            let mut scratch = Scratch::default();
            let mut encoded = Vec::with_capacity(chunks.len());
            for (at, chunk) in chunks.iter().enumerate() {
                if chunk.len() != self.chain.decoded_len() {
                    let (wanted, found) = (self.chain.decoded_len(), chunk.len());
                    let error = Error::invalid(format!("wanted a chunk of {wanted} bytes, found {found}"));
                    return Err(named(error, number * each + at));
                }
                let mut target = Vec::new();
                let done = self.chain.encode(chunk, &mut target, &mut scratch);
                done.map_err(|error| named(error.into(), number * each + at))?;
                encoded.push(target);
            }
            Ok(encoded)
        })?;
        Ok(runs.into_iter().flatten().collect())
    }
}

/// The name of threads that decode and encode.
const THREAD: &str = "swath-chunks";

/// Bytes of decoded chunks for which another thread pays, at least: starting one takes about as long as decoding so many.
const THREAD_BYTES_MIN: usize = 256 << 10;

/// Chunks that one thread takes of so many.
fn run_len(chunks: usize, bytes: usize) -> usize {
    let threads = (bytes / THREAD_BYTES_MIN).clamp(1, Engine::global().config().limits.lanes.max(1));
    chunks.div_ceil(threads).max(1)
}

fn named(error: Error, number: usize) -> Error {
    error.with_object(&format!("chunk {number} of those given"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    fn codec(codecs: &str, extent: usize) -> ChunkCodec {
        let document = format!(
            r#"{{"zarr_format": 3, "node_type": "array", "shape": [{extent}], "data_type": "uint32",
            "chunk_grid": {{"name": "regular", "configuration": {{"chunk_shape": [{extent}]}}}},
            "chunk_key_encoding": {{"name": "default"}}, "fill_value": 0, "codecs": {codecs}}}"#
        );
        ChunkCodec::new(&ArrayMetadata::parse_v3(document.as_bytes(), "chunks").unwrap()).unwrap()
    }

    const ZSTD: &str = r#"[{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "zstd", "configuration": {"level": 1, "checksum": false}}]"#;

    #[test]
    fn many_chunks_come_back_in_their_order_whatever_threads_they_are_cut_into() {
        for count in [0, 1, 2, 3, 7, 64] {
            let codec = codec(ZSTD, 20_000);
            let chunk = |number: u32| (0..20_000).flat_map(move |at: u32| (at * number).to_ne_bytes());
            let chunks: Vec<Vec<u8>> = (0..count).map(|number| chunk(number).collect()).collect();
            let given: Vec<&[u8]> = chunks.iter().map(Vec::as_slice).collect();
            let encoded = codec.encode_many(&given).unwrap();
            assert_eq!(encoded.len(), chunks.len());
            let stored: Vec<&[u8]> = encoded.iter().map(Vec::as_slice).collect();
            let mut target = vec![1; codec.decoded_len() * chunks.len()];
            codec.decode_many(&stored, &mut target).unwrap();
            assert_eq!(target, chunks.concat());
        }
    }

    #[test]
    fn a_bad_chunk_is_named_by_its_number() {
        let codec = codec(ZSTD, 100_000);
        let chunk = vec![3; 400_000];
        let good = codec.encode_many(&[&chunk]).unwrap().remove(0);
        let mut target = vec![0; 400_000 * 5];
        let given: [&[u8]; 5] = [&good, &good, &good, &good[..9], &good];
        let error = codec.decode_many(&given, &mut target).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt);
        assert!(error.to_string().contains("chunk 3 of those given"), "{error}");
        let error = codec.decode_many(&given, &mut target[1..]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        let error = codec.encode_many(&[&chunk, &chunk[1..]]).unwrap_err();
        assert!(error.to_string().contains("chunk 1 of those given"), "{error}");
    }
}
