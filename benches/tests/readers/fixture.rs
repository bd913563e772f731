//! Small arrays of known values, written chunk by chunk with swath's own encoders.

use serde_json::{Value, json};
use std::path::Path;
use swath::codecs::{Chain, ChunkLayout, Codec, Element, Scratch};

/// An array whose values follow from their positions. The last stored object of all is left out, and so is the second
/// inner chunk of each shard: they are fill values.
pub(crate) struct Fixture {
    pub(crate) dtype: &'static str,
    pub(crate) shape: Vec<u64>,
    pub(crate) outer: Vec<u64>,
    pub(crate) stored: Stored,
}

/// How it is stored.
pub(crate) enum Stored {
    V3 { inner: Option<Vec<u64>>, codec: Option<Value> },
    V2 { compressor: Value },
}

/// The fill value of every fixture: its bytes are known for integers and floats of any size.
const FILL: u8 = 0;

impl Fixture {
    fn item_bytes(&self) -> usize {
        let bits: usize = self.dtype.trim_start_matches(char::is_alphabetic).parse().expect("a size");
        bits / 8
    }

    fn inner(&self) -> &[u64] {
        match &self.stored {
            Stored::V3 { inner: Some(inner), .. } => inner,
            _ => &self.outer,
        }
    }

    fn grid(&self) -> Vec<u64> {
        self.shape.iter().zip(&self.outer).map(|(shape, outer)| shape.div_ceil(*outer)).collect()
    }

    /// Whether an element is stored.
    fn is_stored(&self, at: &[u64]) -> bool {
        let mut axes = at.iter().zip(&self.outer).zip(self.grid());
        let is_last_object = axes.all(|((at, outer), count)| at / outer == count - 1);
        let axes = at.iter().zip(&self.outer).zip(self.inner());
        let number = axes.fold(0, |sum, ((at, outer), inner)| sum * (outer / inner) + at % outer / inner);
        !is_last_object && (number != 1 || self.inner() == self.outer)
    }

    fn element(&self, at: &[u64]) -> Vec<u8> {
        let item = self.item_bytes();
        if at.iter().zip(&self.shape).any(|(at, length)| length <= at) || !self.is_stored(at) {
            return vec![FILL; item];
        }
        let number = at.iter().zip(&self.shape).fold(0, |sum, (at, length)| sum * length + at);
        let value = (number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 60) + number / 16;
        if self.dtype == "float32" {
            (value as f32).to_le_bytes().to_vec()
        } else {
            value.to_le_bytes()[..item].to_vec()
        }
    }

    /// The elements of a box, in C order.
    pub(crate) fn crop(&self, corner: &[u64], extents: &[u64]) -> Vec<u8> {
        let offsets = positions(extents);
        let at =
            |offset: &Vec<u64>| corner.iter().zip(offset).map(|(corner, offset)| corner + offset).collect();
        offsets.iter().map(at).flat_map(|at: Vec<u64>| self.element(&at)).collect()
    }

    /// Writes the array.
    pub(crate) fn write(&self, folder: &Path) {
        let (name, document, codecs) = self.metadata();
        std::fs::create_dir_all(folder).expect("a folder");
        std::fs::write(folder.join(name), document.to_string()).expect("metadata");
        let chain = chain(&codecs, self.inner(), self.item_bytes());
        let grid = self.grid();
        for object in positions(&grid) {
            if object.iter().zip(&grid).all(|(at, count)| *at == count - 1) {
                continue;
            }
            let names: Vec<String> = object.iter().map(u64::to_string).collect();
            let key = match self.stored {
                Stored::V2 { .. } => names.join("."),
                Stored::V3 { .. } => format!("c/{}", names.join("/")),
            };
            let corner: Vec<u64> = object.iter().zip(&self.outer).map(|(at, outer)| at * outer).collect();
            let path = folder.join(key);
            std::fs::create_dir_all(path.parent().expect("a key lies in a folder")).expect("a folder");
            let bytes = match &self.stored {
                Stored::V3 { inner: Some(_), .. } => self.shard(&corner, &chain),
                _ => encode(&chain, &self.crop(&corner, &self.outer)),
            };
            std::fs::write(path, bytes).expect("an object");
        }
    }

