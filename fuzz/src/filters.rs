//! Chains that calculate with numbers.

use arbitrary::Arbitrary;
use serde_json::{Value, json};
use swath_codecs::{Chain, ChunkLayout, Codec, Element, ErrorKind, NumberType, Scratch};

use crate::codec::{chunk_from, configuration, damage, decode_both};

const NUMBERS: [NumberType; 12] = [
    NumberType::Bool,
    NumberType::Int4,
    NumberType::Int8,
    NumberType::UInt16,
    NumberType::Int32,
    NumberType::UInt64,
    NumberType::Int64,
    NumberType::Float8E4M3,
    NumberType::BFloat16,
    NumberType::Float16,
    NumberType::Float32,
    NumberType::Float64,
];
const FILTERS: [&str; 9] = [
    "delta",
    "bitround",
    "quantize",
    "astype",
    "fixedscaleoffset",
    "cast_value",
    "scale_offset",
    "numcodecs.packbits",
    "reshape",
];
const SERIALIZERS: [&str; 3] = ["bytes", "packbits", "pcodec"];
const COMPRESSORS: [&str; 4] = ["zstd", "gzip", "blosc", "crc32c"];
/// Codecs of a kind at most.
const CODECS_MAX: usize = 3;

/// Elements of a type, a chain that calculates with them, and content or stored bytes.
#[derive(Debug, Arbitrary)]
pub struct Case<'a> {
    /// Elements, cut to 2000.
    pub elements: u16,
    /// Chooses the type.
    pub number: u8,
    /// Chooses filters and their settings.
    pub filters: Vec<(u8, u8)>,
    /// Chooses the array->bytes codec and its setting.
    pub serializer: (u8, u8),
    /// Chooses compressors and their settings.
    pub compressors: Vec<(u8, u8)>,
    /// Whether `bytes` are encoded first and then damaged.
    pub is_content: bool,
    /// Where to damage, and by what.
    pub damage: [(u16, u8); 3],
    /// Stored bytes, or a part of a chunk.
    pub bytes: &'a [u8],
}

fn filter_configuration(name: &str, setting: u8) -> Value {
    let types = ["|b1", "|i1", "<u2", ">i4", "<i8", "<u8", "<f2", "<f4", ">f8"];
    let dtype = types[usize::from(setting) % types.len()];
    let number = NUMBERS[usize::from(setting) % NUMBERS.len()].name();
    match name {
        "delta" => json!({"astype": dtype}),
        "bitround" => json!({"keepbits": setting % 30}),
        "quantize" => json!({"digits": i16::from(setting % 20) - 5}),
        "astype" => json!({"encode_dtype": dtype}),
        "fixedscaleoffset" if setting % 2 == 0 => json!({"offset": setting, "scale": 3, "astype": dtype}),
        "fixedscaleoffset" => json!({"offset": 0.5, "scale": f64::from(setting) / 7.0, "astype": dtype}),
        "cast_value" => {
            let rounding =
                ["nearest-even", "towards-zero", "towards-positive", "towards-negative", "nearest-away"];
            let out_of_range = [Value::Null, json!("clamp"), json!("wrap")];
            json!({
                "data_type": number,
                "rounding": rounding[usize::from(setting) % rounding.len()],
                "out_of_range": out_of_range[usize::from(setting / 5) % out_of_range.len()],
                "scalar_map": {"encode": [[setting % 2, 1]], "decode": [[0, 1]]},
            })
        }
        "scale_offset" => json!({"offset": setting % 100, "scale": 1 + setting % 5}),
        "reshape" => json!({"shape": [-1]}),
        _ => Value::Null,
    }
}

fn serializer_configuration(name: &str, setting: u8) -> Value {
    match name {
        "packbits" => {
            let padding = ["none", "first_byte", "last_byte"];
            json!({"padding_encoding": padding[usize::from(setting) % 3], "first_bit": setting / 3 % 4})
        }
        "pcodec" => json!({"level": setting % 9, "equal_pages_up_to": 1 + u32::from(setting) * 10}),
        name => configuration(name, setting),
    }
}

impl Case<'_> {
    fn codecs(&self) -> Vec<Codec> {
        let mut codecs = Vec::new();
        // A map or a byte order that a type has no use for is refused, and the filter left out.
        for &(name, setting) in self.filters.iter().take(CODECS_MAX) {
            let name = FILTERS[usize::from(name) % FILTERS.len()];
            codecs.extend(Codec::from_v3(name, &filter_configuration(name, setting)));
        }
        let (name, setting) = self.serializer;
        let name = SERIALIZERS[usize::from(name) % SERIALIZERS.len()];
        let serializer = Codec::from_v3(name, &serializer_configuration(name, setting));
        codecs.push(serializer.expect("a sound configuration"));
        for &(name, setting) in self.compressors.iter().take(CODECS_MAX) {
            let name = COMPRESSORS[usize::from(name) % COMPRESSORS.len()];
            codecs.push(Codec::from_v3(name, &configuration(name, setting)).expect("a sound configuration"));
        }
        codecs
    }
}

/// Encodes and decodes what the types allow, then damages and decodes: a whole chunk or an error.
pub fn calculate(case: &Case<'_>) {
    let number = NUMBERS[usize::from(case.number) % NUMBERS.len()];
    let layout =
        ChunkLayout { shape: vec![u64::from(case.elements % 2001)], element: Element::number(number) };
    let chain = match Chain::compile(&case.codecs(), &layout) {
        Ok(chain) => chain,
        Err(error) => return assert_ne!(error.kind(), ErrorKind::Internal, "{error}"),
    };
    let mut scratch = Scratch::default();
    let mut stored = case.bytes.to_vec();
    if case.is_content {
        let chunk = chunk_from(case.bytes, chain.decoded_len());
        if let Err(error) = chain.encode(&chunk, &mut stored, &mut scratch) {
            // Numbers that the next type does not hold.
            return assert!(matches!(error.kind(), ErrorKind::Invalid | ErrorKind::Unsupported), "{error}");
        }
        assert!(stored.len() as u64 <= chain.encoded_len_max());
        assert!(chain.encoded_len_fixed().is_none_or(|fixed| fixed == stored.len() as u64));
        let _ = decode_both(&chain, &stored, &mut scratch);
        damage(&mut stored, &case.damage);
    }
    let _ = decode_both(&chain, &stored, &mut scratch);
}
