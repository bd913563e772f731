//! The header of NumPy's file format.

use crate::quantity;
use swath::DataType;

/// Where data begin in a file: on a multiple of this, as NumPy's own writer has it.
const ALIGNMENT_BYTES: usize = 64;

/// What stands before the elements in a `.npy` file that holds a C-order array in this machine's byte order. Version
/// 1.0, or 2.0 where the description takes more than 65,535 bytes.
///
/// Source: NumPy's `numpy.lib.format`, "Format Version 1.0" and "Format Version 2.0".
pub(crate) fn header(data_type: &DataType, shape: &[u64]) -> Vec<u8> {
    let description = format!(
        "{{'descr': {}, 'fortran_order': False, 'shape': {}, }}",
        data_type.numpy_descr(),
        quantity::shape(shape)
    );
    versioned(&description)
}

fn versioned(description: &str) -> Vec<u8> {
    // The magic string, two bytes of version, and the length in two or four bytes.
    let padded = |prefix: usize| (prefix + description.len() + 1).next_multiple_of(ALIGNMENT_BYTES) - prefix;
    let mut header = b"\x93NUMPY".to_vec();
    let len = match u16::try_from(padded(10)) {
        Ok(len) => {
            header.extend([1, 0]);
            header.extend(len.to_le_bytes());
            usize::from(len)
        }
        Err(_) => {
            let len = u32::try_from(padded(12)).unwrap_or(u32::MAX); // An array has far fewer than 2^28 axes.
            header.extend([2, 0]);
            header.extend(len.to_le_bytes());
            padded(12)
        }
    };
    let end = header.len() + len;
    header.extend(description.as_bytes());
    header.resize(end - 1, b' ');
    header.push(b'\n');
    header
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_header_is_version_1_and_aligned() {
        let header = header(&DataType::Bool, &[3]);
        assert_eq!(&header[..8], b"\x93NUMPY\x01\x00");
        assert_eq!(usize::from(u16::from_le_bytes([header[8], header[9]])), header.len() - 10);
        assert_eq!(header.len() % 64, 0);
        let text = std::str::from_utf8(&header[10..]).unwrap();
        assert_eq!(text.trim_end(), "{'descr': '|b1', 'fortran_order': False, 'shape': (3,), }");
        assert!(text.ends_with(" \n"));
    }

    #[test]
    fn headers_around_the_border_of_the_versions() {
        for len in 65_400..65_600 {
            let header = versioned(&"x".repeat(len));
            assert_eq!(header.len() % 64, 0);
            let (prefix, written) = match header[6] {
                1 => (10, usize::from(u16::from_le_bytes([header[8], header[9]]))),
                _ => (12, u32::from_le_bytes(header[8..12].try_into().unwrap()) as usize),
            };
            assert_eq!((written, header[header.len() - 1]), (header.len() - prefix, b'\n'));
            assert_eq!(&header[prefix..prefix + len], "x".repeat(len).as_bytes());
        }
        assert_eq!([versioned(&"x".repeat(65_000))[6], versioned(&"x".repeat(66_000))[6]], [1, 2]);
    }
}
