//! The handler among others.
#![expect(unsafe_code, reason = "installs handlers and sends signals")]

use super::{case_in_child, in_child, mapped, numbered};
use crate::media::files::mapping::enabled::{CopyGuard, Mapping};
use crate::media::files::mapping::{Fault, Refusal};
use std::fs::File;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, AtomicUsize, Ordering};

type Handler = extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void);

/// Installs a handler of SIGBUS, and returns the one that it replaced.
fn install(handler: libc::sighandler_t, flags: i32) -> (libc::sighandler_t, i32) {
    // SAFETY: a C structure that is zero by default.
    let mut action = unsafe { MaybeUninit::<libc::sigaction>::zeroed().assume_init() };
    let mut replaced = action;
    (action.sa_sigaction, action.sa_flags) = (handler, flags);
    // SAFETY: the handler is a function of this program, or a constant; both structures are valid.
    assert_eq!(unsafe { libc::sigaction(libc::SIGBUS, &raw const action, &raw mut replaced) }, 0);
    (replaced.sa_sigaction, replaced.sa_flags)
}

fn install_own(handler: Handler, flags: i32) -> (libc::sighandler_t, i32) {
    install(handler as libc::sighandler_t, flags | libc::SA_SIGINFO)
}

/// A mapping of two pages, of which the file has lost the second one.
fn half_gone() -> (File, Mapping) {
    let (file, _) = numbered(8192);
    let mapping = mapped(&file);
    file.set_len(4096).unwrap();
    (file, mapping)
}

fn copy_gone(guard: &CopyGuard, mapping: &Mapping) -> Result<(), Fault> {
    mapping.copy(guard, 6000, &mut [0; 100])
}

/// Runs into the missing page outside the routine.
fn touch_gone(mapping: &Mapping) {
    let gone = mapping.start.as_ptr().wrapping_add(6000);
    // SAFETY: it is not sound: the read faults, which is the test.
    unsafe { gone.read_volatile() };
}

fn send_to_self() {
    // SAFETY: takes a signal's number.
    unsafe { libc::raise(libc::SIGBUS) };
}

fn write_error(text: &str) {
    // SAFETY: a slice's address and length.
    unsafe { libc::write(2, text.as_ptr().cast(), text.len()) };
}

#[test]
fn the_default_ends_the_process() {
    for (case, end) in [("fault", touch_gone as fn(&Mapping)), ("sent", |_| send_to_self())] {
        case_in_child(module_path!(), "the_default_ends_the_process", case, || {
            install(libc::SIG_DFL, 0);
            let (_file, mapping) = half_gone();
            assert_eq!(copy_gone(&CopyGuard::look().unwrap(), &mapping), Err(Fault));
            end(&mapping);
        })
        .dies_of_a_bus_error();
    }
}

#[test]
fn ignored_signals_are_ignored_and_faults_are_not() {
    case_in_child(module_path!(), "ignored_signals_are_ignored_and_faults_are_not", "sent", || {
        install(libc::SIG_IGN, 0);
        let (_file, mapping) = half_gone();
        let guard = CopyGuard::look().unwrap();
        send_to_self();
        assert_eq!(copy_gone(&guard, &mapping), Err(Fault));
    })
    .succeeds();
    case_in_child(module_path!(), "ignored_signals_are_ignored_and_faults_are_not", "fault", || {
        install(libc::SIG_IGN, 0);
        let (_file, mapping) = half_gone();
        let _guard = CopyGuard::look().unwrap();
        touch_gone(&mapping);
    })
    .dies_of_a_bus_error();
}

#[test]
fn a_fault_outside_the_routine_reaches_the_handler_before() {
    extern "C" fn leave(_: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
        // SAFETY: the kernel's structure, passed on.
        let told = unsafe { &*info };
        // SAFETY: it tells of a fault, which has an address.
        let address = unsafe { told.si_addr() };
        let is_right = address as usize == ADDRESS.load(Ordering::SeqCst);
        // SAFETY: takes no pointer.
        unsafe { libc::_exit(if is_right { 7 } else { 8 }) };
    }
    static ADDRESS: AtomicUsize = AtomicUsize::new(0);
    in_child(module_path!(), "a_fault_outside_the_routine_reaches_the_handler_before", || {
        install_own(leave, 0);
        let (_file, mapping) = half_gone();
        assert_eq!(copy_gone(&CopyGuard::look().unwrap(), &mapping), Err(Fault));
        ADDRESS.store(mapping.start.as_ptr() as usize + 6000, Ordering::SeqCst);
        // In a thread that has never copied.
        std::thread::scope(|scope| scope.spawn(|| touch_gone(&mapping)).join().unwrap());
    })
    .exits(7);
}

