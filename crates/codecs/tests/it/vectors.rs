//! What other implementations make of given elements: `tests/vectors`.

use serde_json::{Value, json};
use swath_codecs::{Chain, ChunkLayout, Codec, Element, NumberType, Scratch};

use crate::fixtures::codecs_of;

fn bytes(hex: &Value) -> Vec<u8> {
    let hex = hex.as_str().unwrap();
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

#[test]
fn numcodecs_encodes_and_decodes_the_same() {
    let entries: Value = serde_json::from_str(include_str!("../vectors/numcodecs.json")).unwrap();
    let mut scratch = Scratch::default();
    for entry in entries.as_array().unwrap() {
        let (number, _) = NumberType::from_numpy(entry["dtype"].as_str().unwrap()).unwrap();
        let source = bytes(&entry["source"]);
        let elements = source.len() / number.size_bytes();
        let layout = ChunkLayout { shape: vec![elements as u64], element: Element::number(number) };
        let chain = Chain::compile(&codecs_of(Codec::from_v2(&entry["codec"]).unwrap()), &layout).unwrap();

        let mut encoded = Vec::new();
        chain.encode(&source, &mut encoded, &mut scratch).unwrap();
        assert_eq!(encoded, bytes(&entry["encoded"]), "{} {}", entry["codec"], entry["dtype"]);
        let mut decoded = vec![0; chain.decoded_len()];
        chain.decode_into(&encoded, &mut decoded, &mut scratch).unwrap();
        assert_eq!(decoded, bytes(&entry["decoded"]), "{} {}", entry["codec"], entry["dtype"]);
    }
}

#[test]
fn cast_value_rs_casts_the_same() {
    let entries: Value = serde_json::from_str(include_str!("../vectors/cast_value.json")).unwrap();
    let mut scratch = Scratch::default();
    let (mut compared, mut different) = (0, Vec::new());
    for entry in entries.as_array().unwrap() {
        let [from, to] =
            ["from", "to"].map(|end| NumberType::from_numpy(entry[end].as_str().unwrap()).unwrap().0);
        let configuration = json!({
            "data_type": to.name(), "rounding": entry["rounding"], "out_of_range": entry["out_of_range"],
        });
        let cast = Codec::from_v3("cast_value", &configuration).unwrap();
        let layout = ChunkLayout { shape: vec![], element: Element::number(from) };
        let chain = Chain::compile(&codecs_of(cast), &layout).unwrap();
        let values = bytes(&entry["values"]);
        for (value, stored) in values.chunks(from.size_bytes()).zip(entry["stored"].as_array().unwrap()) {
            let mut found = Vec::new();
            let found = chain.encode(value, &mut found, &mut scratch).ok().map(|()| found);
            let wanted = stored.as_str().map(|_| bytes(stored));
            if found != wanted {
                different.push(format!(
                    "{from:?} {value:02x?} {configuration}: wanted {wanted:02x?}, found {found:02x?}"
                ));
            }
            compared += 1;
        }
    }
    assert!(
        different.is_empty(),
        "{} of {compared}:\n{}",
        different.len(),
        different[..40.min(different.len())].join("\n")
    );
}
