//! The `packbits` codecs: elements of a few bits each, one right behind the other.
//!
//! Zarr v3 codec extension "packbits", an array->bytes codec whose first element is in the lowest bits, as the zarrs project
//! writes it; and numcodecs' `packbits`, a filter of truth values to bytes, whose first element is in the highest bit.

use serde_json::{Map, Value, json};

use crate::configuration::Configuration;
use crate::error::{Error, Wanted};
use crate::layout::{ChunkLayout, Element};
use crate::number::{NumberClass, NumberType};
use crate::packed_words;

const NAME: &str = "packbits";
const WANTED_PADDING: &str = "\"none\", \"first_byte\" or \"last_byte\"";

/// Packs some bits of each number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PackBitsCodec {
    /// Where the number of bits that pad the last byte is stored.
    pub padding: PackBitsPadding,
    /// The lowest bit that is stored; `None` is 0.
    pub first_bit: Option<u32>,
    /// The highest; `None` is the type's highest.
    pub last_bit: Option<u32>,
}

/// Where the number of padding bits is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PackBitsPadding {
    /// Nowhere.
    None,
    /// In a byte before the others.
    FirstByte,
    /// In a byte behind the others.
    LastByte,
}

/// The codec for a known number of numbers of a known type.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PackBitsStage {
    padding: PackBitsPadding,
    number: NumberType,
    first_bit: u32,
    /// Bits of each number.
    bits: u32,
    packed_bytes: usize,
    padding_bits: u8,
}

impl PackBitsCodec {
    pub(crate) fn from_json(configuration: &Value) -> Result<Self, Error> {
        let fields = Configuration::new(NAME, configuration, &["padding_encoding", "first_bit", "last_bit"])?;
        let padding = match fields.text("padding_encoding", WANTED_PADDING)? {
            None | Some("none") => PackBitsPadding::None,
            Some("first_byte") => PackBitsPadding::FirstByte,
            Some("last_byte") => PackBitsPadding::LastByte,
            Some(other) => return Err(Error::invalid_field(NAME, "padding_encoding", WANTED_PADDING, other)),
        };
        let bit = |field: &str| -> Result<Option<u32>, Error> {
            Ok(fields.integer(field, 0, 63)?.and_then(|bit| u32::try_from(bit).ok()))
        };
        let (first_bit, last_bit) = (bit("first_bit")?, bit("last_bit")?);
        if let Some(last) = last_bit.filter(|last| *last < first_bit.unwrap_or(0)) {
            return Err(Error::invalid_field(NAME, "last_bit", "no bit before `first_bit`", last));
        }
        Ok(Self { padding, first_bit, last_bit })
    }

    pub(crate) fn to_json(self) -> Value {
        let mut fields = Map::new();
        match self.padding {
            PackBitsPadding::None => None,
            PackBitsPadding::FirstByte => Some("first_byte"),
            PackBitsPadding::LastByte => Some("last_byte"),
        }
        .map(|padding| fields.insert("padding_encoding".to_owned(), json!(padding)));
        for (name, bit) in [("first_bit", self.first_bit), ("last_bit", self.last_bit)] {
            if let Some(bit) = bit {
                fields.insert(name.to_owned(), json!(bit));
            }
        }
        if fields.is_empty() { Value::Null } else { Value::Object(fields) }
    }

    pub(crate) fn describe(self) -> String {
        match (self.first_bit, self.last_bit) {
            (None, None) => NAME.to_owned(),
            (first, Some(last)) => format!("packbits(bits {} to {last})", first.unwrap_or(0)),
            (Some(first), None) => format!("packbits(bits from {first})"),
        }
    }