#[test]
fn a_handler_of_one_argument_is_called_and_one_that_runs_once_runs_once() {
    extern "C" fn tell(signal: libc::c_int) {
        write_error(if signal == libc::SIGBUS { "told\n" } else { "wrong signal\n" });
    }
    let name = "a_handler_of_one_argument_is_called_and_one_that_runs_once_runs_once";
    in_child(module_path!(), name, || {
        let handler: extern "C" fn(libc::c_int) = tell;
        install(handler as libc::sighandler_t, libc::SA_RESETHAND);
        let _guard = CopyGuard::look().unwrap();
        send_to_self();
        write_error("survived\n");
        send_to_self();
    })
    .dies_of_a_bus_error()
    .wrote("told\n", 1)
    .wrote("survived\n", 1);
}

#[test]
fn signals_sent_during_copies_reach_the_handler_before_and_disturb_no_copy() {
    extern "C" fn count(_: libc::c_int, _: *mut libc::siginfo_t, _: *mut libc::c_void) {
        COUNTED.fetch_add(1, Ordering::SeqCst);
    }
    static COUNTED: AtomicUsize = AtomicUsize::new(0);
    const SENT: usize = 2000;
    let name = "signals_sent_during_copies_reach_the_handler_before_and_disturb_no_copy";
    in_child(module_path!(), name, || {
        install_own(count, 0);
        let (file, bytes) = numbered(1 << 20);
        let mapping = mapped(&file);
        let (stop, thread) = (AtomicBool::new(false), AtomicU64::new(0));
        CopyGuard::look().unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                // SAFETY: cannot fail.
                thread.store(unsafe { libc::pthread_self() }, Ordering::SeqCst);
                let mut target = vec![0; bytes.len()];
                // Long ones by `rep movsb` and rows by vectors, so that most signals fall into the routine.
                let rows = crate::media::files::mapping::Rows {
                    rows: 1 << 10,
                    row_bytes: 1 << 10,
                    source_stride: 1 << 10,
                    target_stride: 1 << 10,
                };
                while !stop.load(Ordering::Relaxed) {
                    target.fill(0);
                    mapping.copy(&CopyGuard::look().unwrap(), 0, &mut target).unwrap();
                    assert!(target == bytes);
                    target.fill(0);
                    super::copy_rows(&mapping, 0, &rows, &mut target).unwrap();
                    assert!(target == bytes);
                }
            });
            while thread.load(Ordering::SeqCst) == 0 {
                std::thread::yield_now();
            }
            for sent in 1..=SENT {
                // SAFETY: the thread runs until it is told to stop.
                unsafe { libc::pthread_kill(thread.load(Ordering::SeqCst), libc::SIGBUS) };
                // One after the other: equal signals that wait are delivered once.
                while COUNTED.load(Ordering::SeqCst) < sent {
                    std::thread::yield_now();
                }
            }
            stop.store(true, Ordering::Relaxed);
        });
        assert_eq!(COUNTED.load(Ordering::SeqCst), SENT);
    })
    .succeeds();
}

#[test]
fn a_thread_that_blocks_the_signal_is_refused() {
    in_child(module_path!(), "a_thread_that_blocks_the_signal_is_refused", || {
        let (_file, mapping) = half_gone();
        let change = |how| {
            let mut set = MaybeUninit::<libc::sigset_t>::zeroed();
            // SAFETY: makes the set empty.
            unsafe { libc::sigemptyset(set.as_mut_ptr()) };
            // SAFETY: an initialised set.
            unsafe { libc::sigaddset(set.as_mut_ptr(), libc::SIGBUS) };
            // SAFETY: as above; the old set is not asked for.
            unsafe { libc::pthread_sigmask(how, set.as_ptr(), std::ptr::null_mut()) };
        };
        assert!(CopyGuard::look().is_ok());
        change(libc::SIG_BLOCK);
        assert_eq!(CopyGuard::look().err(), Some(Refusal::Blocked));
        change(libc::SIG_UNBLOCK);
        assert_eq!(copy_gone(&CopyGuard::look().unwrap(), &mapping), Err(Fault));
    })
    .succeeds();
}

/// What CPython's `faulthandler` does on SIGBUS: print, put the handler before back, raise again.
mod imitation {
    use super::{AtomicBool, AtomicI32, AtomicUsize, Ordering, install, send_to_self, write_error};

    static BEFORE: AtomicUsize = AtomicUsize::new(0);
    static BEFORE_FLAGS: AtomicI32 = AtomicI32::new(0);
    static IS_ENABLED: AtomicBool = AtomicBool::new(false);

    pub(super) const TRACEBACK: &str = "Fatal Python error: Bus error\n";

