//! Reading `.npy` back, as strictly as NumPy does.

/// A parsed file.
#[derive(Debug, PartialEq)]
pub(crate) struct Npy {
    pub(crate) dtype: String,
    pub(crate) shape: String,
    pub(crate) data: Vec<u8>,
}

/// Parses a file of version 1.0 in C order.
pub(crate) fn parse(bytes: &[u8]) -> Npy {
    assert_eq!(&bytes[..8], b"\x93NUMPY\x01\x00");
    let len = usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    assert_eq!((10 + len) % 64, 0);
    let header = std::str::from_utf8(&bytes[10..10 + len]).unwrap();
    let header = header.strip_suffix('\n').unwrap().trim_end_matches(' ');
    let rest = header.strip_prefix("{'descr': '").unwrap();
    let (dtype, rest) = rest.split_once("', 'fortran_order': False, 'shape': ").unwrap();
    let shape = rest.strip_suffix(", }").unwrap();
    Npy { dtype: dtype.to_owned(), shape: shape.to_owned(), data: bytes[10 + len..].to_vec() }
}
