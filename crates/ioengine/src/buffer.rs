//! Page-aligned read buffers, and the pool in which a lane keeps them.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::NonNull;

/// Alignment of every buffer, in bytes: a page, which also satisfies O_DIRECT on every device known so far.
pub(crate) const BUFFER_ALIGNMENT: usize = 4096;

/// A page-aligned, initialised buffer.
pub struct AlignedBuffer {
    start: NonNull<u8>,
    capacity: usize,
}

// SAFETY: the buffer owns its memory alone; moving it to another thread moves that ownership.
#[expect(unsafe_code, reason = "owns a raw allocation")]
unsafe impl Send for AlignedBuffer {}

impl AlignedBuffer {
    /// A zeroed buffer of at least `len` bytes, as [`capacity_for`] rounds it up.
    ///
    /// # Errors
    ///
    /// [`LimitExceeded`](crate::ErrorKind::LimitExceeded) where `len` is beyond what an allocation may be, or memory is
    /// out.
    #[expect(unsafe_code, reason = "owns a raw allocation")]
    pub(crate) fn with_len(len: usize) -> Result<AlignedBuffer, crate::Error> {
        let capacity = capacity_for(len);
        let layout = capacity.and_then(|capacity| Layout::from_size_align(capacity, BUFFER_ALIGNMENT).ok());
        let Some(layout) = layout else {
            return Err(crate::Error::new(
                crate::ErrorKind::LimitExceeded,
                format!("a buffer of {len} bytes is too large"),
            ));
        };
        // SAFETY: the layout's size is at least a page, so not zero.
        let start = unsafe { alloc_zeroed(layout) };
        let Some(start) = NonNull::new(start) else {
            return Err(crate::Error::new(
                crate::ErrorKind::LimitExceeded,
                format!("there is no memory for a buffer of {len} bytes"),
            ));
        };
        Ok(AlignedBuffer { start, capacity: layout.size() })
    }

    /// Bytes that the buffer holds.
    pub(crate) fn capacity(&self) -> usize {
        self.capacity
    }

    /// The whole buffer.
    #[expect(unsafe_code, reason = "owns a raw allocation")]
    pub(crate) fn as_slice(&self) -> &[u8] {
        // SAFETY: `start` points to `capacity` initialised bytes that this buffer owns, borrowed as `self` is.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.capacity) }
    }

    /// The whole buffer, to write to.
    #[expect(unsafe_code, reason = "owns a raw allocation")]
    pub(crate) fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: `start` points to `capacity` initialised bytes that this buffer owns, borrowed as `self` is.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.capacity) }
    }
}

impl Drop for AlignedBuffer {
    #[expect(unsafe_code, reason = "owns a raw allocation")]
    fn drop(&mut self) {
        if let Ok(layout) = Layout::from_size_align(self.capacity, BUFFER_ALIGNMENT) {
            // SAFETY: allocated in `with_len` with this very layout, and not freed before.
            unsafe { dealloc(self.start.as_ptr(), layout) }
        }
    }
}

/// Buffers up to this size are powers of two, so that a pool of few classes serves them; larger ones are multiples of
/// a quarter of it, because doubling them would waste memory.
const CLASS_BYTES_MAX: usize = 1 << 20;

/// The bytes that a buffer for `len` takes; `None` where no memory is that large.
pub(crate) fn capacity_for(len: usize) -> Option<usize> {
    if len <= CLASS_BYTES_MAX {
        len.max(BUFFER_ALIGNMENT).checked_next_power_of_two()
    } else {
        len.checked_next_multiple_of(CLASS_BYTES_MAX / 4)
    }
}

/// Buffers between reads, last in first out so that the next read lands in memory that is still in cache.
pub(crate) struct BufferPool {
    classes: Vec<Vec<AlignedBuffer>>,
    large: Vec<AlignedBuffer>,
    /// The last buffer that was larger than all that is kept: see [`BufferPool::rest`].
    huge: Option<AlignedBuffer>,
    pooled_bytes: usize,
    pooled_bytes_max: usize,
}

impl BufferPool {
    pub(crate) fn new(pooled_bytes_max: usize) -> BufferPool {
        BufferPool { classes: Vec::new(), large: Vec::new(), huge: None, pooled_bytes: 0, pooled_bytes_max }
    }