    pub(super) fn enable() {
        let handler: extern "C" fn(libc::c_int) = on_signal;
        let (before, flags) = install(handler as libc::sighandler_t, libc::SA_NODEFER);
        BEFORE.store(before, Ordering::SeqCst);
        BEFORE_FLAGS.store(flags, Ordering::SeqCst);
        IS_ENABLED.store(true, Ordering::SeqCst);
    }

    pub(super) fn disable() {
        IS_ENABLED.store(false, Ordering::SeqCst);
        install(BEFORE.load(Ordering::SeqCst), BEFORE_FLAGS.load(Ordering::SeqCst));
    }

    extern "C" fn on_signal(_: libc::c_int) {
        // Called by its address, although it was disabled: it leaves all as it is.
        if !IS_ENABLED.load(Ordering::SeqCst) {
            return;
        }
        write_error(TRACEBACK);
        disable();
        send_to_self();
    }
}

/// What is done before the fault, and the tracebacks of a bus error outside the routine after it.
const ORDERS: [(&str, fn(), usize); 6] = [
    ("before", || step(&[imitation::enable, look]), 1),
    ("after", || step(&[look, imitation::enable, look]), 1),
    ("before, disabled", || step(&[imitation::enable, look, imitation::disable, look]), 0),
    ("after, disabled", || step(&[look, imitation::enable, look, imitation::disable, look]), 0),
    ("twice", || step(&[imitation::enable, look, imitation::disable, look, imitation::enable, look]), 1),
    (
        "after, disabled before the look",
        || step(&[look, imitation::enable, imitation::disable, look, imitation::enable, look]),
        1,
    ),
];

fn step(steps: &[fn()]) {
    install(libc::SIG_DFL, 0);
    steps.iter().for_each(|step| step());
}

fn look() {
    CopyGuard::look().unwrap();
}

#[test]
fn faulthandler_in_any_order_disturbs_no_copy() {
    for (order, prepare, _) in ORDERS {
        case_in_child(module_path!(), "faulthandler_in_any_order_disturbs_no_copy", order, || {
            prepare();
            let (_file, mapping) = half_gone();
            let guard = CopyGuard::look().unwrap();
            assert_eq!(copy_gone(&guard, &mapping), Err(Fault));
            assert_eq!(copy_gone(&guard, &mapping), Err(Fault));
        })
        .succeeds()
        .wrote(imitation::TRACEBACK, 0);
    }
}

#[test]
fn faulthandler_in_any_order_reports_a_bus_error_once() {
    let name = "faulthandler_in_any_order_reports_a_bus_error_once";
    for (order, prepare, tracebacks) in ORDERS {
        for (kind, end) in [("fault", touch_gone as fn(&Mapping)), ("sent", |_| send_to_self())] {
            let ended = case_in_child(module_path!(), name, &format!("{order}, {kind}"), || {
                prepare();
                let (_file, mapping) = half_gone();
                assert_eq!(copy_gone(&CopyGuard::look().unwrap(), &mapping), Err(Fault));
                end(&mapping);
            });
            // A known limit: that it was disabled does not show, and it says nothing of a signal that it leaves.
            let is_left = (order, kind) == ("after, disabled", "sent");
            let ended = if is_left { ended.succeeds() } else { ended.dies_of_a_bus_error() };
            ended.wrote(imitation::TRACEBACK, tracebacks);
        }
    }
}

/// Others than CPython's do not let the signal in while they run: what they raise waits until they return.
#[test]
fn a_handler_that_raises_again_when_it_is_over_ends_the_process() {
    extern "C" fn report(_: libc::c_int) {
        write_error("crashed\n");
        install(BEFORE.load(Ordering::SeqCst), BEFORE_FLAGS.load(Ordering::SeqCst));
        send_to_self();
    }
    static BEFORE: AtomicUsize = AtomicUsize::new(0);
    static BEFORE_FLAGS: AtomicI32 = AtomicI32::new(0);
    let name = "a_handler_that_raises_again_when_it_is_over_ends_the_process";
    for (kind, end) in [("fault", touch_gone as fn(&Mapping)), ("sent", |_| send_to_self())] {
        case_in_child(module_path!(), name, kind, || {
            step(&[look]);
            let handler: extern "C" fn(libc::c_int) = report;
            let (before, flags) = install(handler as libc::sighandler_t, 0);
            BEFORE.store(before, Ordering::SeqCst);
            BEFORE_FLAGS.store(flags, Ordering::SeqCst);
            look();
            let (_file, mapping) = half_gone();
            end(&mapping);
        })
        .dies_of_a_bus_error();
    }
}

