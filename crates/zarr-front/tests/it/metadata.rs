//! Golden documents: zarr-python's own metadata fixtures, and every document of the sample stores.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};
use swath_zarr_front::{
    ArrayCodecs, ArrayMetadata, ChunkKeyEncoding, Consolidated, DataType, Error, ErrorKind, GroupMetadata,
    IndexLocation, NodeMetadata, Separator, ZarrFormat,
};

use crate::corpus;

/// A one-dimensional Zarr v3 array, to put the field under test into.
fn array_v3(changes: Value) -> Value {
    let mut document = json!({
        "zarr_format": 3, "node_type": "array", "shape": [8], "data_type": "int32", "fill_value": 0,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4]}},
        "chunk_key_encoding": {"name": "default"},
        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
    });
    for (field, value) in changes.as_object().unwrap() {
        document[field] = value.clone();
    }
    document
}

fn parse(document: &Value) -> Result<ArrayMetadata, Error> {
    ArrayMetadata::parse_v3(document.to_string().as_bytes(), "zarr.json")
}

/// A refusal must say why in terms of the document.
fn assert_says_why(error: &Error, document: &str) {
    assert!(matches!(error.kind(), ErrorKind::Unsupported | ErrorKind::Invalid), "{error}");
    assert!(error.object().is_some() && 8 < error.message().len(), "{error}");
    let quoted = error.message().split(['`', '"']).nth(1).unwrap_or_else(|| panic!("nothing named: {error}"));
    assert!(
        document.contains(quoted) || error.kind() == ErrorKind::Invalid,
        "`{quoted}` is not in the document: {error}"
    );
}

#[test]
fn array_fixtures_parse_or_name_what_is_missing() {
    let Some(root) = corpus::root() else { return };
    for (folder, format) in [("v2/array", ZarrFormat::V2), ("v3/array", ZarrFormat::V3)] {
        for path in corpus::files(&root.join("metadata_json").join(folder)) {
            let bytes = std::fs::read(&path).unwrap();
            let name = path.file_stem().unwrap().to_str().unwrap();
            let parsed = match format {
                ZarrFormat::V2 => ArrayMetadata::parse_v2(&bytes, None, name),
                ZarrFormat::V3 => ArrayMetadata::parse_v3(&bytes, name),
            };
            let parsed = parsed.unwrap();
            assert_eq!(parsed.zarr_format(), format);
            assert_eq!(parsed.has_regular_grid(), !name.starts_with("rectilinear"), "{name}");
        }
    }
}

#[test]
fn group_and_consolidated_fixtures_parse() {
    let Some(root) = corpus::root().map(|root| root.join("metadata_json")) else { return };
    for path in corpus::files(&root.join("v3/group")) {
        let bytes = std::fs::read(&path).unwrap();
        assert!(matches!(NodeMetadata::parse_v3(&bytes, "zarr.json").unwrap(), NodeMetadata::Group(_)));
    }
    let minimal = std::fs::read(root.join("v2/group/minimal.json")).unwrap();
    assert_eq!(GroupMetadata::parse_v2(&minimal, None, ".zgroup").unwrap().zarr_format(), ZarrFormat::V2);

    let document = json!({
        "zarr_format": 3, "node_type": "group",
        "consolidated_metadata": corpus::json(&root.join("v3/consolidated/with_array_and_group.json")),
    });
    let group = GroupMetadata::parse_v3(document.to_string().as_bytes(), "zarr.json").unwrap();
    let consolidated = group.consolidated().unwrap();
    assert_eq!(consolidated.children().collect::<Vec<_>>(), ["child_array", "child_group"]);
    let array = consolidated.get("child_array").unwrap();
    assert!(array.is_array() && matches!(array.parse("child_array").unwrap(), NodeMetadata::Array(_)));
    let group = consolidated.get("child_group").unwrap();
    assert!(!group.is_array() && matches!(group.parse("child_group").unwrap(), NodeMetadata::Group(_)));

    let bytes = std::fs::read(root.join("v2/consolidated/with_array_and_group.json")).unwrap();
    let consolidated = Consolidated::parse_v2(&bytes, ".zmetadata").unwrap();
    assert_eq!(consolidated.children().collect::<Vec<_>>(), ["data"]);
    let NodeMetadata::Array(array) = consolidated.get("data").unwrap().parse("data").unwrap() else {
        panic!("an array is there");
    };
    assert_eq!((array.shape(), &array.attributes()["units"]), (&[100][..], &json!("meters")));
    let NodeMetadata::Group(root) = consolidated.get("").unwrap().parse("").unwrap() else {
        panic!("a group is there");
    };
    assert_eq!(root.attributes()["description"], "root group attrs");
}

