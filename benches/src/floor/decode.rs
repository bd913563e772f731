//! The bare codec libraries.

use crate::metadata::Codec;
use protocol::Failure;
use zstd_safe::DCtx;

/// One thread's decoder.
pub(crate) struct Decoder {
    codec: Codec,
    zstd: DCtx<'static>,
}

impl Decoder {
    pub(crate) fn new(codec: Codec) -> Decoder {
        Decoder { codec, zstd: DCtx::create() }
    }

    /// Decodes a chunk, which fills `target`.
    pub(crate) fn decode(&mut self, stored: &[u8], target: &mut [u8]) -> Result<(), Failure> {
        let wanted = target.len();
        let written = match self.codec {
            Codec::Raw => {
                target.copy_from_slice(stored);
                Some(stored.len())
            }
            Codec::Blosc => blosc_avx2::decompress(stored, target),
            Codec::Zstd => self.zstd.decompress(target, stored).ok(),
            Codec::Lz4 => lz4(stored, target),
        };
        if written == Some(wanted) {
            Ok(())
        } else {
            Err(format!("wanted {wanted} bytes, decoded {written:?}").into())
        }
    }
}

/// One block behind its decoded length.
fn lz4(stored: &[u8], target: &mut [u8]) -> Option<usize> {
    let block = stored.get(4..)?;
    let (stored_len, target_len) = (i32::try_from(block.len()).ok()?, i32::try_from(target.len()).ok()?);
    let (source, target) = (block.as_ptr().cast(), target.as_mut_ptr().cast());
    // SAFETY: the library reads and writes within these lengths, which are the slices'.
    let written = unsafe { lz4_sys::LZ4_decompress_safe(source, target, stored_len, target_len) };
    usize::try_from(written).ok()
}