    pub(crate) fn compile(self, layout: &ChunkLayout) -> Result<PackBitsStage, Error> {
        let Some((number, components)) = layout.element.components() else {
            return Err(Error::unsupported(NAME, "wanted elements that are numbers, found others"));
        };
        let first_bit = self.first_bit.unwrap_or(0);
        let last_bit = self.last_bit.unwrap_or(number.bits() - 1);
        if number.bits() <= last_bit || last_bit < first_bit {
            let wanted = format!("bits of {}, which has {}", number.name(), number.bits());
            let found = format!("{first_bit} to {last_bit}");
            return Err(Error::invalid_field(NAME, "last_bit", &wanted, found));
        }
        let bits = last_bit - first_bit + 1;
        let numbers = layout.decoded_len()? / layout.element.size_bytes * components;
        // No more than the numbers have in memory, so it fits.
        let packed_bits = numbers as u128 * u128::from(bits);
        let packed_bytes = usize::try_from(packed_bits.div_ceil(8)).unwrap_or(usize::MAX);
        let padding_bits = u8::try_from((8 - packed_bits % 8) % 8).unwrap_or(0);
        Ok(PackBitsStage { padding: self.padding, number, first_bit, bits, packed_bytes, padding_bits })
    }
}

impl PackBitsStage {
    /// Whether four numbers at once may be whole bytes.
    fn is_of_words(self) -> bool {
        self.number == NumberType::UInt16 && self.first_bit == 0
    }

    /// Bytes of so many numbers, which are whole ones.
    fn bytes_of(self, numbers: usize) -> usize {
        numbers / 8 * self.bits as usize + numbers % 8 * self.bits as usize / 8
    }

    /// Stored bytes.
    pub(crate) fn stored_bytes(self) -> usize {
        self.packed_bytes + usize::from(self.padding != PackBitsPadding::None)
    }

    pub(crate) fn decode(self, source: &[u8], target: &mut [u8]) -> Result<usize, Error> {
        Wanted::Exactly(self.stored_bytes()).check_stored(NAME, source.len())?;
        let (padding, packed) = match (self.padding, source) {
            (PackBitsPadding::FirstByte, [padding, packed @ ..])
            | (PackBitsPadding::LastByte, [packed @ .., padding]) => (*padding, packed),
            (_, packed) => (self.padding_bits, packed),
        };
        if padding != self.padding_bits {
            return Err(wrong_padding(self.padding_bits, padding));
        }
        if self.bits == 1 && self.number == NumberType::Bool {
            for (numbers, byte) in target.chunks_mut(8).zip(packed) {
                for (at, number) in numbers.iter_mut().enumerate() {
                    *number = byte >> at & 1;
                }
            }
            return Ok(target.len());
        }
        let is_signed = self.number.class() == NumberClass::Signed;
        let done = if self.is_of_words() { packed_words::unpack(self.bits, packed, target) } else { 0 };
        let packed = packed.get(self.bytes_of(done)..).unwrap_or_default();
        let mut reader = BitReader { bytes: packed.iter(), held: 0, held_bits: 0 };
        for number in target[done * self.number.size_bytes()..].chunks_exact_mut(self.number.size_bytes()) {
            let value = reader.read(self.bits) << self.first_bit;
            let unused = 64 - self.bits - self.first_bit;
            let value =
                if is_signed { ((value << unused).cast_signed() >> unused).cast_unsigned() } else { value };
            write_low(value, number);
        }
        Ok(target.len())
    }

    pub(crate) fn encode(self, source: &[u8], target: &mut Vec<u8>) {
        target.clear();
        target.reserve_exact(self.stored_bytes());
        if self.padding == PackBitsPadding::FirstByte {
            target.push(self.padding_bits);
        }
        let mask = u64::MAX >> (64 - self.bits);
        let done = if self.is_of_words() { packed_words::pack(self.bits, source, target) } else { 0 };
        let (mut held, mut held_bits) = (0u128, 0);
        for number in source[done * self.number.size_bytes()..].chunks_exact(self.number.size_bytes()) {
            held |= u128::from(read_low(number) >> self.first_bit & mask) << held_bits;
            held_bits += self.bits;
            while 8 <= held_bits {
                target.push(held.to_le_bytes()[0]);
                held >>= 8;
                held_bits -= 8;
            }
        }
        if held_bits != 0 {
            target.push(held.to_le_bytes()[0]);
        }
        if self.padding == PackBitsPadding::LastByte {
            target.push(self.padding_bits);
        }
    }
}

/// Takes bits off bytes, lowest first.
struct BitReader<'a> {
    bytes: std::slice::Iter<'a, u8>,
    held: u128,
    held_bits: u32,
}

