//! The handler of SIGBUS.
//!
//! It ends a copy that faulted, and gives all else to who was there before. It runs on any thread, within any
//! instruction: it takes no lock, allocates nothing, and touches no thread-local variable but `errno`.

use super::routine::Place;
use super::threads::Slot;
use super::{previous, routine, threads};
use crate::media::files::mapping::Refusal;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicBool, Ordering};

/// Puts the handler in front, where it is not.
///
/// No mutex: a child forked in the middle of this would wait for a thread that it does not have. Here it is refused.
pub(super) fn look() -> Result<(), Refusal> {
    static INSTALLING: AtomicBool = AtomicBool::new(false);
    if is_ours(&current()?) {
        return Ok(());
    }
    if INSTALLING.swap(true, Ordering::Acquire) {
        return Err(Refusal::Busy);
    }
    let installed = install();
    INSTALLING.store(false, Ordering::Release);
    installed
}

fn install() -> Result<(), Refusal> {
    let found = current()?;
    if is_ours(&found) {
        return Ok(());
    }
    // Remembered first: the handler may run as soon as it is in front.
    previous::remember(found.sa_sigaction, found.sa_flags)?;
    let replaced = replace(&ours())?;
    if is_ours(&replaced)
        || (replaced.sa_sigaction, replaced.sa_flags) == (found.sa_sigaction, found.sa_flags)
    {
        return Ok(());
    }
    previous::remember(replaced.sa_sigaction, replaced.sa_flags)
}

fn is_ours(action: &libc::sigaction) -> bool {
    action.sa_sigaction == ours().sa_sigaction
}

fn ours() -> libc::sigaction {
    let handler: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) = on_bus_error;
    let mut action = default_action();
    action.sa_sigaction = handler as libc::sighandler_t;
    // ONSTACK: handlers that came before may count on a stack of their own. RESTART: a SIGBUS that is sent disturbs no
    // system call more than it must. Not NODEFER: a second signal within the first or last instructions of this handler
    // could not be told from one that a handler in front or behind raised.
    action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
    action
}

#[expect(unsafe_code, reason = "a C structure that is zero by default")]
fn default_action() -> libc::sigaction {
    // SAFETY: all zeroes are SIG_DFL, an empty mask, no flags and no restorer.
    unsafe { MaybeUninit::<libc::sigaction>::zeroed().assume_init() }
}

#[expect(unsafe_code, reason = "sigaction")]
fn current() -> Result<libc::sigaction, Refusal> {
    let mut found = default_action();
    // SAFETY: without a new action it only writes the old one, to a place of its type.
    let status = unsafe { libc::sigaction(libc::SIGBUS, std::ptr::null(), &raw mut found) };
    if status == 0 { Ok(found) } else { Err(Refusal::Handler) }
}

#[expect(unsafe_code, reason = "sigaction")]
fn replace(action: &libc::sigaction) -> Result<libc::sigaction, Refusal> {
    let mut replaced = default_action();
    // SAFETY: the action is the default one, or a handler of this library, which is never unloaded.
    let status = unsafe { libc::sigaction(libc::SIGBUS, action, &raw mut replaced) };
    if status == 0 { Ok(replaced) } else { Err(Refusal::Handler) }
}

/// A code of `<asm-generic/siginfo.h>`: a memory error was found that no instruction has run into yet.
const BUS_MCEERR_AO: libc::c_int = 5;

#[expect(unsafe_code, reason = "a signal handler")]
extern "C" fn on_bus_error(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the kernel passes a valid structure, as SA_SIGINFO asks for; who calls a previous handler by hand does too.
    let told = unsafe { &*info };
    let code = told.si_code;
    // SAFETY: codes other than a fault's leave other things in this place, which are only compared.
    let address = unsafe { told.si_addr() } as usize;
    let machine = context.cast::<libc::ucontext_t>();
    // SAFETY: as above, and nobody else uses the interrupted thread's registers meanwhile.
    let register = unsafe { &mut (*machine).uc_mcontext.gregs[RIP] };
    let instruction = usize::from_ne_bytes(register.to_ne_bytes());
    let is_fault = 0 < code && code != BUS_MCEERR_AO;
    let place = routine::place(instruction);
    if let (Place::Inside { fault_exit }, true) = (place, is_fault) {
        *register = i64::from_ne_bytes(fault_exit.to_ne_bytes());
        return;
    }
    let slot = threads::slot_of_this_thread();
    if !is_fault && place == Place::Outside && slot.is_some_and(|slot| slot.is_copying() && slot.depth() == 0)
    {
        // The note that the thread copies stands, yet it is elsewhere: a handler that came in front of ours runs on top
        // of a copy that faulted, has put ours back, and raised again. The copy will fault once more, now into ours.
        return;
    }
    let fault = is_fault.then_some((instruction, address));
    let passed = Passed { signal, info, context };
    if slot.is_some() {
        return pass_on(slot, fault, passed);
    }
    let claimed = threads::claim_slot();
    pass_on(claimed, fault, passed);
    if let Some(slot) = claimed {
        slot.release();
    }
}

