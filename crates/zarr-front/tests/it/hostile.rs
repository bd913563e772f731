//! Documents that break the rules: each one is refused, with its kind, naming what is wrong.

use serde_json::{Value, json};
use swath_zarr_front::{
    ArrayCodecs, ArrayMetadata, Consolidated, Error, ErrorKind, GroupMetadata, NodeMetadata,
};

fn valid_v3() -> Value {
    json!({
        "zarr_format": 3, "node_type": "array", "shape": [8, 8], "data_type": "int32", "fill_value": 0,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4, 4]}},
        "chunk_key_encoding": {"name": "default"},
        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
    })
}

fn valid_v2() -> Value {
    json!({
        "zarr_format": 2, "shape": [8, 8], "chunks": [4, 4], "dtype": "<i4", "compressor": null, "filters": null,
        "fill_value": 0, "order": "C",
    })
}

fn parse_v3(document: &Value) -> Result<ArrayMetadata, Error> {
    ArrayMetadata::parse_v3(document.to_string().as_bytes(), "zarr.json")
}

fn parse_v2(document: &Value) -> Result<ArrayMetadata, Error> {
    ArrayMetadata::parse_v2(document.to_string().as_bytes(), None, ".zarray")
}

/// Checks that `valid` with `field` set to each of `values` is refused as `kind`, with a message that has `says`.
fn check(
    valid: &Value,
    parse: fn(&Value) -> Result<ArrayMetadata, Error>,
    kind: ErrorKind,
    cases: &[(&str, Value, &str)],
) {
    parse(valid).unwrap();
    for (field, value, says) in cases {
        let mut document = valid.clone();
        document[field] = value.clone();
        let error = parse(&document).map(|_| ()).expect_err(&format!("{field}: {value}"));
        assert_eq!(error.kind(), kind, "{field}: {value}: {error}");
        assert!(error.to_string().contains(says), "{field}: {value}: {error}");
        assert!(!error.to_string().contains('\n') && error.object().is_some(), "{error}");
    }
}

fn regular(chunk_shape: Value) -> Value {
    json!({"name": "regular", "configuration": {"chunk_shape": chunk_shape}})
}

#[test]
fn v3_fields_of_the_wrong_type_or_value_are_invalid() {
    let cases = [
        ("zarr_format", json!("3"), "zarr_format"),
        ("zarr_format", json!(2), "zarr_format"),
        ("node_type", json!("group"), "node_type"),
        ("shape", json!(8), "shape"),
        ("shape", json!([8, -1]), "shape"),
        ("shape", json!([8, 1.5]), "shape"),
        ("shape", json!([8, 1e20]), "shape"),
        ("shape", json!([8, "8"]), "shape"),
        ("shape", json!([8]), "chunk_shape"),
        ("shape", json!([1_u64 << 40, 1_u64 << 40]), "2^64"),
        ("data_type", json!(4), "data type"),
        ("data_type", json!({"configuration": {}}), "data type"),
        ("chunk_grid", json!(null), "chunk_grid"),
        ("chunk_grid", json!("regular"), "chunk_grid"),
        ("chunk_grid", regular(json!([4, 0])), "without a 0"),
        ("chunk_grid", regular(json!([4])), "dimensions"),
        ("chunk_grid", regular(json!("4")), "chunk_shape"),
        ("chunk_grid", regular(json!([1_u64 << 40, 1_u64 << 40])), "2^64"),
        ("chunk_grid", regular(json!([1_u64 << 32, 1_u64 << 31])), "bytes"),
        ("chunk_key_encoding", json!({"name": "default", "configuration": {"separator": "-"}}), "separator"),
        ("chunk_key_encoding", json!({"name": "default", "configuration": []}), "chunk_key_encoding"),
        ("fill_value", json!(null), "fill_value"),
        ("fill_value", json!(1_u64 << 31), "fill_value"),
        ("attributes", json!([]), "attributes"),
        ("dimension_names", json!(["x"]), "dimension_names"),
        ("dimension_names", json!(["x", 1]), "dimension_names"),
        ("storage_transformers", json!({}), "storage_transformers"),
        ("codecs", json!({}), "codecs"),
        ("codecs", json!([]), "array-to-bytes"),
        ("codecs", json!([3]), "codecs"),
        ("codecs", json!([{"configuration": {}}]), "codecs"),
    ];
    check(&valid_v3(), parse_v3, ErrorKind::Invalid, &cases);
    for field in
        ["zarr_format", "node_type", "shape", "data_type", "chunk_grid", "chunk_key_encoding", "codecs"]
    {
        let mut document = valid_v3();
        document.as_object_mut().unwrap().remove(field);
        let error = parse_v3(&document).unwrap_err();
        assert!(error.kind() == ErrorKind::Invalid && error.message().contains(field), "{error}");
    }
}