    pub(crate) fn take(&mut self, len: usize) -> Result<AlignedBuffer, crate::Error> {
        if let Some(capacity) = capacity_for(len).filter(|capacity| self.pooled_bytes_max < *capacity) {
            // One that does not fit is given back first, so that there are never two.
            let kept = self.huge.take().filter(|buffer| is_about(buffer, capacity));
            return kept.map_or_else(|| AlignedBuffer::with_len(len), Ok);
        }
        let pooled = capacity_for(len).and_then(|capacity| {
            if capacity <= CLASS_BYTES_MAX {
                return self.classes.get_mut(class_of(capacity))?.pop();
            }
            // Of about the same size, as the chunks of an array are: a much larger one would be missed elsewhere.
            let fits =
                |buffer: &AlignedBuffer| (capacity..=capacity + capacity / 4).contains(&buffer.capacity());
            let at = self.large.iter().rposition(fits)?;
            Some(self.large.swap_remove(at))
        });
        match pooled {
            Some(buffer) => {
                self.pooled_bytes -= buffer.capacity();
                Ok(buffer)
            }
            None => AlignedBuffer::with_len(len),
        }
    }

    pub(crate) fn put(&mut self, buffer: AlignedBuffer) {
        let capacity = buffer.capacity();
        if capacity > self.pooled_bytes_max {
            self.huge = Some(buffer);
            return;
        }
        // Large buffers of a size that is not asked for any more make room first.
        while self.pooled_bytes_max - capacity < self.pooled_bytes && !self.large.is_empty() {
            self.pooled_bytes -= self.large.swap_remove(0).capacity();
        }
        if self.pooled_bytes_max - capacity < self.pooled_bytes {
            return;
        }
        self.pooled_bytes += capacity;
        if CLASS_BYTES_MAX < capacity {
            return self.large.push(buffer);
        }
        let class = class_of(capacity);
        if self.classes.len() <= class {
            self.classes.resize_with(class + 1, Vec::new);
        }
        self.classes[class].push(buffer);
    }
}

impl BufferPool {
    /// Gives back what is kept only from one read to the next: the lane has nothing to do.
    pub(crate) fn rest(&mut self) {
        self.huge = None;
    }
}

/// True for a buffer of the wanted capacity or a little more.
fn is_about(buffer: &AlignedBuffer, capacity: usize) -> bool {
    (capacity..=capacity + capacity / 4).contains(&buffer.capacity())
}

fn class_of(capacity: usize) -> usize {
    (capacity / BUFFER_ALIGNMENT).trailing_zeros() as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_aligned_and_rounded_up() {
        for len in [0, 1, 4096, 4097, 100_000] {
            let mut buffer = AlignedBuffer::with_len(len).unwrap();
            assert!(buffer.capacity() >= len.max(1));
            assert_eq!(buffer.as_slice().as_ptr() as usize % BUFFER_ALIGNMENT, 0);
            buffer.as_mut_slice().fill(7);
            assert!(buffer.as_slice().iter().all(|byte| *byte == 7));
        }
        assert!(AlignedBuffer::with_len(usize::MAX).is_err());
    }

    #[test]
    fn the_pool_hands_back_the_last_buffer_and_stays_bounded() {
        let mut pool = BufferPool::new(12 << 10);
        let first = pool.take(8 << 10).unwrap();
        let address = first.as_slice().as_ptr();
        pool.put(first);
        pool.put(AlignedBuffer::with_len(8 << 10).unwrap());
        assert_eq!(pool.pooled_bytes, 8 << 10);
        assert_eq!(pool.take(5000).unwrap().as_slice().as_ptr(), address);
        assert_eq!(pool.pooled_bytes, 0);
    }

    #[test]
    fn large_buffers_are_kept_by_size_and_make_room() {
        let mut pool = BufferPool::new(4 << 20);
        let buffer = pool.take(3_000_000).unwrap();
        assert_eq!(buffer.capacity() % (256 << 10), 0);
        assert!(buffer.capacity() < 3_300_000);
        let address = buffer.as_slice().as_ptr();
        pool.put(buffer);
        let again = pool.take(2_999_999).unwrap();
        assert_eq!(again.as_slice().as_ptr(), address);
        pool.put(again);
        pool.put(AlignedBuffer::with_len(2 << 20).unwrap());
        assert_eq!(pool.pooled_bytes, 2 << 20);
        pool.put(AlignedBuffer::with_len(5 << 20).unwrap());
        assert_eq!(pool.pooled_bytes, 2 << 20);
    }
}
