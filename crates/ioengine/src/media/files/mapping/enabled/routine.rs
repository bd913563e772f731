//! The copy routine: the only instructions that touch a mapping.
//!
//! One function without a stack frame, whose return address lies at the stack pointer from its first instruction to its
//! last. So the handler ends a copy by continuing at `swath_guarded_copy_fault`, wherever in it the fault was. It notes
//! that it copies within itself: while the note stands, the thread is in the routine, or in a handler on top of it.
//!
//! Each width of row has a loop over rows that moves it by vectors of 16 bytes, the last of which overlap those before.
//! Source and target do not overlap, so the order does not matter. AVX was no faster up to 1 KiB, and slower when hot;
//! from [`REP_FROM`] on `rep movsb` is the fastest (`docs/decisions/0005-guarded-mapping.md`).
#![expect(unsafe_code, reason = "written in assembly")]

use super::threads::Slot;
use crate::media::files::mapping::{Fault, Rows};
use std::arch::global_asm;

/// Row bytes from which `rep movsb` is used: at 2 KiB it takes 77 ns instead of 72 hot, 230 instead of 254 cold, and at
/// 4 KiB 137 instead of 137 hot, 332 instead of 409 cold.
const REP_FROM: usize = 2048;

// rdi: target, rsi: source, rdx: bytes of a row, rcx: rows, r8: target stride, r9: source stride, all as passed;
// [rsp + 8]: where to note that a copy is under way, in r10 from the start on; [rsp + 16]: row bytes from which to use
// `rep movsb`. rax and r11 are free. Labels: 16 is for rows of 16 bytes or more, and so on.
global_asm!(
    ".pushsection .text.swath_guarded_copy, \"ax\", @progbits",
    ".globl swath_guarded_copy",
    ".hidden swath_guarded_copy",
    ".type swath_guarded_copy, @function",
    ".p2align 6",
    "swath_guarded_copy:",
    ".cfi_startproc",
    "mov r10, [rsp + 8]",
    "mov byte ptr [r10], 1",
    "cmp rdx, 16",
    "jb 9f",
    "cmp rdx, [rsp + 16]",
    "jae 80f",
    "cmp rdx, 128",
    "ja 70f",
    "cmp rdx, 64",
    "ja 64f",
    "cmp rdx, 32",
    "ja 32f",
    // 16 to 32 bytes.
    ".p2align 5",
    "16:",
    "movups xmm0, [rsi]",
    "movups xmm1, [rsi + rdx - 16]",
    "movups [rdi], xmm0",
    "movups [rdi + rdx - 16], xmm1",
    "add rdi, r8",
    "add rsi, r9",
    "dec rcx",
    "jnz 16b",
    "jmp 90f",
    // 33 to 64 bytes.
    ".p2align 5",
    "32:",
    "movups xmm0, [rsi]",
    "movups xmm1, [rsi + 16]",
    "movups xmm2, [rsi + rdx - 32]",
    "movups xmm3, [rsi + rdx - 16]",
    "movups [rdi], xmm0",
    "movups [rdi + 16], xmm1",
    "movups [rdi + rdx - 32], xmm2",
    "movups [rdi + rdx - 16], xmm3",
    "add rdi, r8",
    "add rsi, r9",
    "dec rcx",
    "jnz 32b",
    "jmp 90f",
    // 65 to 128 bytes.
    ".p2align 5",
    "64:",
    "movups xmm0, [rsi]",
    "movups xmm1, [rsi + 16]",
    "movups xmm2, [rsi + 32]",
    "movups xmm3, [rsi + 48]",
    "movups xmm4, [rsi + rdx - 64]",
    "movups xmm5, [rsi + rdx - 48]",
    "movups xmm6, [rsi + rdx - 32]",
    "movups xmm7, [rsi + rdx - 16]",
    "movups [rdi], xmm0",
    "movups [rdi + 16], xmm1",
    "movups [rdi + 32], xmm2",
    "movups [rdi + 48], xmm3",
    "movups [rdi + rdx - 64], xmm4",
    "movups [rdi + rdx - 48], xmm5",
    "movups [rdi + rdx - 32], xmm6",
    "movups [rdi + rdx - 16], xmm7",
    "add rdi, r8",
    "add rsi, r9",
    "dec rcx",
    "jnz 64b",
    "jmp 90f",
    // More than 128 bytes: blocks of 64 up to r11, where the last 64 begin.
    ".p2align 5",
    "70:",
    "xor eax, eax",
    "lea r11, [rdx - 64]",
    ".p2align 5",
    "71:",
    "movups xmm0, [rsi + rax]",
    "movups xmm1, [rsi + rax + 16]",
    "movups xmm2, [rsi + rax + 32]",
    "movups xmm3, [rsi + rax + 48]",
    "movups [rdi + rax], xmm0",
    "movups [rdi + rax + 16], xmm1",
    "movups [rdi + rax + 32], xmm2",
    "movups [rdi + rax + 48], xmm3",
    "add rax, 64",
    "cmp rax, r11",
    "jb 71b",
    "movups xmm0, [rsi + r11]",
    "movups xmm1, [rsi + r11 + 16]",
    "movups xmm2, [rsi + r11 + 32]",
    "movups xmm3, [rsi + r11 + 48]",
    "movups [rdi + r11], xmm0",
    "movups [rdi + r11 + 16], xmm1",
    "movups [rdi + r11 + 32], xmm2",
    "movups [rdi + r11 + 48], xmm3",
    "add rdi, r8",
    "add rsi, r9",
    "dec rcx",
    "jnz 70b",
    "jmp 90f",
    // Long rows. `rep movsb` leaves both addresses behind the row.
    "80:",
    "mov r11, rcx",
    "sub r8, rdx",
    "sub r9, rdx",
    "81:",
    "mov rcx, rdx",
    "rep movsb",
    "add rdi, r8",
    "add rsi, r9",
    "dec r11",
    "jnz 81b",
    "jmp 90f",
    "9:",
    "cmp edx, 8",
    "jb 7f",
    // 8 to 15 bytes.
    "8:",
    "mov rax, [rsi]",
    "mov [rdi], rax",
    "mov rax, [rsi + rdx - 8]",
    "mov [rdi + rdx - 8], rax",
    "add rdi, r8",
    "add rsi, r9",
    "dec rcx",
    "jnz 8b",
    "jmp 90f",
    "7:",
    "cmp edx, 4",
    "jb 3f",
    // 4 to 7 bytes.
    "4:",
    "mov eax, [rsi]",
    "mov [rdi], eax",
    "mov eax, [rsi + rdx - 4]",
    "mov [rdi + rdx - 4], eax",
    "add rdi, r8",
    "add rsi, r9",
    "dec rcx",
    "jnz 4b",
    "jmp 90f",
    // 1 to 3 bytes: the first, the middle one and the last.
    "3:",
    "mov r11, rdx",
    "shr r11, 1",
    "2:",
    "movzx eax, byte ptr [rsi]",
    "mov [rdi], al",
    "movzx eax, byte ptr [rsi + r11]",
    "mov [rdi + r11], al",
    "movzx eax, byte ptr [rsi + rdx - 1]",
    "mov [rdi + rdx - 1], al",
    "add rdi, r8",
    "add rsi, r9",
    "dec rcx",
    "jnz 2b",
    "90:",
    "mov byte ptr [r10], 0",
    "xor eax, eax",
    "ret",
    ".globl swath_guarded_copy_fault",
    ".hidden swath_guarded_copy_fault",
    "swath_guarded_copy_fault:",
    "mov byte ptr [r10], 0",
    "mov eax, 1",
    "ret",
    ".globl swath_guarded_copy_end",
    ".hidden swath_guarded_copy_end",
    "swath_guarded_copy_end:",
    ".cfi_endproc",
    ".size swath_guarded_copy, . - swath_guarded_copy",
    ".popsection",
);