#[test]
fn consolidated_paths_nest() {
    let node = json!({"zarr_format": 3, "node_type": "group"});
    let document = json!({
        "zarr_format": 3, "node_type": "group",
        "consolidated_metadata": {"kind": "inline", "must_understand": false, "metadata": {
            "a": node, "a/b": node, "a/b/c": node, "a-b": node, "broken": 3,
        }},
    });
    let group = GroupMetadata::parse_v3(document.to_string().as_bytes(), "zarr.json").unwrap();
    let all = group.consolidated().unwrap();
    assert_eq!(all.children().collect::<Vec<_>>(), ["a", "a-b", "broken"]);
    let below = all.below("a");
    assert_eq!(below.iter().map(|(path, _)| path).collect::<Vec<_>>(), ["b", "b/c"]);
    assert!(below.get("b").is_some() && below.get("").is_some() && below.get("a").is_none());
    assert_eq!(below.below("b").children().collect::<Vec<_>>(), ["c"]);
    assert_eq!(all.below("").children().count(), 3);
    let error = all.get("broken").unwrap().parse("broken/zarr.json").unwrap_err();
    assert_eq!((error.kind(), error.object()), (ErrorKind::Invalid, Some("broken/zarr.json")));
}

#[test]
fn fill_value_fixtures_parse_for_every_supported_type() {
    let Some(root) = corpus::root().map(|root| root.join("metadata_json/v3/data_type")) else { return };
    let (mut parsed, mut refused) = (0, 0);
    for path in corpus::files(&root).iter().filter(|path| path.ends_with("fill_values.json")) {
        let folder = path.parent().unwrap();
        let data_type = match folder.file_name().unwrap().to_str().unwrap() {
            "raw" => json!("r32"),
            name if folder.join("data_type.json").exists() => {
                assert!(name.starts_with("numpy") || name == "struct");
                corpus::json(&folder.join("data_type.json"))
            }
            name => json!(name),
        };
        for (case, fill_value) in corpus::json(path).as_object().unwrap() {
            let mut changes = json!({"data_type": data_type, "fill_value": fill_value});
            let is_variable = match data_type.as_str() {
                Some("string") => Some("vlen-utf8"),
                Some("bytes") => Some("vlen-bytes"),
                _ => None,
            };
            if let Some(codec) = is_variable {
                changes["codecs"] = json!([{"name": codec}]);
            }
            match parse(&array_v3(changes)) {
                Ok(array) => {
                    parsed += 1;
                    if is_variable.is_none() {
                        assert_eq!(
                            array.fill_value().bytes().len(),
                            array.data_type().size_bytes(),
                            "{case}"
                        );
                    }
                    if !case.contains("hex") && data_type != "r32" && case != "tuple" {
                        assert_eq!(&array.fill_value().to_json(), fill_value, "{data_type} {case}");
                    }
                }
                Err(error) => {
                    refused += 1;
                    assert_eq!(error.kind(), ErrorKind::Unsupported, "{data_type} {case}: {error}");
                }
            }
        }
    }
    eprintln!("fill values: {parsed} parsed, {refused} of unsupported data types");
    assert!(50 <= parsed && refused <= 12, "{parsed} parsed, {refused} refused");
}

