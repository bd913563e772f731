//! The octets of a section, by the numbers that the WMO manual gives them: the first is octet 1.

use crate::Error;

/// A section's octets and its name, for errors.
#[derive(Clone, Copy)]
pub(crate) struct Octets<'a> {
    bytes: &'a [u8],
    section: &'static str,
}

impl<'a> Octets<'a> {
    pub(crate) fn new(bytes: &'a [u8], section: &'static str) -> Octets<'a> {
        Octets { bytes, section }
    }

    /// How many octets the section has.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// All octets from one on; none where the section ends before it.
    pub(crate) fn from(&self, octet: usize) -> &'a [u8] {
        self.bytes.get(octet.saturating_sub(1)..).unwrap_or_default()
    }

    /// `N` octets from `octet` on.
    ///
    /// # Errors
    ///
    /// `Corrupt` where the section ends before the last of them.
    pub(crate) fn array<const N: usize>(&self, octet: usize) -> Result<[u8; N], Error> {
        self.from(octet).first_chunk().copied().ok_or_else(|| self.ends(octet, N))
    }

    #[cold]
    fn ends(&self, octet: usize, count: usize) -> Error {
        let last = octet + count - 1;
        let found = self.bytes.len();
        Error::corrupt(format!("the {} section wants octet {last}, and has {found}", self.section))
    }

    pub(crate) fn u8(&self, octet: usize) -> Result<u8, Error> {
        Ok(u8::from_be_bytes(self.array(octet)?))
    }

    pub(crate) fn u16(&self, octet: usize) -> Result<u16, Error> {
        Ok(u16::from_be_bytes(self.array(octet)?))
    }

    pub(crate) fn u24(&self, octet: usize) -> Result<u32, Error> {
        let [a, b, c] = self.array(octet)?;
        Ok(u32::from_be_bytes([0, a, b, c]))
    }

    pub(crate) fn u32(&self, octet: usize) -> Result<u32, Error> {
        Ok(u32::from_be_bytes(self.array(octet)?))
    }

    /// A number of 8 bits, of which the first is the sign: so are all signed numbers of GRIB.
    pub(crate) fn i8(&self, octet: usize) -> Result<i32, Error> {
        Ok(signed(u32::from(self.u8(octet)?), 8))
    }

    /// A number of 16 bits, of which the first is the sign.
    pub(crate) fn i16(&self, octet: usize) -> Result<i32, Error> {
        Ok(signed(u32::from(self.u16(octet)?), 16))
    }

    /// A number of 24 bits, of which the first is the sign.
    pub(crate) fn i24(&self, octet: usize) -> Result<i32, Error> {
        Ok(signed(self.u24(octet)?, 24))
    }

    /// A number of 32 bits, of which the first is the sign.
    pub(crate) fn i32(&self, octet: usize) -> Result<i32, Error> {
        Ok(signed(self.u32(octet)?, 32))
    }

    /// An IEEE 754 number of 32 bits.
    pub(crate) fn ieee(&self, octet: usize) -> Result<f64, Error> {
        Ok(f64::from(f32::from_be_bytes(self.array(octet)?)))
    }

    /// An IBM System/360 number of 32 bits: sign, exponent of 16 with an excess of 64, 24 bits behind the point.
    pub(crate) fn ibm(&self, octet: usize) -> Result<f64, Error> {
        let bits = self.u32(octet)?;
        let exponent = i32::from(self.u8(octet)? & 0x7f) - 64;
        let size = f64::from(bits & 0x00ff_ffff) * 16f64.powi(exponent - 6);
        Ok(if bits & 0x8000_0000 == 0 { size } else { -size })
    }

    /// A scale factor in one octet and a scaled value in four; `None` where all bits of one of them are set.
    pub(crate) fn scaled(&self, octet: usize) -> Result<Option<f64>, Error> {
        if self.u8(octet)? == u8::MAX || self.u32(octet + 1)? == u32::MAX {
            return Ok(None);
        }
        let (scale, value) = (self.i8(octet)?, f64::from(self.i32(octet + 1)?));
        // A division by a power of ten rounds once; a product with a negative power would round twice.
        Ok(Some(if scale < 0 { value * 10f64.powi(-scale) } else { value / 10f64.powi(scale) }))
    }
}

/// Sign and magnitude in `width` bits as a number.
pub(crate) fn signed(bits: u32, width: u32) -> i32 {
    let sign = 1 << (width - 1);
    let magnitude = i32::try_from(bits & (sign - 1)).unwrap_or(i32::MAX);
    if bits & sign == 0 { magnitude } else { -magnitude }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_manual() -> Result<(), Error> {
        let octets = Octets::new(&[0x80, 0x02, 0x00, 0x01, 0x42, 0x64, 0x00, 0x00], "test");
        assert_eq!((octets.u16(1)?, octets.i16(1)?, octets.i8(1)?), (0x8002, -2, 0));
        assert_eq!((octets.i24(1)?, octets.i32(1)?, octets.u24(2)?), (-0x0200, -0x0002_0001, 0x0002_0001));
        assert_eq!(octets.ibm(5)?, 100.0);
        assert_eq!(Octets::new(&1.5f32.to_be_bytes(), "test").ieee(1)?, 1.5);
        Ok(())
    }

    #[test]
    fn what_is_not_there_is_an_error() {
        let error = Octets::new(&[1, 2], "product").u16(2).unwrap_err();
        assert_eq!(error.message(), "the product section wants octet 3, and has 2");
        assert_eq!(Octets::new(&[1, 2], "product").from(9), &[] as &[u8]);
    }
}
