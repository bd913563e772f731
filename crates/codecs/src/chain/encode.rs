//! Runs a chain forwards.

use super::Chain;
use crate::error::Error;
use crate::scratch::{Buffers, Scratch, room};

impl Chain {
    /// Encodes one C-order native chunk, replacing what `target` holds.
    ///
    /// After an error, what `target` holds is not defined.
    ///
    /// # Errors
    ///
    /// `Internal` when `source` is not [`decoded_len`](Self::decoded_len) bytes long, or when a library found no memory.
    /// `Unsupported` when a codec only decodes: blosc with snappy, `bitround` of elements that are no numbers. `Invalid` when
    /// an earlier codec's output is longer than a later one's format has room for, or when `cast_value`, `scale_offset` or
    /// `fixedscaleoffset` come to a number that its type does not hold.
    pub fn encode(&self, source: &[u8], target: &mut Vec<u8>, scratch: &mut Scratch) -> Result<(), Error> {
        if source.len() != self.decoded_len {
            return Err(self.wrong_caller_length("a source", source.len()));
        }
        let Scratch { contexts, buffers } = scratch;
        let Buffers { first, second, .. } = buffers;
        let Some((last, before)) = self.stages.split_last() else {
            self.to_stored.copy(source, room(target, source.len())?);
            target.truncate(source.len());
            return Ok(());
        };
        let reordered = if self.to_stored.is_identity() {
            source
        } else {
            let reordered = room(first, source.len())?;
            self.to_stored.copy(source, reordered);
            &*reordered
        };
        let element_bytes = self.layout.element.size_bytes;
        let Some((innermost, middle)) = before.split_first() else {
            return last.encode(element_bytes, reordered, target, contexts);
        };
        innermost.encode(element_bytes, reordered, second, contexts)?;
        for stage in middle {
            stage.encode(element_bytes, second, first, contexts)?;
            std::mem::swap(first, second);
        }
        last.encode(element_bytes, second, target, contexts)
    }

    /// [`encode`](Self::encode), with the bytes put behind what `target` holds: what a shard of many chunks is made by.
    ///
    /// After an error, what `target` holds behind that is not defined.
    ///
    /// # Errors
    ///
    /// As [`encode`](Self::encode).
    pub fn encode_behind(
        &self,
        source: &[u8],
        target: &mut Vec<u8>,
        scratch: &mut Scratch,
    ) -> Result<(), Error> {
        if target.is_empty() {
            return self.encode(source, target, scratch);
        }
        if let [stage] = &*self.stages
            && self.to_stored.is_identity()
            && source.len() == self.decoded_len
        {
            let element_bytes = self.layout.element.size_bytes;
            if let Some(done) = stage.encode_behind(element_bytes, source, target, &mut scratch.contexts) {
                return done;
            }
        }
        let mut encoded = std::mem::take(&mut scratch.buffers.last);
        let done = self.encode(source, &mut encoded, scratch);
        if done.is_ok() {
            target.extend_from_slice(&encoded);
        }
        scratch.buffers.last = encoded;
        done
    }
}
