//! An array->array codec that changes elements, and the chain behind it.

use super::{Chain, Checksums};
use crate::error::{Error, Wanted};
use crate::filter::Filter;
use crate::scratch::{Contexts, Nested, room};

/// Undone as one stage of the chain around it: the chain behind the filter is run to a buffer, the filter to the target.
#[derive(Debug, Clone)]
pub(super) struct Filtered {
    filter: Filter,
    inner: Chain,
}

impl Filtered {
    pub(super) fn new(filter: Filter, inner: Chain) -> Self {
        Self { filter, inner }
    }

    pub(super) fn set_checksums(&mut self, checksums: Checksums) {
        self.inner.set_checksums(checksums);
    }

    /// How many stored bytes it has.
    pub(super) fn stored(&self) -> Result<Wanted, Error> {
        match self.inner.encoded_len_fixed.map(usize::try_from) {
            Some(Ok(bytes)) => Ok(Wanted::Exactly(bytes)),
            _ => usize::try_from(self.inner.encoded_len_max).map(Wanted::AtMost).map_err(|_| {
                Error::invalid(
                    "chain",
                    format!(
                        "wanted stages that fit memory, found one of {} bytes",
                        self.inner.encoded_len_max
                    ),
                )
            }),
        }
    }

    /// What of that chunks do not use that are small and many.
    pub(super) fn spare_bytes(&self) -> u64 {
        self.inner.spare_bytes()
    }

    /// Decodes to all of `target`.
    pub(super) fn decode(
        &self,
        source: &[u8],
        target: &mut [u8],
        contexts: &mut Contexts,
    ) -> Result<usize, Error> {
        let Nested { scratch, elements } = contexts.nested();
        if self.filter.decodes_to_itself() {
            self.inner.decode_into(source, target, scratch)?;
        } else {
            let elements = room(elements, self.inner.decoded_len())?;
            self.inner.decode_into(source, elements, scratch)?;
            self.filter.decode(elements, target)?;
        }
        Ok(target.len())
    }

    /// Encodes `source`, replacing what `target` holds.
    pub(super) fn encode(
        &self,
        source: &[u8],
        target: &mut Vec<u8>,
        contexts: &mut Contexts,
    ) -> Result<(), Error> {
        let Nested { scratch, elements } = contexts.nested();
        let elements = room(elements, self.inner.decoded_len())?;
        self.filter.encode(source, elements)?;
        self.inner.encode(elements, target, scratch)
    }
}
