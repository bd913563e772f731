//! The bits of a zfp stream: the lowest bit of each byte first.

/// Reads bits; behind the last byte there are zeros, which [`is_past_end`](Self::is_past_end) tells.
pub(super) struct Bits<'a> {
    source: &'a [u8],
    /// The next bit.
    at: u64,
}

impl<'a> Bits<'a> {
    pub(super) fn new(source: &'a [u8]) -> Self {
        Self { source, at: 0 }
    }

    /// The next bits, at most 64, the first of them lowest.
    #[inline]
    pub(super) fn take(&mut self, count: u32) -> u64 {
        let (byte, shift) = (usize::try_from(self.at / 8).unwrap_or(usize::MAX), self.at % 8);
        self.at = self.at.saturating_add(count.into());
        let rest = self.source.get(byte..).unwrap_or_default();
        let word = match rest.first_chunk::<16>() {
            Some(bytes) => u128::from_le_bytes(*bytes),
            None => {
                let mut bytes = [0; 16];
                bytes[..rest.len()].copy_from_slice(rest);
                u128::from_le_bytes(bytes)
            }
        };
        let mask = if count == 64 { u64::MAX } else { (1 << count) - 1 };
        // The mask leaves what 64 bits hold.
        u64::try_from((word >> shift) & u128::from(mask)).unwrap_or(0)
    }

    /// The next bit.
    #[inline]
    pub(super) fn flag(&mut self) -> bool {
        let (byte, shift) = (usize::try_from(self.at / 8).unwrap_or(usize::MAX), self.at % 8);
        self.at = self.at.saturating_add(1);
        self.source.get(byte).is_some_and(|byte| byte >> shift & 1 == 1)
    }

    /// Passes bits over.
    pub(super) fn skip(&mut self, count: u32) {
        self.at = self.at.saturating_add(count.into());
    }

    /// Whether bits were taken that are not there.
    pub(super) fn is_past_end(&self) -> bool {
        (self.source.len() as u64).saturating_mul(8) < self.at
    }
}
