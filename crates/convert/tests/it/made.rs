//! Messages that the tests write themselves, from the tables of the WMO manual.

/// A section of edition 2: its length and number, then this.
pub(crate) fn section(number: u8, content: &[u8]) -> Vec<u8> {
    let len = u32::try_from(content.len() + 5).unwrap();
    [&len.to_be_bytes()[..], &[number], content].concat()
}

/// A message of edition 2 of these sections.
pub(crate) fn message(sections: &[Vec<u8>]) -> Vec<u8> {
    let content = sections.concat();
    let len = u64::try_from(content.len() + 20).unwrap();
    [&b"GRIB\0\0\0\x02"[..], &len.to_be_bytes(), &content, b"7777"].concat()
}

/// The identification section: centre 98, 1 March 2019 at 06 hours.
pub(crate) fn identification() -> Vec<u8> {
    section(1, &[0, 98, 0, 0, 2, 0, 1, 0x07, 0xe3, 3, 1, 6, 0, 0, 0, 1])
}

/// A grid of `columns` by `rows` points, in steps of a degree from 60 N 10 W on, in the order of `scanning`.
pub(crate) fn grid(columns: u32, rows: u32, scanning: u8) -> Vec<u8> {
    let mut content = vec![0];
    content.extend((columns * rows).to_be_bytes());
    content.extend([0, 0, 0, 0, 6]);
    content.extend([0; 15]);
    content.extend(columns.to_be_bytes());
    content.extend(rows.to_be_bytes());
    content.extend([0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff]);
    content.extend(60_000_000u32.to_be_bytes());
    content.extend(350_000_000u32.to_be_bytes());
    content.push(0x30);
    content.extend(60_000_000u32.saturating_sub((rows - 1) * 1_000_000).to_be_bytes());
    content.extend((350_000_000 + (columns - 1) * 1_000_000).to_be_bytes());
    content.extend(1_000_000u32.to_be_bytes());
    content.extend(1_000_000u32.to_be_bytes());
    content.push(scanning);
    section(3, &content)
}

/// Temperature (0, 0, 0) at `pascals`, so many hours ahead.
pub(crate) fn product(pascals: u32, hours: u32) -> Vec<u8> {
    let mut content = vec![0, 0, 0, 0, 0, 0, 2, 0, 128, 0, 0, 0, 1];
    content.extend(hours.to_be_bytes());
    content.extend([100, 0]);
    content.extend(pascals.to_be_bytes());
    content.extend([255; 6]);
    section(4, &content)
}

/// Simple packing of `values` numbers of `bits` bits, without a scale.
pub(crate) fn simple(values: u32, bits: u8) -> Vec<u8> {
    let mut content = values.to_be_bytes().to_vec();
    content.extend([0; 10]);
    content.extend([bits, 0]);
    // The template's number, the reference value and the two scales are zero.
    section(5, &content)
}

/// No bitmap.
pub(crate) fn no_bitmap() -> Vec<u8> {
    section(6, &[255])
}

/// One field of 3 by 2 points with the values 1 to 6.
pub(crate) fn small() -> Vec<u8> {
    message(&[
        identification(),
        grid(3, 2, 0),
        product(50_000, 24),
        simple(6, 8),
        no_bitmap(),
        section(7, &[1, 2, 3, 4, 5, 6]),
    ])
}

/// A section of edition 1: its length, then this.
fn section1(content: &[u8]) -> Vec<u8> {
    let len = u32::try_from(content.len() + 3).unwrap();
    [&len.to_be_bytes()[1..], content].concat()
}

/// A message of edition 1: temperature at 500 hPa, on 3 by 2 points, with packed numbers of 8 bits. The length may be given in
/// another way than in bytes.
pub(crate) fn edition1(values: &[u8; 6]) -> Vec<u8> {
    let product = section1(&[
        128, 98, 1, 255, 0x80, 130, 100, 0x01, 0xf4, 19, 3, 1, 6, 0, 1, 24, 0, 0, 0, 0, 0, 21, 0, 0, 0,
    ]);
    let mut grid = vec![0, 255, 0, 0, 3, 0, 2];
    for thousandths in [60_000u32, 350_000] {
        grid.extend(&thousandths.to_be_bytes()[1..]);
    }
    grid.push(0x80);
    for thousandths in [59_000u32, 352_000] {
        grid.extend(&thousandths.to_be_bytes()[1..]);
    }
    grid.extend([0x03, 0xe8, 0x03, 0xe8, 0, 0, 0, 0, 0]);
    let data = [&[0, 0, 0, 0, 0, 0, 0, 8][..], values].concat();
    let content = [product, section1(&grid), section1(&data)].concat();
    let len = u32::try_from(content.len() + 12).unwrap();
    [&b"GRIB"[..], &len.to_be_bytes()[1..], &[1], &content, b"7777"].concat()
}