/// One that the thread is sent while its handler runs is not taken for one that the handler raised to reach another.
#[test]
fn a_second_signal_waits_until_the_handler_is_over() {
    extern "C" fn count(_: libc::c_int) {
        NESTED.fetch_add(IS_RUNNING.swap(1, Ordering::SeqCst), Ordering::SeqCst);
        if COUNTED.fetch_add(1, Ordering::SeqCst) < 5 {
            send_to_self();
        }
        IS_RUNNING.store(0, Ordering::SeqCst);
    }
    static IS_RUNNING: AtomicUsize = AtomicUsize::new(0);
    static NESTED: AtomicUsize = AtomicUsize::new(0);
    static COUNTED: AtomicUsize = AtomicUsize::new(0);
    in_child(module_path!(), "a_second_signal_waits_until_the_handler_is_over", || {
        let handler: extern "C" fn(libc::c_int) = count;
        install(handler as libc::sighandler_t, 0);
        look();
        send_to_self();
        assert_eq!((COUNTED.load(Ordering::SeqCst), NESTED.load(Ordering::SeqCst)), (6, 0));
    })
    .succeeds();
}

/// As another library does that guards copies of its own, or this one if it is loaded twice.
#[test]
fn a_handler_that_continues_elsewhere_is_called_every_time() {
    extern "C" fn step_over(_: libc::c_int, _: *mut libc::siginfo_t, context: *mut libc::c_void) {
        let machine = context.cast::<libc::ucontext_t>();
        // SAFETY: the kernel's structure, passed on. The one instruction that faults here is of two bytes.
        unsafe { (*machine).uc_mcontext.gregs[libc::REG_RIP as usize] += 2 };
        STEPS.fetch_add(1, Ordering::SeqCst);
    }
    static STEPS: AtomicUsize = AtomicUsize::new(0);
    in_child(module_path!(), "a_handler_that_continues_elsewhere_is_called_every_time", || {
        install_own(step_over, 0);
        look();
        let (_file, mapping) = half_gone();
        let gone = mapping.start.as_ptr().wrapping_add(6000);
        for _ in 0..100 {
            // SAFETY: the handler steps over the load.
            unsafe { std::arch::asm!("mov al, [rdi]", in("rdi") gone, out("al") _, options(nostack)) };
        }
        assert_eq!(STEPS.load(Ordering::SeqCst), 100);
    })
    .succeeds();
}

/// It returns from a fault as if it had done something about it.
#[test]
fn a_handler_that_does_nothing_does_not_keep_a_fault_going() {
    extern "C" fn nothing(_: libc::c_int) {}
    in_child(module_path!(), "a_handler_that_does_nothing_does_not_keep_a_fault_going", || {
        install(libc::SIG_DFL, 0);
        look();
        let handler: extern "C" fn(libc::c_int) = nothing;
        install(handler as libc::sighandler_t, libc::SA_NODEFER);
        look();
        let (_file, mapping) = half_gone();
        touch_gone(&mapping);
    })
    .dies_of_a_bus_error();
}

#[test]
fn faulthandler_enabled_within_a_window_loses_no_fault() {
    in_child(module_path!(), "faulthandler_enabled_within_a_window_loses_no_fault", || {
        install(libc::SIG_DFL, 0);
        let (_file, mapping) = half_gone();
        let guard = CopyGuard::look().unwrap();
        imitation::enable();
        assert_eq!(copy_gone(&guard, &mapping), Err(Fault));
        assert!(!guard.slot().is_copying());
        assert_eq!(copy_gone(&guard, &mapping), Err(Fault));
    })
    .succeeds()
    // The price: a report of what was not an error of the process.
    .wrote(imitation::TRACEBACK, 1);
}

#[test]
fn another_handler_that_calls_the_one_before_by_hand_loses_no_fault() {
    extern "C" fn chain(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
        // SAFETY: the address is that of a handler of this type, which was found installed.
        let before = unsafe { std::mem::transmute::<usize, Handler>(BEFORE.load(Ordering::SeqCst)) };
        before(signal, info, context);
    }
    static BEFORE: AtomicUsize = AtomicUsize::new(0);
    let name = "another_handler_that_calls_the_one_before_by_hand_loses_no_fault";
    case_in_child(module_path!(), name, "copy", || {
        let (_file, mapping) = half_gone();
        let guard = CopyGuard::look().unwrap();
        BEFORE.store(install_own(chain, 0).0, Ordering::SeqCst);
        assert_eq!(copy_gone(&guard, &mapping), Err(Fault));
        let guard = CopyGuard::look().unwrap();
        assert_eq!(copy_gone(&guard, &mapping), Err(Fault));
    })
    .succeeds();
    case_in_child(module_path!(), name, "outside", || {
        install(libc::SIG_DFL, 0);
        let (_file, mapping) = half_gone();
        CopyGuard::look().unwrap();
        BEFORE.store(install_own(chain, 0).0, Ordering::SeqCst);
        CopyGuard::look().unwrap();
        touch_gone(&mapping);
    })
    .dies_of_a_bus_error();
}
