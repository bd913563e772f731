//! Structures whose fields are stored in either byte order, as they are stored byte by byte. Random writes of them are in `writing.rs`.

use serde_json::{Value, json};
use swath_codecs::ByteOrder;
use swath_ioengine::{ByteRange, Engine, MemoryMedium};
use swath_zarr_front::{
    Array, ArrayBuilder, CopyOptions, DataType, ErrorKind, FillValue, Selection, Store, ZarrFormat,
};

/// `a` is 258 and more, `b` 1 and more, `c` a float twice: in the byte order given for each.
fn element(number: u16, a: ByteOrder, c: ByteOrder) -> Vec<u8> {
    let (short, float) = (258 + number, 0.5 + f32::from(number));
    let mut bytes = match a {
        ByteOrder::Little => short.to_le_bytes(),
        ByteOrder::Big => short.to_be_bytes(),
    }
    .to_vec();
    bytes.push(1 + u8::try_from(number).unwrap());
    for float in [float, -float] {
        bytes.extend(match c {
            ByteOrder::Little => float.to_le_bytes(),
            ByteOrder::Big => float.to_be_bytes(),
        });
    }
    bytes
}

fn elements(count: u16, a: ByteOrder, c: ByteOrder) -> Vec<u8> {
    (0..count).flat_map(|number| element(number, a, c)).collect()
}

fn stored(memory: &MemoryMedium, key: &str) -> Vec<u8> {
    Engine::global().read_object(&memory.object(key), ByteRange::Whole { len_max: 1 << 20 }).unwrap().to_vec()
}

fn v2(dtype: &Value) -> ArrayBuilder {
    let (data_type, _) = DataType::from_v2_json(dtype).unwrap();
    ArrayBuilder::new(&[4], data_type).chunk_shape(&[2]).zarr_format(ZarrFormat::V2).compressors([])
}

#[test]
fn fields_are_stored_in_the_order_that_each_names() {
    use ByteOrder::{Big, Little};
    for (a, c) in [(Big, Little), (Little, Big), (Big, Big), (Little, Little)] {
        let sign = |order| if order == Big { '>' } else { '<' };
        let dtype =
            json!([["a", format!("{}u2", sign(a))], ["b", "|u1"], ["c", format!("{}f4", sign(c)), [2]]]);
        let memory = MemoryMedium::new();
        let array = v2(&dtype).create(&Store::memory(&memory), "").unwrap();
        assert_eq!(array.metadata().document()["dtype"], dtype);
        let native = elements(4, ByteOrder::NATIVE, ByteOrder::NATIVE);
        array.write(&Selection::all(), &native).unwrap();
        let wanted = elements(4, a, c);
        assert_eq!([stored(&memory, "0"), stored(&memory, "1")].concat(), wanted);
        // A part of a chunk: the other element stays as it is stored.
        array.write(&"1".parse().unwrap(), &native[3 * 11..]).unwrap();
        assert_eq!(stored(&memory, "0"), [&wanted[..11], &wanted[3 * 11..]].concat());
        // Chunks of nothing but the fill value are not stored.
        array.write(&"2:".parse().unwrap(), &[0; 22]).unwrap();
        assert!(!memory.remove("1"));
        let read = array.read(&Selection::all()).unwrap();
        assert_eq!(read.as_bytes(), [&native[..11], &native[3 * 11..], &[0; 22]].concat());
    }
}

#[test]
fn fields_of_v3_are_stored_in_the_order_of_their_codec() {
    let (data_type, _) = DataType::from_v2_json(&json!([["a", ">u2"], ["b", "|u1"], ["c", "<c8"]])).unwrap();
    let (native, big) =
        (elements(4, ByteOrder::NATIVE, ByteOrder::NATIVE), elements(4, ByteOrder::Big, ByteOrder::Big));
    let fill = FillValue::from_json(&json!({"a": 5}), &data_type, ZarrFormat::V3).unwrap();
    let memory = MemoryMedium::new();
    let builder = ArrayBuilder::new(&[4], data_type).chunk_shape(&[2]).compressors([]).fill_value(fill);
    let array = builder.byte_order(ByteOrder::Big).create(&Store::memory(&memory), "").unwrap();
    let document = array.metadata().document();
    assert_eq!(document["codecs"], json!([{"name": "bytes", "configuration": {"endian": "big"}}]));
    let fields = &document["data_type"]["configuration"]["fields"];
    assert_eq!(fields[2], json!({"name": "c", "data_type": "complex64"}));
    array.write(&Selection::all(), &native).unwrap();
    assert_eq!([stored(&memory, "c/0"), stored(&memory, "c/1")].concat(), big);
    memory.remove("c/1");
    array.write(&"3".parse().unwrap(), &native[33..]).unwrap();
    assert_eq!(stored(&memory, "c/1"), [&[0, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0], &big[33..]].concat());
}

#[test]
fn structures_are_copied_into_the_other_format() {
    let store = Store::memory(&MemoryMedium::new());
    let array = v2(&json!([["a", ">u2"], ["b", "|u1"], ["c", ">c8"]])).create(&store, "v2").unwrap();
    let native = elements(4, ByteOrder::NATIVE, ByteOrder::NATIVE);
    array.write(&Selection::all(), &native).unwrap();
    for (path, zarr_format) in [("v3", ZarrFormat::V3), ("again", ZarrFormat::V2)] {
        let options = CopyOptions { zarr_format: Some(zarr_format), ..CopyOptions::default() };
        array.copy_to(&store, path, &options).unwrap();
        let copy = Array::open_in(&store, path).unwrap();
        assert_eq!(copy.read(&Selection::all()).unwrap().as_bytes(), native, "{path}");
    }
    // v3 has no fields that are arrays.
    let array = v2(&json!([["a", ">u2", [2]]])).create(&store, "of arrays").unwrap();
    let options = CopyOptions { zarr_format: Some(ZarrFormat::V3), ..CopyOptions::default() };
    assert_eq!(array.copy_to(&store, "x", &options).unwrap_err().kind(), ErrorKind::Unsupported);
}

/// Copies by an array in between, whose format has no name for fields that are arrays.
#[test]
fn structures_are_copied_in_two_stages() {
    let store = Store::memory(&MemoryMedium::new());
    let (data_type, _) = DataType::from_v2_json(&json!([["a", ">u2", [2]], ["b", "|u1"]])).unwrap();
    let builder = ArrayBuilder::new(&[200, 300], data_type).zarr_format(ZarrFormat::V2).compressors([]);
    let array = builder.chunk_shape(&[1, 300]).create(&store, "by row").unwrap();
    let native: Vec<u8> =
        (0..200 * 300 * 5u32).map(|number| (number.wrapping_mul(number) / 7).to_le_bytes()[0]).collect();
    array.write(&Selection::all(), &native).unwrap();
    let in_two = |memory_bytes: &u64| {
        let chunk_shape = Some(vec![200, 1]);
        let options = CopyOptions { memory_bytes: *memory_bytes, chunk_shape, ..CopyOptions::default() };
        array.copy_plan(&options).is_ok_and(|plan| plan.stages.len() == 2)
    };
    let memory_bytes = (10..24).map(|bits| 1 << bits).find(in_two).expect("a memory too small for one stage");
    let chunk_shape = Some(vec![200, 1]);
    let options = CopyOptions { memory_bytes, chunk_shape, ..CopyOptions::default() };
    let copy = array.copy_to(&store, "by column", &options).unwrap();
    assert_eq!(copy.read(&Selection::all()).unwrap().as_bytes(), native);
}
