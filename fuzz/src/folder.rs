//! Several files in one input.

use swath_ioengine::MemoryMedium;

/// The files of an input: of each the length of its name as one byte, its name, the length of what it holds as four bytes, least
/// significant first, and that. What ends early is shorter. `scripts/fuzz-corpora` makes such of folders.
pub fn folder(mut input: &[u8]) -> MemoryMedium {
    let memory = MemoryMedium::new();
    while let Some((len, rest)) = input.split_first() {
        let (name, rest) = rest.split_at(rest.len().min(usize::from(*len)));
        let Some((len, rest)) = rest.split_first_chunk() else { break };
        let len = usize::try_from(u32::from_le_bytes(*len)).unwrap_or(usize::MAX);
        let (bytes, rest) = rest.split_at(rest.len().min(len));
        memory.put(&String::from_utf8_lossy(name), bytes.to_vec());
        input = rest;
    }
    memory
}