#[test]
fn v3_extensions_are_named_or_ignored_as_they_ask() {
    let cases = [
        ("data_type", json!("int3"), "`int3`"),
        ("chunk_grid", json!({"name": "hexagonal"}), "`hexagonal`"),
        ("chunk_key_encoding", json!({"name": "fanout"}), "`fanout`"),
        ("storage_transformers", json!([{"name": "manifest"}]), "`manifest`"),
        ("codecs", json!(["imaginary"]), "imaginary"),
        ("extra", json!({"must_understand": true}), "`extra`"),
        ("extra", json!({"name": "x"}), "`extra`"),
        ("extra", json!(1), "`extra`"),
        ("shape", json!(vec![1; 65]), "65 dimensions"),
    ];
    check(&valid_v3(), parse_v3, ErrorKind::Unsupported, &cases);
    let mut document = valid_v3();
    document["extra"] = json!({"must_understand": false});
    document["storage_transformers"] = json!([]);
    document["dimension_names"] = json!([null, "x"]);
    let array = parse_v3(&document).unwrap();
    assert_eq!(array.dimension_names(), Some(&[None, Some("x".to_owned())][..]));
    assert_eq!(array.document(), &document);
}

#[test]
fn chains_out_of_order_are_invalid() {
    let bytes = json!({"name": "bytes", "configuration": {"endian": "little"}});
    let transpose = |order: Value| json!({"name": "transpose", "configuration": {"order": order}});
    let cases = [
        ("codecs", json!([bytes, bytes]), "found 2"),
        ("codecs", json!([{"name": "crc32c"}]), "found 0"),
        ("codecs", json!([{"name": "crc32c"}, bytes]), "order"),
        ("codecs", json!([bytes, transpose(json!([1, 0]))]), "order"),
        ("codecs", json!([transpose(json!([0])), bytes]), "permutation"),
        ("codecs", json!([transpose(json!([2, 0, 1])), bytes]), "permutation"),
        ("codecs", json!(["bytes"]), "endian"),
    ];
    check(&valid_v3(), parse_v3, ErrorKind::Invalid, &cases);
}

fn sharding(changes: Value) -> Value {
    let bytes = json!({"name": "bytes", "configuration": {"endian": "little"}});
    let mut configuration = json!({
        "chunk_shape": [2, 2], "codecs": [bytes], "index_codecs": [bytes, {"name": "crc32c"}], "index_location": "end",
    });
    for (field, value) in changes.as_object().unwrap() {
        configuration[field] = value.clone();
    }
    json!({"name": "sharding_indexed", "configuration": configuration})
}