#[test]
fn grid_and_key_fixtures_parse() {
    let Some(root) = corpus::root().map(|root| root.join("metadata_json/v3")) else { return };
    for (case, chunk_grid) in corpus::json(&root.join("chunk_grid/regular/cases.json")).as_object().unwrap() {
        let chunk_shape = chunk_grid["configuration"]["chunk_shape"].clone();
        let array = parse(&array_v3(json!({"shape": chunk_shape, "chunk_grid": chunk_grid}))).unwrap();
        assert_eq!(json!(array.chunk_shape()), chunk_shape, "{case}");
    }
    for (name, cases) in [("default", 4), ("v2", 4)] {
        let path = root.join("chunk_key_encoding").join(name).join("cases.json");
        assert_eq!(corpus::json(&path).as_object().unwrap().len(), cases);
        for (case, encoding) in corpus::json(&path).as_object().unwrap() {
            let array = parse(&array_v3(json!({"chunk_key_encoding": encoding}))).unwrap();
            let separator = match (case.as_str(), name) {
                ("slash_separator", _) | ("no_configuration" | "short_hand_name", "default") => {
                    Separator::Slash
                }
                _ => Separator::Dot,
            };
            let expected = match name {
                "v2" => ChunkKeyEncoding::V2 { separator },
                _ => ChunkKeyEncoding::Default { separator },
            };
            assert_eq!(array.chunk_key_encoding(), &expected, "{name} {case}");
        }
    }
}

#[test]
fn codec_fixtures_parse() {
    let Some(root) = corpus::root().map(|root| root.join("metadata_json/v3/codec")) else { return };
    let bytes = json!({"name": "bytes", "configuration": {"endian": "little"}});
    for path in corpus::files(&root) {
        let codec = path.parent().unwrap().file_name().unwrap().to_str().unwrap().to_owned();
        for (case, entry) in corpus::json(&path).as_object().unwrap() {
            let mut changes = match codec.as_str() {
                "bytes" => json!({"codecs": [entry], "data_type": "uint8"}),
                "transpose" => json!({"codecs": [entry, bytes]}),
                // Their numbers, 0.1 and NaN among them, are of the array's data type.
                "cast_value" | "scale_offset" => json!({"codecs": [entry, bytes], "data_type": "float64"}),
                "sharding_indexed" => json!({"codecs": [entry]}),
                _ => json!({"codecs": [bytes, entry]}),
            };
            let shape = match codec.as_str() {
                "transpose" => json!([2, 3, 4]),
                "sharding_indexed" => entry["configuration"]["chunk_shape"].clone(),
                _ => json!([4]),
            };
            changes["shape"] = shape.clone();
            changes["chunk_grid"] = json!({"name": "regular", "configuration": {"chunk_shape": shape}});
            match parse(&array_v3(changes)) {
                Ok(array) => {
                    assert_eq!(
                        matches!(array.codecs(), ArrayCodecs::Sharding(_)),
                        codec == "sharding_indexed"
                    );
                }
                Err(error) => {
                    assert!(
                        matches!(codec.as_str(), "cast_value" | "scale_offset"),
                        "{codec} {case}: {error}"
                    );
                    assert_eq!(error.kind(), ErrorKind::Unsupported, "{codec} {case}: {error}");
                    assert!(error.message().contains(&codec), "{error}");
                }
            }
        }
    }
}