const RIP: usize = libc::REG_RIP as usize;

/// What the kernel passes to a handler.
#[derive(Clone, Copy)]
struct Passed {
    signal: libc::c_int,
    info: *mut libc::siginfo_t,
    context: *mut libc::c_void,
}

#[expect(unsafe_code, reason = "reads what the kernel passed")]
fn interrupted(context: *mut libc::c_void) -> usize {
    let machine = context.cast::<libc::ucontext_t>();
    // SAFETY: the kernel passes a valid structure, whose registers only handlers on this thread use.
    let register = unsafe { (*machine).uc_mcontext.gregs[RIP] };
    usize::from_ne_bytes(register.to_ne_bytes())
}

/// Gives a signal to the newest handler that is not running on this thread yet and has not had its chance. Where the
/// thread's slot could not be had, or there is none left, the default takes place.
fn pass_on(slot: Option<&Slot>, fault: Option<(usize, usize)>, passed: Passed) {
    let Some(slot) = slot else {
        return end_process(fault.is_some());
    };
    let depth = slot.depth();
    let in_vain = match fault {
        Some((instruction, address)) => slot.given_in_vain(instruction, address),
        None => slot.raised_in_vain(),
    };
    let Some((previous, next)) = previous::newest_but(depth + in_vain).map(|it| (it, depth + in_vain + 1))
    else {
        return end_process(fault.is_some());
    };
    match previous.take() {
        libc::SIG_DFL => end_process(fault.is_some()),
        // The kernel does not let a fault be ignored. Here it comes again, until it has been given in vain.
        libc::SIG_IGN => {}
        handler => {
            slot.set_depth(next);
            call(handler, previous.flags(), slot, passed);
            slot.set_depth(depth);
            if fault.is_some_and(|(instruction, _)| instruction != interrupted(passed.context)) {
                slot.forget_fault();
            }
        }
    }
}

/// Calls a handler as the kernel would: with SIGBUS blocked, as it is in ours, or not.
fn call(handler: libc::sighandler_t, flags: i32, slot: &Slot, passed: Passed) {
    if flags & libc::SA_NODEFER == 0 {
        call_as_it_is(handler, flags, passed);
        return slot.note_raise(is_waiting());
    }
    change_mask(libc::SIG_UNBLOCK);
    call_as_it_is(handler, flags, passed);
    change_mask(libc::SIG_BLOCK);
}

#[expect(unsafe_code, reason = "calls a handler by its address")]
fn call_as_it_is(handler: libc::sighandler_t, flags: i32, passed: Passed) {
    let Passed { signal, info, context } = passed;
    if flags & libc::SA_SIGINFO != 0 {
        type Handler = extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void);
        // SAFETY: its owner had given this address to the kernel, to be called with these arguments.
        let handler = unsafe { std::mem::transmute::<libc::sighandler_t, Handler>(handler) };
        handler(signal, info, context);
    } else {
        // SAFETY: as above, with the signal alone.
        let handler =
            unsafe { std::mem::transmute::<libc::sighandler_t, extern "C" fn(libc::c_int)>(handler) };
        handler(signal);
    }
}

#[expect(unsafe_code, reason = "sigsets are filled in by C")]
fn change_mask(how: libc::c_int) {
    let mut set = MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: makes the set empty.
    unsafe { libc::sigemptyset(set.as_mut_ptr()) };
    // SAFETY: an initialised set, and a signal's number.
    unsafe { libc::sigaddset(set.as_mut_ptr(), libc::SIGBUS) };
    // SAFETY: an initialised set; the old one is not asked for.
    unsafe { libc::pthread_sigmask(how, set.as_ptr(), std::ptr::null_mut()) };
}

/// Whether another SIGBUS will come as soon as this one is over.
#[expect(unsafe_code, reason = "sigpending")]
fn is_waiting() -> bool {
    let mut set = MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: writes a set, to a place of its size.
    unsafe { libc::sigpending(set.as_mut_ptr()) };
    // SAFETY: a set that is initialised, by zeroes if not by the call.
    unsafe { libc::sigismember(set.as_ptr(), libc::SIGBUS) == 1 }
}

/// Lets the process end as it would have without us, once this handler returns: a fault by being run into again, so that
/// what is reported is its own place; a signal that was sent by being sent again.
#[expect(unsafe_code, reason = "raise")]
fn end_process(is_fault: bool) {
    let _ = replace(&default_action());
    if !is_fault {
        // SAFETY: takes a signal's number.
        unsafe { libc::raise(libc::SIGBUS) };
    }
}
