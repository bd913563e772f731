//! Room behind what a vector holds, which zstd writes to.

use zstd_safe::WriteBuf;

/// So many bytes behind what a vector holds, which are not initialised.
pub(super) struct RoomBehind<'a> {
    target: &'a mut Vec<u8>,
    start: usize,
    len: usize,
}

impl<'a> RoomBehind<'a> {
    /// Up to `len` bytes; `None` where there is no memory for them.
    pub(super) fn new(target: &'a mut Vec<u8>, len: usize) -> Option<RoomBehind<'a>> {
        target.try_reserve(len).ok()?;
        let start = target.len();
        Some(RoomBehind { target, start, len })
    }
}

// SAFETY: `as_mut_ptr` is where the vector's room behind `start` begins, and `new` has seen to it that `len` bytes of it, the capacity,
// lie within its memory, which nobody else can change as it is borrowed; `as_slice` is what the vector says is initialised.
#[expect(unsafe_code, reason = "of a vector zstd-safe writes to the start, or to all that it has room for")]
unsafe impl WriteBuf for RoomBehind<'_> {
    fn as_slice(&self) -> &[u8] {
        self.target.get(self.start..).unwrap_or_default()
    }

    fn capacity(&self) -> usize {
        self.len
    }

    fn as_mut_ptr(&mut self) -> *mut u8 {
        self.target.as_mut_ptr().wrapping_add(self.start)
    }

    unsafe fn filled_until(&mut self, n: usize) {
        // SAFETY: the caller says that the first `n` bytes of the room are initialised; it is never more than `len`, which there is
        // memory for.
        unsafe { self.target.set_len(self.start + n) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use zstd_safe::CCtx;

    #[test]
    fn no_more_than_the_room_is_written() {
        let source: Vec<u8> = (0..4096u32).map(|at| ((at * at) >> 7).to_le_bytes()[0]).collect();
        let mut context = CCtx::create();
        let mut whole = Vec::with_capacity(8192);
        let len = context.compress(&mut whole, &source, 1).unwrap();
        for room in 0..len + 20 {
            let mut target = vec![7; 33];
            target.reserve_exact(len + 20);
            // What lies behind the room is to stay as it is.
            target.resize(33 + len + 20, 9);
            target.truncate(33);
            let mut behind = RoomBehind::new(&mut target, room).unwrap();
            let found = context.compress(&mut behind, &source, 1).ok();
            assert_eq!(found, (len <= room).then_some(len), "a room of {room} bytes");
            assert_eq!(behind.as_slice(), &whole[..found.unwrap_or(0)]);
            assert!(target[..33] == [7; 33] && target[33..] == whole[..found.unwrap_or(0)]);
        }
        assert!(RoomBehind::new(&mut Vec::new(), usize::MAX).is_none());
    }
}