/// What `expected.json` calls the data type, in this crate's names; other readers wrote it in several ways.
fn expected_name(dtype: &str) -> String {
    let name = dtype.strip_prefix("DataType('").and_then(|rest| rest.strip_suffix("')")).unwrap_or(dtype);
    match name {
        "complex_float32" => "complex64".to_owned(),
        "complex_float64" => "complex128".to_owned(),
        "StringDType()" => "string".to_owned(),
        "zarrs.optional" => "optional".to_owned(),
        name if name.starts_with("datetime64") || name.starts_with("timedelta64") => {
            format!("numpy.{}", name.split('[').next().unwrap())
        }
        name if name.starts_with(['<', '>', '|']) => match DataType::from_v2(name) {
            Ok((data_type, _)) => data_type.name().into_owned(),
            Err(_) => name.to_owned(),
        },
        name => name.to_owned(),
    }
}

/// Compares with what zarr-python, tensorstore or zarrs said; `false` where they said nothing.
fn check_expected(array: &ArrayMetadata, key: &str, expected: &Value) -> bool {
    let Some(entry) = expected["zarr"].get(key) else {
        eprintln!("not in expected.json: {key}");
        return false;
    };
    assert_eq!(json!(array.shape()), entry["shape"], "{key}");
    if let Some(dtype) = entry["dtype"].as_str() {
        assert_eq!(array.data_type().name(), expected_name(dtype), "{key}");
    }
    let codec = &entry["codec"];
    let chunk_shape = codec.get("chunks").unwrap_or(&codec["chunk_grid"]["configuration"]["chunk_shape"]);
    assert_eq!(&json!(array.chunk_shape()), chunk_shape, "{key}");
    true
}

fn parse_stored(path: &Path) -> Result<Option<ArrayMetadata>, Error> {
    let bytes = std::fs::read(path).unwrap();
    let object = path.display().to_string();
    let attributes = std::fs::read(path.with_file_name(".zattrs")).ok();
    match path.file_name().unwrap().to_str().unwrap() {
        "zarr.json" => match NodeMetadata::parse_v3(&bytes, &object)? {
            NodeMetadata::Array(array) => Ok(Some(*array)),
            NodeMetadata::Group(group) => {
                group.consolidated().map_or(Ok(()), parse_consolidated)?;
                Ok(None)
            }
        },
        ".zarray" => ArrayMetadata::parse_v2(&bytes, attributes.as_deref(), &object).map(Some),
        ".zgroup" => GroupMetadata::parse_v2(&bytes, attributes.as_deref(), &object).map(|_| None),
        _ => parse_consolidated(&Consolidated::parse_v2(&bytes, &object)?).map(|()| None),
    }
}

