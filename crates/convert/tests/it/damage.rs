//! Damaged bytes: told, never a panic, and never more time or memory than the file is worth.

use crate::{corpus, made};
use proptest::prelude::*;
use swath_convert::{DamageKind, read_field, unpack};
use swath_ioengine::Engine;

#[test]
fn messages_within_broken_messages_end() {
    // Each claims to reach to the end of the file.
    let count = 3000u64;
    let mut bytes = Vec::new();
    for number in 0..count {
        bytes.extend(b"GRIB\0\0\0\x02");
        bytes.extend(((count - number) * 24).to_be_bytes());
        let left = u32::try_from((count - number) * 24 - 20).unwrap();
        bytes.extend(left.to_be_bytes());
        bytes.extend([2, 0, 0, 0]);
    }
    let (fields, damages) = corpus::scanned(bytes);
    assert_eq!((fields.len(), damages.len()), (0, 1024));
    assert!(damages.last().unwrap().message.contains("the rest was not looked at"));
}

#[test]
fn a_broken_message_does_not_hide_the_next() {
    let (mut broken, sound) = (made::small(), made::small());
    let len = broken.len();
    broken[len - 1] = b'8';
    let (fields, damages) = corpus::scanned([broken, sound].concat());
    assert_eq!((fields.len(), damages.len()), (1, 1));
    assert_eq!(damages[0].kind, DamageKind::Corrupt);
    assert_eq!(
        damages[0].to_string(),
        format!("{len} bytes at 0: corrupt: the message does not end with 7777")
    );
}

#[test]
fn what_is_not_known_is_told() {
    let mut third = made::small();
    third[7] = 3;
    let (fields, damages) = corpus::scanned(third);
    assert_eq!((fields.len(), damages[0].kind), (0, DamageKind::Stray));
}

proptest! {
    /// One changed octet changes what is found, or breaks the message; the one behind it is found anyway, unless the changed
    /// one claims it.
    #[test]
    fn changed_octets_are_no_panic(place in 0usize..400, value: u8, first: bool) {
        let mut bytes = if first { made::edition1(&[1, 2, 3, 4, 5, 6]) } else { made::small() };
        let place = place % bytes.len();
        bytes[place] = value;
        bytes.extend(made::small());
        let (fields, damages) = corpus::scanned(bytes);
        prop_assert!(!fields.is_empty() || !damages.is_empty());
    }

    #[test]
    fn any_bytes_are_no_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300), edition in 1u8..3) {
        let mut message = b"GRIB\0\0\0\0".to_vec();
        message[7] = edition;
        message[6] = 200;
        message.extend(bytes);
        corpus::scanned(message);
    }
}

/// Points of a field that is unpacked here: a changed octet may promise billions.
const POINTS_MAX: u64 = 1 << 16;

/// Numbers by chance, the same for the same seed.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % limit
    }
}

/// Messages of every packing with some octets changed are fields or damages, and values or errors.
#[test]
fn changed_octets_of_every_packing_are_no_panic() {
    let folder = std::path::PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "grib"));
    paths.sort();
    let (mut sound, mut broken) = (0, 0);
    for (number, path) in paths.iter().enumerate() {
        let message = std::fs::read(path).unwrap();
        for seed in 0..200u64 {
            let mut chance = Chance(seed << 16 | u64::try_from(number).unwrap());
            let mut bytes = message.clone();
            for _ in 0..=chance.below(4) {
                let place = chance.below(bytes.len());
                bytes[place] = u8::try_from(chance.below(256)).unwrap();
            }
            // Says which one it was, where it panics or takes too much.
            println!("{} with seed {seed}", path.display());
            let (fields, _) = corpus::scanned(bytes.clone());
            let object = corpus::object(bytes);
            for field in fields.iter().filter(|field| field.grid.points <= POINTS_MAX) {
                let read = read_field(&Engine::global(), &object, field).unwrap();
                let mut values = vec![0.0f32; usize::try_from(field.grid.points).unwrap()];
                match unpack(field, &read, &mut values) {
                    Ok(()) => sound += 1,
                    Err(_) => broken += 1,
                }
            }
        }
    }
    assert!(1000 < sound && 100 < broken, "{sound} unpacked, {broken} did not");
}
