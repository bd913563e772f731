//! Images in EUMETSAT's native format: files that an independent writer made, and what satpy reads of them.
//!
//! `tests/nat/make_fixtures.py` wrote both.

use crate::corpus::object;
use serde_json::Value;
use std::path::Path;
use swath_convert::nat::{Channel, CoefficientSet, Header, Quantity, Region};
use swath_convert::{DamageKind, ErrorKind};
use swath_ioengine::{Engine, ObjectRef};

/// Bytes before the first record of files with product headers.
pub(crate) const DATA: usize = 450_400;

fn unzipped(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/nat").join(name);
    let packed = std::fs::read(path).unwrap();
    let len = u32::from_le_bytes(*packed.last_chunk().unwrap());
    let mut bytes = vec![0; usize::try_from(len).unwrap()];
    libdeflater::Decompressor::new().gzip_decompress(&packed, &mut bytes).unwrap();
    bytes
}

/// The bytes of a file of the fixtures.
pub(crate) fn file(case: &str) -> Vec<u8> {
    unzipped(&format!("{case}.nat.gz"))
}

/// What satpy reads of it: a description, and values.
fn expected(case: &str) -> (Value, Vec<f32>) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/nat/expected.json");
    let all: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let floats = unzipped(&format!("{case}.f32.gz"));
    let floats = floats.chunks_exact(4).map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap())).collect();
    (all[case].clone(), floats)
}

/// A number of JSON.
fn number(value: &Value) -> usize {
    usize::try_from(value.as_u64().unwrap()).unwrap()
}

fn opened(case: &str) -> (Header, ObjectRef) {
    let object = object(file(case));
    let header = Header::read(&Engine::global(), &object).unwrap();
    assert_eq!(header, Header::of_bytes(&file(case)).unwrap());
    (header, object)
}

const CASES: [&str; 4] = ["part", "old", "rapid", "split"];

/// The columns of a row of the broad channel that it saw: satpy gives those alone.
fn seen(header: &Header, row: u32) -> (usize, usize) {
    let grid = header.grid(Channel::Hrv);
    let line = grid.south + grid.rows - 1 - row;
    let window = header.windows().iter().find(|window| window.has_line(line)).unwrap();
    let last = grid.east + grid.columns - 1;
    ((last - window.west) as usize, (last - window.west + window.width()) as usize)
}

/// Values as they should be, but for how satpy computes them: in 32 bits throughout.
fn is_near(found: f32, wanted: f32, quantity: &str) -> bool {
    let close = match quantity {
        "counts" => 0.0,
        "radiance" => 2e-5,
        "reflectance" => 1e-4,
        _ => 0.02,
    };
    // Temperatures of no radiance: satpy has them a little below zero, or of no meaning.
    let is_dark = quantity == "brightness_temperature" && found.is_nan() && wanted < 50.0;
    (found.is_nan() && wanted.is_nan()) || (found - wanted).abs() <= close || is_dark
}

#[test]
fn values_are_those_that_satpy_reads() {
    for case in CASES {
        let (header, object) = opened(case);
        let (described, floats) = expected(case);
        let mut compared = 0;
        for array in described["arrays"].as_array().unwrap() {
            let channel = Channel::of_name(array["channel"].as_str().unwrap()).unwrap();
            let quantity = array["quantity"].as_str().unwrap();
            let image = header.read_region(&Engine::global(), &object, &header.whole(channel)).unwrap();
            assert_eq!(image.damages, [], "{case}");
            let (rows, columns) = (&array["shape"][0], number(&array["shape"][1]));
            assert_eq!(image.rows, number(rows), "{case} {channel:?}");
            let table: Vec<f32> = match quantity {
                "counts" => {
                    (0..1024u16).map(|count| if count == 0 { f32::NAN } else { f32::from(count) }).collect()
                }
                "radiance" => {
                    header.calibrated(channel, Quantity::Radiance, CoefficientSet::Nominal).unwrap()
                }
                _ => header
                    .calibrated(channel, Quantity::ReflectanceOrTemperature, CoefficientSet::Nominal)
                    .unwrap(),
            };
            let at = number(&array["at"]);
            for row in 0..image.rows {
                let whole = &image.counts[row * image.columns..][..image.columns];
                let is_hrv = channel == Channel::Hrv;
                let (start, end) =
                    if is_hrv { seen(&header, u32::try_from(row).unwrap()) } else { (0, image.columns) };
                assert_eq!(end - start, columns, "{case} {channel:?}");
                assert!(whole[..start].iter().chain(&whole[end..]).all(|count| *count == 0));
                let wanted = &floats[at + row * columns..][..columns];
                for (count, wanted) in whole[start..end].iter().zip(wanted) {
                    let found = table[usize::from(*count)];
                    assert!(
                        is_near(found, *wanted, quantity),
                        "{case} {channel:?} {quantity}: {found} {wanted}"
                    );
                    compared += 1;
                }
            }
        }
        assert!(400 < compared, "{case}: {compared}");
    }
}

