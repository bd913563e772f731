//! IEEE numbers as they are.

use super::sample::Sample;
use crate::Error;

pub(super) fn unpack<T: Sample>(data: &[u8], octets: u8, target: &mut [T]) -> Result<(), Error> {
    let wanted = target.len().saturating_mul(usize::from(octets));
    if data.len() < wanted {
        let (count, found) = (target.len(), data.len());
        return Err(Error::corrupt(format!(
            "{count} numbers of {octets} octets are wanted, and {found} octets are there"
        )));
    }
    match octets {
        4 => fill(data, target, |bytes: [u8; 4]| f64::from(f32::from_be_bytes(bytes))),
        8 => fill(data, target, f64::from_be_bytes),
        _ => return Err(Error::unsupported(format!("IEEE numbers of {octets} octets"))),
    }
    Ok(())
}

fn fill<T: Sample, const N: usize>(data: &[u8], target: &mut [T], number: impl Fn([u8; N]) -> f64) {
    for (value, bytes) in target.iter_mut().zip(data.chunks_exact(N)) {
        *value = bytes.first_chunk().map_or(T::MISSING, |bytes| T::from_f64(number(*bytes)));
    }
}