#[test]
fn broken_shards_are_refused() {
    let one = sharding(json!({}));
    let gzip = json!({"name": "gzip", "configuration": {"level": 1}});
    let bytes = json!({"name": "bytes", "configuration": {"endian": "little"}});
    let cases = [
        ("codecs", json!([sharding(json!({"chunk_shape": [3, 2]}))]), "divisor"),
        ("codecs", json!([sharding(json!({"chunk_shape": [8, 2]}))]), "divisor"),
        ("codecs", json!([sharding(json!({"chunk_shape": [0, 2]}))]), "without a 0"),
        ("codecs", json!([sharding(json!({"chunk_shape": [2]}))]), "dimensions"),
        ("codecs", json!([sharding(json!({"codecs": []}))]), "array-to-bytes"),
        ("codecs", json!([sharding(json!({"codecs": 1}))]), "codecs"),
        ("codecs", json!([sharding(json!({"index_codecs": []}))]), "index_codecs"),
        ("codecs", json!([sharding(json!({"index_codecs": ["bytes"]}))]), "endian"),
        ("codecs", json!([sharding(json!({"index_location": "middle"}))]), "index_location"),
        ("codecs", json!([one, one]), "two"),
        ("codecs", json!([gzip, one]), "gzip"),
        ("codecs", json!([one, bytes]), "bytes"),
        ("codecs", json!(["sharding_indexed"]), "configuration"),
    ];
    check(&valid_v3(), parse_v3, ErrorKind::Invalid, &cases);
    let cases =
        [("codecs", json!([sharding(json!({"index_codecs": [bytes, gzip]}))]), "`gzip` in `index_codecs`")];
    check(&valid_v3(), parse_v3, ErrorKind::Unsupported, &cases);
    let mut nested = sharding(json!({}));
    for _ in 0..8 {
        nested = sharding(json!({"codecs": [nested]}));
    }
    check(
        &valid_v3(),
        parse_v3,
        ErrorKind::Unsupported,
        &[("codecs", json!([nested]), "nested more than 8")],
    );
}

#[test]
fn v2_fields_of_the_wrong_type_or_value_are_invalid() {
    let cases = [
        ("zarr_format", json!(3), "zarr_format"),
        ("shape", json!(null), "shape"),
        ("chunks", json!([4]), "chunks"),
        ("chunks", json!([4, 0]), "without a 0"),
        ("chunks", json!(true), "chunks"),
        ("dtype", json!(4), "dtype"),
        ("dtype", json!("i4"), "dtype"),
        ("order", json!("A"), "order"),
        ("order", json!(null), "order"),
        ("filters", json!({}), "filters"),
        ("fill_value", json!("x"), "fill_value"),
        ("fill_value", json!(1e10), "fill_value"),
        ("dimension_separator", json!("_"), "dimension_separator"),
    ];
    check(&valid_v2(), parse_v2, ErrorKind::Invalid, &cases);
    let cases = [
        ("dtype", json!("<f16"), "<f16"),
        ("dtype", json!([["x", "<f4"], ["y", "|O"]]), "|O"),
        ("dtype", json!("|O"), "object codec"),
        ("compressor", json!({"id": "imaginary"}), "imaginary"),
        ("filters", json!([{"id": "imaginary"}]), "imaginary"),
    ];
    check(&valid_v2(), parse_v2, ErrorKind::Unsupported, &cases);
    let error =
        ArrayMetadata::parse_v2(valid_v2().to_string().as_bytes(), Some(b"[]"), ".zarray").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
}

#[test]
fn v2_leniency_ends_where_it_should() {
    let mut document = valid_v2();
    document["shape"] = json!([0, 8]);
    document["chunks"] = json!([0, 4]);
    assert_eq!(parse_v2(&document).unwrap().chunk_shape(), [1, 4]);
    document["order"] = json!("F");
    document["fill_value"] = json!(null);
    document["unknown"] = json!(1);
    let array = parse_v2(&document).unwrap();
    assert!(matches!(array.codecs(), ArrayCodecs::Chain(chain) if chain.len() == 2));
    assert_eq!(array.fill_value().bytes(), [0; 4]);
    assert_eq!(array.dimension_names(), None);
}