unsafe extern "sysv64" {
    fn swath_guarded_copy(
        target: *mut u8,
        source: *const u8,
        row_bytes: usize,
        rows: usize,
        target_stride: usize,
        source_stride: usize,
        copying: *mut u8,
        rep_from: usize,
    ) -> u64;
    static swath_guarded_copy_fault: u8;
    static swath_guarded_copy_end: u8;
}

/// Copies rows, of which there is at least one, of at least one byte.
///
/// # Safety
///
/// Every row is mapped at `source` and writable, by nobody else, at `target`, and the two sides do not overlap. This
/// thread is the owner of `slot` and has looked at the handler.
#[inline]
pub(super) unsafe fn copy(slot: &Slot, source: *const u8, target: *mut u8, rows: &Rows) -> Result<(), Fault> {
    let Rows { rows: count, row_bytes, source_stride, target_stride } = *rows;
    let (copying, rep_from) = (slot.copying(), rep_from(row_bytes));
    // SAFETY: as the caller promises; the routine touches the rows, the note and its arguments, and clobbers what its
    // calling convention allows.
    let status = unsafe {
        swath_guarded_copy(target, source, row_bytes, count, target_stride, source_stride, copying, rep_from)
    };
    if status == 0 { Ok(()) } else { Err(Fault) }
}

/// `rep movsb` is slow on processors that do not say that it is fast.
#[inline]
fn rep_from(row_bytes: usize) -> usize {
    if REP_FROM <= row_bytes && is_x86_feature_detected!("ermsb") { REP_FROM } else { usize::MAX }
}

/// Where an instruction lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// In the routine. A fault there continues at `fault_exit`.
    Inside {
        fault_exit: usize,
    },
    Outside,
}

/// Tells where an instruction lies. May be called in a signal handler.
pub(super) fn place(instruction: usize) -> Place {
    let start = swath_guarded_copy as *const () as usize;
    let fault_exit = (&raw const swath_guarded_copy_fault) as usize;
    let end = (&raw const swath_guarded_copy_end) as usize;
    if start <= instruction && instruction < end { Place::Inside { fault_exit } } else { Place::Outside }
}
