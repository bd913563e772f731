//! Tables of what scans find.

use crate::{corpus, made};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field as Cell;
use swath_convert::{FieldTable, ScanOptions, record};

/// Every column says what the line of JSON says, of messages of both editions and of damages.
#[test]
fn a_table_says_what_the_lines_of_json_say() {
    let mut broken = made::small();
    let end = broken.len() - 1;
    broken[end] = b'8';
    let bytes = [made::edition1(&[1, 2, 3, 4, 5, 6]), made::small(), broken, made::small()].concat();
    let found = corpus::found_in(&[corpus::object(bytes)], &ScanOptions::default()).unwrap().remove(0);
    let mut table = FieldTable::new(Vec::new()).unwrap();
    found.iter().for_each(|found| table.push("a.grib", found).unwrap());
    let reader = SerializedFileReader::new(bytes::Bytes::from(table.finish().unwrap())).unwrap();
    let rows: Vec<_> = reader.get_row_iter(None).unwrap().map(Result::unwrap).collect();
    assert_eq!((rows.len(), found.len()), (4, 4));
    for (row, found) in rows.iter().zip(&found) {
        let line = record("a.grib", found);
        let cell = |wanted: &str| {
            row.get_column_iter().find(|(name, _)| *name == wanted).map(|(_, cell)| cell.clone()).unwrap()
        };
        let integer = |name: &str| match cell(name) {
            Cell::Long(value) => Some(value),
            Cell::Null => None,
            other => panic!("{name} is {other:?}"),
        };
        let text = |name: &str| match cell(name) {
            Cell::Str(value) => Some(value),
            Cell::Null => None,
            other => panic!("{name} is {other:?}"),
        };
        for name in ["file", "time", "packing"] {
            assert_eq!(text(name).as_deref(), line[name].as_str(), "{name}");
        }
        for name in ["offset", "length", "field", "edition", "centre", "bits", "data_offset", "data_length"] {
            assert_eq!(integer(name), line[name].as_i64(), "{name}");
        }
        for name in ["discipline", "category", "number", "table", "indicator"] {
            assert_eq!(integer(name), line["parameter"][name].as_i64(), "{name}");
        }
        for name in ["points", "columns", "rows"] {
            assert_eq!(integer(name), line["grid"][name].as_i64(), "{name}");
        }
        assert_eq!(integer("level_type"), line["level"]["type"].as_i64());
        assert_eq!(integer("step_seconds"), line["step"]["seconds"].as_i64());
        assert_eq!(text("grid").as_deref(), line["grid"]["kind"].as_str());
        let level = match cell("level") {
            Cell::Double(value) => Some(value),
            _ => None,
        };
        assert_eq!(level, line["level"]["value"].as_f64());
        let damage = line["damage"].as_str();
        assert_eq!(
            text("damage").is_some_and(|text| text.starts_with(damage.unwrap_or("-"))),
            damage.is_some()
        );
    }
}
