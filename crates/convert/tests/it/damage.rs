//! Damaged bytes: told, never a panic, and never more time or memory than the file is worth.

use crate::{corpus, made};
use proptest::prelude::*;
use swath_convert::DamageKind;

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