/// Every node of `consolidated` parses, or says which type or codec is missing.
fn parse_consolidated(consolidated: &Consolidated) -> Result<(), Error> {
    for (path, node) in consolidated.iter() {
        match node.parse(path) {
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::Unsupported => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[test]
fn every_document_of_the_sample_stores_parses_or_says_why() {
    let Some(root) = corpus::root() else { return };
    let expected = corpus::json(&root.join("expected.json"));
    let (mut arrays, mut others, mut compared) = (0, 0, 0);
    let mut refused: BTreeMap<String, u32> = BTreeMap::new();
    for path in ["zarr_v2", "zarr_v3"].iter().flat_map(|folder| corpus::files(&root.join(folder))) {
        let name = path.file_name().unwrap().to_str().unwrap();
        if !matches!(name, "zarr.json" | ".zarray" | ".zgroup" | ".zmetadata") {
            continue;
        }
        match parse_stored(&path) {
            Ok(Some(array)) => {
                arrays += 1;
                let key = path.parent().unwrap().strip_prefix(&root).unwrap().to_str().unwrap();
                compared += u32::from(check_expected(&array, key, &expected));
            }
            Ok(None) => others += 1,
            Err(error) => {
                assert_says_why(&error, &std::fs::read_to_string(&path).unwrap());
                *refused.entry(format!("{:?}: {}", error.kind(), error.message())).or_default() += 1;
            }
        }
    }
    for (reason, count) in &refused {
        eprintln!("{count:4} {reason}");
    }
    let refusals: u32 = refused.values().sum();
    eprintln!(
        "{arrays} arrays ({compared} compared with expected.json), {others} other documents, {refusals} refused"
    );
    assert!(refused.keys().all(|reason| reason.starts_with("Unsupported")), "the stores are valid");
    assert!(190 <= arrays && 20 <= others && 180 <= compared, "{arrays} {others} {compared}");
}

/// From `zarr_v2/netcdf_c_zips`, which are archives: `ref_byte.zarr/byte` and `ref_power_901_constants/FRLAKE`.
#[test]
fn documents_of_netcdf_c_parse() {
    let document = b"{\n  \"chunks\":[\n    20,\n    20\n  ],\n  \"compressor\":null,\n  \"dtype\":\"|u1\",\n  \"fill_value\":0,\n  \"filters\":null,\n  \"order\":\"C\",\n  \"shape\":[\n    20,\n    20\n  ],\n  \"zarr_format\":2\n}\n";
    let array = ArrayMetadata::parse_v2(document, Some(b"{\n}\n"), "byte/.zarray").unwrap();
    assert_eq!((array.shape(), array.data_type()), (&[20, 20][..], &DataType::UInt8));
    let document = br#"{"chunks": [30, 30], "compressor": {"blocksize": 0, "clevel": 5, "cname": "lz4", "id": "blosc",
        "shuffle": 1}, "dtype": "<f4", "fill_value": "NaN", "filters": null, "order": "C", "shape": [361, 576],
        "zarr_format": 2, "_nczarr_array": {"dimrefs": ["/lat", "/lon"], "storage": "chunked"}}"#;
    let attributes =
        br#"{"_ARRAY_DIMENSIONS": ["lat", "lon"], "fmissing_value": 999999986991104.0, "bad": NaN,
        "valid_range": [-Infinity, Infinity]}"#;
    let array = ArrayMetadata::parse_v2(document, Some(attributes), "FRLAKE/.zarray").unwrap();
    assert_eq!(array.fill_value().bytes(), f32::NAN.to_ne_bytes());
    let names = [Some("lat".to_owned()), Some("lon".to_owned())];
    assert_eq!(array.dimension_names(), Some(&names[..]));
    assert_eq!(array.attributes()["valid_range"], json!(["-Infinity", "Infinity"]));
    assert_eq!(array.document()["_nczarr_array"]["storage"], "chunked");
}

#[test]
fn shards_nest_and_keep_what_stands_around_them() {
    let bytes = json!({"name": "bytes", "configuration": {"endian": "little"}});
    let sharding = |chunk_shape: Value, codecs: Value| {
        json!({"name": "sharding_indexed", "configuration": {
            "chunk_shape": chunk_shape, "codecs": codecs, "index_codecs": [bytes, {"name": "crc32c"}],
            "index_location": "start",
        }})
    };
    let inner = sharding(json!([2, 4]), json!([bytes, {"name": "gzip", "configuration": {"level": 1}}]));
    let outer = sharding(json!([6, 4]), json!([inner]));
    let transpose = json!({"name": "transpose", "configuration": {"order": [1, 0]}});
    let document = array_v3(json!({
        "shape": [100, 100],
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [8, 12]}},
        "codecs": [transpose, outer, {"name": "crc32c"}],
    }));
    let array = parse(&document).unwrap();
    let ArrayCodecs::Sharding(outer) = array.codecs() else { panic!("sharded") };
    assert_eq!((outer.chunk_shape.as_slice(), outer.index_location), (&[6, 4][..], IndexLocation::Start));
    assert_eq!((outer.transposes.len(), outer.index_codecs.len(), outer.outer.len()), (1, 2, 1));
    let ArrayCodecs::Sharding(inner) = &outer.codecs else { panic!("sharded twice") };
    assert_eq!(inner.chunk_shape, [2, 4]);
    assert!(matches!(&inner.codecs, ArrayCodecs::Chain(chain) if chain.len() == 2));
}
