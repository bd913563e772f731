//! Messages in every packing that ecCodes writes, or only reads, and the values that it reads of them: see `tests/data/README.md`.

use crate::corpus;
use std::path::PathBuf;
use swath_convert::{read_field, unpack};
use swath_ioengine::Engine;

#[test]
fn every_packing_decodes_to_the_values_that_ec_codes_reads() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let mut names: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.retain(|path| path.extension().is_some_and(|extension| extension == "grib"));
    names.sort();
    let mut wrong = Vec::new();
    for path in &names {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let wanted: Vec<f64> = std::fs::read(path.with_extension("f64"))
            .unwrap()
            .chunks_exact(8)
            .map(|bytes| f64::from_le_bytes(bytes.try_into().unwrap()))
            .collect();
        let bytes = std::fs::read(path).unwrap();
        let (fields, damages) = corpus::scanned(bytes.clone());
        assert_eq!((fields.len(), damages.len()), (1, 0), "{name}");
        let field = &fields[0];
        let read = read_field(&Engine::global(), &corpus::object(bytes), field).unwrap();
        let mut values = vec![0.0; wanted.len()];
        match unpack(field, &read, &mut values) {
            Err(error) => wrong.push(format!("{name}: {error}")),
            Ok(()) => {
                let is_same = |(one, other): (&f64, &f64)| one == other || one.is_nan() && other.is_nan();
                let different = values.iter().zip(&wanted).position(|pair| !is_same(pair));
                if let Some(place) = different {
                    wrong.push(format!(
                        "{name}: {} is {}, and {} is wanted",
                        place, values[place], wanted[place]
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!(names.len(), 54);
}