#[test]
fn places_and_times_are_those_that_satpy_reads() {
    for case in CASES {
        let (header, object) = opened(case);
        let (described, _) = expected(case);
        let area = &described["area"];
        let longitude = area["lon_0"].as_f64().unwrap();
        assert!((header.projection.longitude_degrees - longitude).abs() < 1e-6);
        let height = area["h"].as_f64().unwrap();
        let time = |name: &str| described["times"][name].as_i64();
        let scan = header.scan.clone().unwrap();
        assert_eq!(header.nominal_start().map(|one| one.milliseconds), time("nominal_start_time"), "{case}");
        assert_eq!(header.nominal_end().map(|one| one.milliseconds), time("nominal_end_time"), "{case}");
        assert_eq!(scan.start.map(|one| one.milliseconds), time("observation_start_time"));
        assert_eq!(scan.end.map(|one| one.milliseconds), time("observation_end_time"));
        for array in described["arrays"].as_array().unwrap().iter().filter(|one| one["x"].is_array()) {
            let channel = Channel::of_name(array["channel"].as_str().unwrap()).unwrap();
            let image = header.read_region(&Engine::global(), &object, &header.whole(channel)).unwrap();
            let acquired: Vec<Option<i64>> =
                array["acquired"].as_array().unwrap().iter().map(Value::as_i64).collect();
            let found = |line: &Option<swath_convert::nat::Line>| {
                line.and_then(|line| line.acquired).map(|moment| moment.milliseconds)
            };
            assert_eq!(image.lines.iter().map(found).collect::<Vec<_>>(), acquired, "{case} {channel:?}");
            // Of selected lines of the whole width satpy takes the columns to begin in the east, wherever the window is.
            if channel == Channel::Hrv && header.grid(channel).columns == 11_136 {
                continue;
            }
            let (x, y) = (header.grid(channel).x_radians(), header.grid(channel).y_radians());
            let found = [[x[0], x[x.len() - 1]], [y[0], y[y.len() - 1]]];
            for (found, axis) in found.iter().zip(["x", "y"]) {
                for (found, wanted) in found.iter().zip(array[axis].as_array().unwrap()) {
                    // satpy adds metres up in 32 bits.
                    let apart = (found * height - wanted.as_f64().unwrap()).abs();
                    assert!(apart < 1.0, "{case} {channel:?} {axis}: {apart} m");
                }
            }
        }
    }
}

#[test]
fn regions_are_parts_of_the_whole_and_read_no_more() {
    let (header, object) = opened("split");
    let whole = header.read_region(&Engine::global(), &object, &header.whole(Channel::Hrv)).unwrap();
    for (rows, columns) in
        [(0..9, 2268..2290), (2..7, 3600..3700), (4..5, 9170..9180), (3..3, 0..9), (1..4, 5..5)]
    {
        let region = Region { channel: Channel::Hrv, rows: rows.clone(), columns: columns.clone() };
        let image = header.read_region(&Engine::global(), &object, &region).unwrap();
        assert_eq!((image.rows, image.lines.len()), (rows.len(), rows.len()));
        let wanted: Vec<u16> = rows
            .clone()
            .flat_map(|row| {
                &whole.counts[row as usize * whole.columns..][columns.start as usize..columns.end as usize]
            })
            .copied()
            .collect();
        assert_eq!(image.counts, wanted, "{rows:?} {columns:?}");
        let spans = header.spans(&region).unwrap();
        let bytes: u64 = spans.iter().filter_map(|row| row.pixels).map(|span| span.len).sum();
        assert!(bytes <= spans.len() as u64 * (columns.len() as u64 + 6) * 5 / 4, "{bytes}");
    }
    let beyond = Region { channel: Channel::Hrv, rows: 0..10, columns: 0..1 };
    assert_eq!(header.spans(&beyond).unwrap_err().kind(), ErrorKind::Invalid);
    let error = header.spans(&header.whole(Channel::Vis006)).unwrap_err();
    assert_eq!(error.to_string(), "invalid: the file does not have VIS006");
}