#[test]
fn documents_that_are_no_json_objects_are_invalid() {
    let deep = "[".repeat(200_000);
    let deep_object = "{\"a\":".repeat(200_000);
    let duplicate = r#"{"zarr_format": 2, "zarr_format": 2}"#;
    let texts = [
        "",
        "null",
        "[]",
        "3",
        "\"x\"",
        "{",
        "\u{0}",
        duplicate,
        &deep,
        &deep_object,
        "{\"zarr_format\": 1e999}",
    ];
    for text in texts {
        let errors = [
            ArrayMetadata::parse_v3(text.as_bytes(), "o").unwrap_err(),
            ArrayMetadata::parse_v2(text.as_bytes(), None, "o").unwrap_err(),
            GroupMetadata::parse_v3(text.as_bytes(), "o").unwrap_err(),
            GroupMetadata::parse_v2(text.as_bytes(), None, "o").unwrap_err(),
            NodeMetadata::parse_v3(text.as_bytes(), "o").unwrap_err(),
            Consolidated::parse_v2(text.as_bytes(), "o").unwrap_err(),
        ];
        for error in errors {
            assert_eq!((error.kind(), error.object()), (ErrorKind::Invalid, Some("o")), "{error}");
            assert!(error.to_string().len() < 400, "{error}");
        }
    }
}

#[test]
fn groups_refuse_what_they_must() {
    let parse = |document: Value| GroupMetadata::parse_v3(document.to_string().as_bytes(), "zarr.json");
    let group = |consolidated: Value| json!({"zarr_format": 3, "node_type": "group", "consolidated_metadata": consolidated});
    assert!(parse(group(json!(null))).unwrap().consolidated().is_none());
    assert!(
        parse(group(json!({"kind": "other", "must_understand": false}))).unwrap().consolidated().is_none()
    );
    let other = parse(group(json!({"kind": "other"}))).unwrap_err();
    assert!(other.kind() == ErrorKind::Unsupported && other.message().contains("\"other\""), "{other}");
    assert_eq!(parse(group(json!(3))).unwrap_err().kind(), ErrorKind::Invalid);
    assert_eq!(parse(group(json!({"kind": "inline"}))).unwrap_err().kind(), ErrorKind::Invalid);
    let extra = parse(json!({"zarr_format": 3, "node_type": "group", "extra": 1})).unwrap_err();
    assert!(extra.kind() == ErrorKind::Unsupported && extra.message().contains("`extra`"), "{extra}");
    assert_eq!(
        parse(json!({"zarr_format": 3, "node_type": "array"})).unwrap_err().kind(),
        ErrorKind::Invalid
    );
    let node = NodeMetadata::parse_v3(br#"{"zarr_format": 3, "node_type": "table"}"#, "o").unwrap_err();
    assert!(node.kind() == ErrorKind::Invalid && node.message().contains("table"), "{node}");

    let parse = |text: &str| Consolidated::parse_v2(text.as_bytes(), ".zmetadata").unwrap_err().kind();
    assert_eq!(parse(r#"{"zarr_consolidated_format": 2, "metadata": {}}"#), ErrorKind::Unsupported);
    assert_eq!(parse(r#"{"metadata": {}}"#), ErrorKind::Invalid);
    assert_eq!(parse(r#"{"zarr_consolidated_format": 1, "metadata": []}"#), ErrorKind::Invalid);
    let text =
        br#"{"zarr_consolidated_format": 1, "metadata": {"a/.zattrs": {}, "b/.zarray": 3, "x/other": 1}}"#;
    let consolidated = Consolidated::parse_v2(text, ".zmetadata").unwrap();
    assert_eq!(consolidated.get("a").unwrap().parse("a").unwrap_err().kind(), ErrorKind::Invalid);
    assert_eq!(consolidated.get("b").unwrap().parse("b").unwrap_err().kind(), ErrorKind::Invalid);
    assert!(consolidated.get("x").is_none());
}
