//! From values to the bytes of one object.

use crate::Failure;
use crate::grid::Grid;
use serde_json::Value;
use zstd_safe::CCtx;

/// What encodes chunks.
pub(crate) enum Codec {
    Raw,
    Zstd { level: i32 },
    Blosc { compressor: String, level: i32, shuffle: i32 },
}

impl Codec {
    /// As workloads describe it.
    pub(crate) fn parse(codec: &Value) -> Result<Codec, Failure> {
        let number =
            |name: &str| -> Result<i32, Failure> { Ok(serde_json::from_value(codec[name].clone())?) };
        match codec["name"].as_str() {
            Some("none") => Ok(Codec::Raw),
            Some("zstd") => Ok(Codec::Zstd { level: number("level")? }),
            Some("blosc") => {
                let shuffle = match codec["shuffle"].as_str() {
                    Some("noshuffle") => 0,
                    Some("shuffle") => 1,
                    Some("bitshuffle") => 2,
                    other => return Err(format!("wanted a shuffle of blosc, found {other:?}").into()),
                };
                let compressor = codec["cname"].as_str().unwrap_or_default().to_owned();
                Ok(Codec::Blosc { compressor, level: number("clevel")?, shuffle })
            }
            other => Err(format!("wanted codec none, zstd or blosc, found {other:?}").into()),
        }
    }
}

/// One thread's encoder.
pub(crate) struct Encoder<'a> {
    codec: &'a Codec,
    zstd: CCtx<'static>,
    /// A chunk whose values do not lie one behind the other.
    chunk: Vec<u8>,
    encoded: Vec<u8>,
    object: Vec<u8>,
    element: usize,
}

impl<'a> Encoder<'a> {
    pub(crate) fn new(codec: &'a Codec, grid: &Grid) -> Encoder<'a> {
        let room = zstd_safe::compress_bound(grid.chunk_bytes()).max(grid.chunk_bytes() + 16);
        Encoder {
            codec,
            zstd: CCtx::create(),
            chunk: Vec::with_capacity(grid.chunk_bytes()),
            encoded: vec![0; room],
            object: Vec::new(),
            element: grid.element,
        }
    }

    /// The bytes of an object.
    pub(crate) fn object(&mut self, values: &[u8], grid: &Grid, object: &[usize]) -> Result<&[u8], Failure> {
        self.object.clear();
        let is_shard = grid.object != grid.chunk;
        let mut index = Vec::new();
        for chunk in grid.chunks() {
            self.chunk.clear();
            let (mut whole, mut count) = (0..0, 0);
            grid.runs(object, &chunk, |start, length| {
                whole = start..start + length;
                count += 1;
                if length != grid.chunk_bytes() {
                    self.chunk.extend_from_slice(&values[start..start + length]);
                }
            });
            let elements = if count == 1 { &values[whole] } else { &self.chunk[..] };
            let start = self.object.len();
            match self.codec {
                Codec::Raw => self.object.extend_from_slice(elements),
                Codec::Zstd { level } => {
                    let written = self.zstd.compress(&mut self.encoded[..], elements, *level);
                    let written = written.map_err(|code| format!("zstd failed: {code}"))?;
                    self.object.extend_from_slice(&self.encoded[..written]);
                }
                Codec::Blosc { compressor, level, shuffle } => {
                    let settings = blosc_avx2::Settings { compressor, level: *level, shuffle: *shuffle };
                    let written = blosc_avx2::compress(&settings, self.element, elements, &mut self.encoded);
                    let written = written.ok_or("blosc failed")?;
                    self.object.extend_from_slice(&self.encoded[..written]);
                }
            }
            index.extend([start as u64, (self.object.len() - start) as u64]);
        }
        if is_shard {
            self.object.extend(index.iter().flat_map(|word| word.to_le_bytes()));
            self.object.extend_from_slice(&[0; 4]);
        }
        Ok(&self.object)
    }
}