impl BitReader<'_> {
    /// The next 1 to 64 bits; zeros past the end.
    fn read(&mut self, bits: u32) -> u64 {
        while self.held_bits < bits {
            self.held |= u128::from(self.bytes.next().copied().unwrap_or(0)) << self.held_bits;
            self.held_bits += 8;
        }
        let [low @ .., _, _, _, _, _, _, _, _] = self.held.to_le_bytes();
        self.held >>= bits;
        self.held_bits -= bits;
        u64::from_le_bytes(low) & u64::MAX >> (64 - bits)
    }
}

/// A number of up to 8 bytes in native order.
fn read_low(number: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    if cfg!(target_endian = "big") {
        bytes[8 - number.len()..].copy_from_slice(number);
    } else {
        bytes[..number.len()].copy_from_slice(number);
    }
    u64::from_ne_bytes(bytes)
}

/// The low bytes of a value, in native order.
fn write_low(value: u64, number: &mut [u8]) {
    let bytes = value.to_ne_bytes();
    if cfg!(target_endian = "big") {
        number.copy_from_slice(&bytes[8 - number.len()..]);
    } else {
        number.copy_from_slice(&bytes[..number.len()]);
    }
}

#[cold]
fn wrong_padding(wanted: u8, found: u8) -> Error {
    Error::corrupt(NAME, format!("wanted {wanted} bits of padding, found {found}"))
}

/// The array of bytes that numcodecs' codec makes of truth values: how many bits pad the last byte, then the bits.
pub(crate) fn packed_layout(layout: &ChunkLayout) -> Result<ChunkLayout, Error> {
    if layout.element.size_bytes != 1 {
        let found = layout.element.size_bytes;
        return Err(Error::unsupported(
            NAME,
            format!("wanted truth values of one byte, found {found} bytes"),
        ));
    }
    let packed_bytes = 1 + layout.decoded_len()?.div_ceil(8) as u64;
    Ok(ChunkLayout { shape: vec![packed_bytes], element: Element::number(NumberType::UInt8) })
}

/// Undoes numcodecs' codec.
pub(crate) fn unpack_truth(source: &[u8], target: &mut [u8]) -> Result<(), Error> {
    let (padding, packed) = source.split_first().unwrap_or((&0, &[]));
    let wanted = padding_of(target.len());
    if *padding != wanted {
        return Err(wrong_padding(wanted, *padding));
    }
    for (numbers, byte) in target.chunks_mut(8).zip(packed) {
        for (at, number) in numbers.iter_mut().enumerate() {
            *number = byte >> (7 - at) & 1;
        }
    }
    Ok(())
}

/// Packs truth values as numcodecs does.
pub(crate) fn pack_truth(source: &[u8], target: &mut [u8]) {
    let Some((padding, packed)) = target.split_first_mut() else { return };
    *padding = padding_of(source.len());
    for (numbers, byte) in source.chunks(8).zip(packed) {
        let bits = numbers.iter().enumerate().map(|(at, number)| u8::from(*number != 0) << (7 - at));
        *byte = bits.sum();
    }
}