    /// The document's name, the document, and what chunks are encoded by.
    fn metadata(&self) -> (&str, Value, Vec<Codec>) {
        let bytes = json!({"name": "bytes", "configuration": {"endian": "little"}});
        match &self.stored {
            Stored::V2 { compressor } => {
                let document = json!({
                    "zarr_format": 2, "shape": self.shape, "chunks": self.outer, "order": "C", "filters": null,
                    "dtype": format!("<f{}", self.item_bytes()), "fill_value": 0.0, "compressor": compressor,
                });
                let mut codecs = v3(&[bytes]);
                if !compressor.is_null() {
                    codecs.push(Codec::from_v2(compressor).expect("a codec"));
                }
                (".zarray", document, codecs)
            }
            Stored::V3 { inner, codec } => {
                let codecs: Vec<Value> = std::iter::once(bytes.clone()).chain(codec.clone()).collect();
                let outer = match inner {
                    None => Value::from(codecs.clone()),
                    Some(inner) => json!([{"name": "sharding_indexed", "configuration": {
                        "chunk_shape": inner, "codecs": codecs, "index_location": "end",
                        "index_codecs": [bytes, {"name": "crc32c"}]}}]),
                };
                let document = json!({
                    "zarr_format": 3, "node_type": "array", "shape": self.shape, "data_type": self.dtype,
                    "fill_value": 0, "codecs": outer,
                    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": self.outer}},
                    "chunk_key_encoding": {"name": "default"},
                });
                ("zarr.json", document, v3(&codecs))
            }
        }
    }

    /// Inner chunks in C order, the second left out, then the index and its checksum.
    fn shard(&self, corner: &[u64], chain: &Chain) -> Vec<u8> {
        let grid: Vec<u64> =
            self.outer.iter().zip(self.inner()).map(|(outer, inner)| outer / inner).collect();
        let (mut bytes, mut index) = (Vec::new(), Vec::new());
        for (number, at) in positions(&grid).iter().enumerate() {
            let mut entry = [u64::MAX; 2];
            if number != 1 {
                let axes = corner.iter().zip(at).zip(self.inner());
                let first: Vec<u64> = axes.map(|((corner, at), inner)| corner + at * inner).collect();
                let stored = encode(chain, &self.crop(&first, self.inner()));
                entry = [bytes.len() as u64, stored.len() as u64];
                bytes.extend(stored);
            }
            index.extend(entry.iter().flat_map(|word| word.to_le_bytes()));
        }
        let codecs =
            v3(&[json!({"name": "bytes", "configuration": {"endian": "little"}}), json!({"name": "crc32c"})]);
        bytes.extend(encode(&self::chain(&codecs, &[index.len() as u64], 1), &index));
        bytes
    }
}

fn v3(codecs: &[Value]) -> Vec<Codec> {
    let codec =
        |codec: &Value| Codec::from_v3(codec["name"].as_str().unwrap_or_default(), &codec["configuration"]);
    codecs.iter().map(codec).collect::<Result<_, _>>().expect("known codecs")
}

fn chain(codecs: &[Codec], shape: &[u64], item_bytes: usize) -> Chain {
    let element = Element::opaque(item_bytes, item_bytes);
    Chain::compile(codecs, &ChunkLayout { shape: shape.to_vec(), element }).expect("a chain")
}

fn encode(chain: &Chain, values: &[u8]) -> Vec<u8> {
    let mut stored = Vec::new();
    chain.encode(values, &mut stored, &mut Scratch::default()).expect("values encode");
    stored
}

/// All positions of a box, in C order.
fn positions(extents: &[u64]) -> Vec<Vec<u64>> {
    extents.iter().fold(vec![Vec::new()], |found, extent| {
        let longer = |start: &Vec<u64>| {
            let start = start.clone();
            (0..*extent).map(move |at| start.iter().copied().chain([at]).collect()).collect::<Vec<Vec<u64>>>()
        };
        found.iter().flat_map(longer).collect()
    })
}