#[test]
fn a_line_that_is_damaged_is_told_and_left_out() {
    let mut bytes = file("part");
    let sound =
        opened("part").0.read_region(&Engine::global(), &object(bytes.clone()), &whole("part", "IR_039"));
    // The second of a record's packets, in the third record from the south: row 5.
    let packet = 65 + 25;
    let record = 3 * packet + 3 * (65 + 70);
    let at = DATA + 2 * record + packet;
    assert_eq!(bytes[at + 55], 4, "the channel's number");
    bytes[at + 55] = 5;
    let image =
        opened("part").0.read_region(&Engine::global(), &object(bytes.clone()), &whole("part", "IR_039"));
    let (sound, image) = (sound.unwrap(), image.unwrap());
    assert_eq!(image.damages.len(), 1);
    assert_eq!((image.damages[0].span.offset, image.damages[0].span.len), (at as u64, 65));
    let message = format!("line at byte {}: wanted a line of channel 4, found one of 5", at + 55);
    assert_eq!(image.damages[0].message, message);
    let wanted: Vec<u16> =
        sound.counts.iter().enumerate().map(|(at, count)| if at / 20 == 5 { 0 } else { *count }).collect();
    assert_eq!(image.counts, wanted);
    assert_eq!(
        image.lines.iter().map(Option::is_some).collect::<Vec<_>>(),
        [true, true, true, true, true, false, true, true]
    );
    // A record that is missing moves all that come after it, which their numbers tell.
    bytes.drain(DATA + 2 * record..DATA + 3 * record);
    let image =
        opened("part").0.read_region(&Engine::global(), &object(bytes), &whole("part", "VIS006")).unwrap();
    assert_eq!(image.damages.len(), 6);
    assert!(image.damages[5].message.ends_with("wanted line 1003, found 1004"), "{}", image.damages[5]);
}

fn whole(case: &str, channel: &str) -> Region {
    opened(case).0.whole(Channel::of_name(channel).unwrap())
}

#[test]
fn whatever_is_cut_off_is_told() {
    let bytes = file("part");
    let record = 3 * 90 + 3 * 135;
    let end = DATA + 8 * record;
    for len in [0, 1, 36, 5113, 5114, 5160, 65_000, 445_000, DATA, DATA + 64, DATA + 3 * 90 + 64] {
        let error = Header::read(&Engine::global(), &object(bytes[..len].to_vec())).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{len}: {error}");
        assert!(error.to_string().starts_with("file: corrupt: "), "{len}: {error}");
    }
    for len in (DATA + 3 * 90 + 65..end).step_by(61).chain([end - 1]) {
        let cut = object(bytes[..len].to_vec());
        let header = Header::read(&Engine::global(), &cut).unwrap();
        assert!(header.scan.is_none() && header.trailer_error.is_some());
        let region = header.whole(Channel::Ir108);
        let image = header.read_region(&Engine::global(), &cut, &region).unwrap();
        let there = (0..8).filter(|line| DATA + line * record + 3 * 90 <= len).count();
        assert_eq!((image.damages.len(), image.rows), (8 - there, 8), "{len}");
        assert!(image.damages.iter().all(|damage| damage.kind == DamageKind::Truncated));
    }
    let header = Header::read(&Engine::global(), &object(bytes[..end].to_vec())).unwrap();
    assert_eq!(header.nominal_start(), opened("part").0.nominal_start());
    assert!(
        header.calibrated(Channel::Vis006, Quantity::ReflectanceOrTemperature, CoefficientSet::Gsics).is_ok()
    );
}

#[test]
fn headers_that_contradict_themselves_are_refused() {
    let refused = |at: usize, octets: &[u8]| {
        let mut bytes = file("part");
        bytes[at..at + octets.len()].copy_from_slice(octets);
        Header::of_bytes(&bytes).unwrap_err().to_string()
    };
    let header = 5114 + 38;
    assert_eq!(
        refused(header + 1, &[0, 7]),
        "not supported: data header at byte 5153: wanted a satellite from 321 to 324 (Meteosat-8 to -11), found 7"
    );
    assert!(refused(header + 386_893, &[9]).contains("wanted projection 1, geostationary, found 9"));
    assert!(refused(header + 387_066, &[0x7f; 8].map(|_| 0xff)).contains("VIS006: a slope of NaN"));
    assert!(refused(DATA + 18, &[0, 0, 1, 0]).contains("first line at byte 450418: wanted 25 octets"));
    assert!(refused(DATA + 3 * 90 + 18, &[0, 1, 0, 0]).contains("first line of HRV at byte 450688"));
}