fn padding_of(elements: usize) -> u8 {
    u8::try_from((8 - elements % 8) % 8).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    fn stage(number: NumberType, count: u64, configuration: &Value) -> PackBitsStage {
        let layout = ChunkLayout { shape: vec![count], element: Element::number(number) };
        PackBitsCodec::from_json(configuration).unwrap().compile(&layout).unwrap()
    }

    #[test]
    fn bits_lie_as_the_specification_says() {
        let mut stored = Vec::new();
        stage(NumberType::Bool, 9, &json!({"padding_encoding": "first_byte"}))
            .encode(&[1, 0, 1, 1, 0, 0, 0, 0, 1], &mut stored);
        assert_eq!(stored, [7, 0b0000_1101, 1]);
        // int4: -1, 2, -8.
        let four = stage(NumberType::Int4, 3, &Value::Null);
        four.encode(&[0xFF, 0x02, 0xF8], &mut stored);
        assert_eq!(stored, [0x2F, 0x08]);
        let mut target = [0; 3];
        four.decode(&stored, &mut target).unwrap();
        assert_eq!(target, [0xFF, 0x02, 0xF8]);
        // Bits 2 to 11 of two 16-bit numbers, read back with their sign.
        let some = stage(
            NumberType::Int16,
            2,
            &json!({"first_bit": 2, "last_bit": 11, "padding_encoding": "last_byte"}),
        );
        let source: Vec<u8> = [-8i16, 0x7FC].into_iter().flat_map(i16::to_ne_bytes).collect();
        some.encode(&source, &mut stored);
        assert_eq!(stored, [0xFE, 0xFF, 0x07, 4]);
        let mut target = [0; 4];
        some.decode(&stored, &mut target).unwrap();
        assert_eq!(target[..], source);
    }

    #[test]
    fn every_type_round_trips() {
        for number in [
            NumberType::Bool,
            NumberType::UInt2,
            NumberType::UInt4,
            NumberType::Float6E3M2Fn,
            NumberType::UInt8,
            NumberType::Int16,
            NumberType::UInt16,
            NumberType::UInt32,
            NumberType::Float64,
        ] {
            let mask = u8::try_from(u64::MAX >> (64 - number.bits().min(8))).unwrap();
            for count in [0, 1, 7, 8, 9, 64] {
                let bytes: Vec<u8> =
                    (0..count * number.size_bytes()).map(|at| (at * 37).to_le_bytes()[0] & mask).collect();
                let stage = stage(number, count as u64, &json!({"padding_encoding": "last_byte"}));
                let (mut stored, mut target) = (Vec::new(), vec![0xA5; bytes.len()]);
                stage.encode(&bytes, &mut stored);
                assert_eq!(stored.len(), stage.stored_bytes());
                stage.decode(&stored, &mut target).unwrap();
                assert_eq!(target, bytes, "{number:?} {count}");
            }
        }
    }

    #[test]
    fn numbers_of_ten_bits_lie_as_other_numbers() {
        // 16-bit numbers are taken four at once, 32-bit ones one by one.
        let ten = json!({"first_bit": 0, "last_bit": 9, "padding_encoding": "first_byte"});
        for count in [0u16, 1, 3, 4, 6, 7, 8, 61] {
            let numbers: Vec<u16> = (0..count).map(|at| at.wrapping_mul(48_271) & 0x3ff).collect();
            let words: Vec<u8> = numbers.iter().flat_map(|number| number.to_ne_bytes()).collect();
            let long: Vec<u8> = numbers.iter().flat_map(|number| u32::from(*number).to_ne_bytes()).collect();
            let (mut stored, mut wanted) = (Vec::new(), Vec::new());
            let stage16 = stage(NumberType::UInt16, u64::from(count), &ten);
            stage16.encode(&words, &mut stored);
            stage(NumberType::UInt32, u64::from(count), &ten).encode(&long, &mut wanted);
            assert_eq!(stored, wanted, "{count}");
            let mut target = vec![0xA5; words.len()];
            stage16.decode(&stored, &mut target).unwrap();
            assert_eq!(target, words, "{count}");
        }
    }

    #[test]
    fn other_lengths_and_paddings_are_corrupt() {
        let stage = stage(NumberType::Bool, 9, &json!({"padding_encoding": "first_byte"}));
        for stored in [&[7, 0][..], &[7, 0, 0, 0], &[6, 0, 0]] {
            assert_eq!(stage.decode(stored, &mut [0; 9]).unwrap_err().kind(), ErrorKind::Corrupt);
        }
        let mut packed = [0; 3];
        pack_truth(&[1; 9], &mut packed);
        assert_eq!(packed, [7, 0xFF, 0x80]);
        assert!(unpack_truth(&[6, 0, 0], &mut [0; 9]).is_err());
    }

    #[test]
    fn bits_that_a_type_lacks_are_refused() {
        let layout = |element| ChunkLayout { shape: vec![3], element };
        let codec = PackBitsCodec::from_json(&json!({"last_bit": 8})).unwrap();
        assert!(codec.compile(&layout(Element::number(NumberType::UInt8))).is_err());
        assert!(codec.compile(&layout(Element::opaque(2, 1))).is_err());
        assert!(PackBitsCodec::from_json(&json!({"first_bit": 3, "last_bit": 2})).is_err());
    }
}
