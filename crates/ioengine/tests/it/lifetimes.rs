//! What is freed, when, and by whom: batches, engines, lanes.

use crate::batches::{Reads, bounded, made};
use crate::stand::{Kind, noise, until, within_a_minute};
use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};
use swath_ioengine::{
    Batch, Control, Cursor, Engine, EngineConfig, ErrorKind, LaneContext, Limits, MemoryMedium, ObjectRef,
    PlanContext, Planned, RangeRead, Resume, RunOptions, SimulatedConfig, SimulatedRemote, Token, Window,
};

fn lanes(lanes: usize) -> Engine {
    let limits = Limits { lanes, inline_reads_max: 0, ..Limits::default() };
    Engine::new(EngineConfig { limits, ..EngineConfig::default() })
}

fn memory() -> ObjectRef {
    let memory = MemoryMedium::new();
    memory.put("a", noise(1, 10_000));
    memory.object("a")
}

fn slow(latency: Duration) -> (SimulatedRemote, ObjectRef) {
    let config = SimulatedConfig { latency, ..SimulatedConfig::default() };
    let remote = SimulatedRemote::new(config).unwrap();
    remote.put("a", noise(1, 10_000));
    let object = remote.object("a");
    (remote, object)
}

/// A batch of one-read windows that holds `held` and calls `on_read`.
fn simple<T: Send + Sync + 'static>(
    object: ObjectRef,
    windows: u64,
    held: T,
    on_read: impl Fn(&T) + Send + Sync + 'static,
) -> Arc<dyn Batch> {
    Arc::new(made(
        windows,
        move |cursor: Cursor, _, window: &mut Window<'_, '_>| {
            window.set_object(object.clone());
            window.read(bounded(cursor.window % 100, 9000), Token(cursor.window));
            Planned::Complete
        },
        move |_, _, _| on_read(&held),
    ))
}

/// Whether lane 70 runs: no engine of another test has as many.
fn lane_70_runs() -> bool {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let mut names = tasks.filter_map(|task| std::fs::read_to_string(task.unwrap().path().join("comm")).ok());
    names.any(|name| name.trim_end() == "swath-lane-70")
}

#[test]
fn lanes_start_with_their_first_batch_and_end_with_the_engine() {
    within_a_minute(|| {
        let engine = lanes(71);
        let other = engine.clone();
        assert!(!lane_70_runs());
        let alive = Arc::new(());
        engine
            .spawn(simple(memory(), 100, Arc::clone(&alive), |_| {}), &RunOptions::default())
            .wait()
            .unwrap();
        drop(engine);
        other
            .spawn(simple(memory(), 100, Arc::clone(&alive), |_| {}), &RunOptions::default())
            .wait()
            .unwrap();
        drop(other);
        // A thread that was joined may still be listed for a moment.
        until("the lanes are gone", || !lane_70_runs());
        assert_eq!(Arc::strong_count(&alive), 1);
    });
}

#[derive(Default)]
struct Witness(Mutex<Option<Arc<()>>>);

#[test]
fn a_batch_says_up_to_how_many_bytes_it_runs_on_its_caller() {
    within_a_minute(|| {
        let (engine, memory) = (Engine::new(EngineConfig::default()), MemoryMedium::new());
        memory.put("a", noise(1, 3 << 20));
        let range = RangeRead { object: 0, range: bounded(0, 1 << 20) };
        let ran_on = |inline_bytes_max| {
            let found = Mutex::new(None);
            let sink = |_: usize, read: Result<&[u8], _>| {
                *found.lock().unwrap() = Some((read.unwrap().len(), std::thread::current().id()));
            };
            let options = RunOptions { inline_bytes_max, ..RunOptions::default() };
            let reads = std::slice::from_ref(&range);
            engine.read_ranges(&[memory.object("a")], reads, sink, &options).unwrap();
            let (len, thread) = found.into_inner().unwrap().unwrap();
            assert_eq!(len, 1 << 20);
            thread
        };
        let own = std::thread::current().id();
        assert_ne!(ran_on(None), own);
        assert_eq!(ran_on(Some(1 << 20)), own);
        assert_ne!(ran_on(Some((1 << 20) - 1)), own);
    });
}

#[test]
fn an_engine_that_ran_inline_is_freed() {
    within_a_minute(|| {
        let stand = Kind::InlineFiles.stand();
        stand.put("a", &noise(1, 10_000));
        let alive = Arc::new(());
        *stand.engine.extension::<Witness>().0.lock().unwrap() = Some(Arc::clone(&alive));
        let batch = Reads::new(vec![stand.object("a")], &[(0, bounded(0, 100))], 1);
        stand.engine.run(&batch, &RunOptions::default()).unwrap();
        assert_eq!(stand.engine.stats().inline_batches, 1);
        drop(stand);
        assert_eq!(Arc::strong_count(&alive), 1, "what the engine holds is freed with it");
    });
}

#[test]
fn an_engine_dropped_by_its_own_lane_ends() {
    within_a_minute(|| {
        for round in 0..50 {
            let engine = lanes(3);
            let alive = Arc::new(());
            *engine.extension::<Witness>().0.lock().unwrap() = Some(Arc::clone(&alive));
            let finished = Arc::new(AtomicBool::new(false));
            // The batch holds the engine, nobody holds the batch: the lane that lets go of it last drops both.
            let held = (engine.clone(), Arc::clone(&finished));
            let running = engine.spawn(
                simple(memory(), 20, held, |(_, finished)| finished.store(true, Ordering::SeqCst)),
                &RunOptions::default(),
            );
            drop(engine);
            if round % 2 == 0 {
                until("a read is delivered", || finished.load(Ordering::SeqCst));
            }
            drop(running);
            until("the engine is freed", || Arc::strong_count(&alive) == 1);
        }
    });
}

#[test]
fn an_engine_dropped_with_reads_in_flight_reaps_them() {
    within_a_minute(|| {
        for kind in [Kind::IoUring, Kind::PreadThreads, Kind::Memory, Kind::FaultyFiles(3)] {
            for _ in 0..20 {
                let stand = kind.stand();
                stand.put("a", &noise(1, 10_000));
                let alive = Arc::new(());
                let batch = simple(stand.object("a"), 100_000, Arc::clone(&alive), |_| {});
                let running = stand.engine.spawn(batch, &RunOptions::default());
                let dropping = std::thread::spawn(move || drop(stand));
                drop(running);
                dropping.join().unwrap();
                until("the batch is freed", || Arc::strong_count(&alive) == 1);
            }
        }
    });
}

/// Once a waiter is told, the batch is the waiter's alone.
#[test]
fn a_finished_batch_is_let_go_before_its_waiter_is_told() {
    within_a_minute(|| {
        let engine = lanes(2);
        for round in 0..300 {
            let alive = Arc::new(());
            let control = Control::new();
            let options = RunOptions { control: control.clone(), ..RunOptions::default() };
            let running = engine.spawn(simple(memory(), round % 20, Arc::clone(&alive), |_| {}), &options);
            if round % 3 == 0 {
                control.cancel();
            }
            let _ = running.wait();
            assert_eq!(Arc::strong_count(&alive), 1);
        }
    });
}

/// A lane that waits for one batch keeps no other alive.
#[test]
fn waiting_and_idle_lanes_keep_no_batch() {
    within_a_minute(|| {
        let engine = lanes(2);
        let (_remote, object) = slow(Duration::from_millis(400));
        let waiting = engine.spawn(simple(object, 4, (), |()| {}), &RunOptions::default());
        std::thread::sleep(Duration::from_millis(50));
        let alive = Arc::new(());
        let start = Instant::now();
        let quick = simple(memory(), 50, Arc::clone(&alive), |_| {});
        engine.spawn(quick, &RunOptions::default()).wait().unwrap();
        until("the quick batch is freed", || Arc::strong_count(&alive) == 1);
        assert!(start.elapsed() < Duration::from_millis(300), "{:?}", start.elapsed());
        waiting.wait().unwrap();
    });
}

#[test]
fn a_panicking_interrupt_ends_the_batch_first() {
    within_a_minute(|| {
        let engine = lanes(2);
        let (_remote, object) = slow(Duration::from_millis(300));
        let delivered = Arc::new(AtomicU64::new(0));
        let batch = simple(object, 4000, Arc::clone(&delivered), |count| {
            count.fetch_add(1, Ordering::SeqCst);
        });
        let interrupt = || panic!("injected");
        let options = RunOptions { interrupt: Some(&interrupt), ..RunOptions::default() };
        let run = std::panic::AssertUnwindSafe(|| engine.run(batch.as_ref(), &options));
        let panic = std::panic::catch_unwind(run).unwrap_err();
        assert_eq!(panic.downcast_ref::<&str>(), Some(&"injected"));
        assert_eq!(Arc::strong_count(&batch), 1);
        let after = delivered.load(Ordering::SeqCst);
        std::thread::sleep(Duration::from_millis(50));
        assert_eq!(delivered.load(Ordering::SeqCst), after);
    });
}

#[test]
fn an_interrupt_cancels() {
    within_a_minute(|| {
        let engine = lanes(1);
        let (_remote, object) = slow(Duration::from_millis(200));
        let options = RunOptions { interrupt: Some(&|| true), ..RunOptions::default() };
        let error = engine.run(simple(object, 1000, (), |()| {}).as_ref(), &options).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Cancelled);
    });
}

#[test]
fn a_sink_that_would_wait_for_its_own_lane_is_refused() {
    within_a_minute(|| {
        let engine = lanes(1);
        let other = lanes(1);
        let found = Arc::new(Mutex::new(Vec::new()));
        let held = (engine.clone(), other, Arc::clone(&found));
        let batch = simple(memory(), 1, held, |(engine, other, found)| {
            let nested = || simple(memory(), 10, (), |()| {});
            let results = [
                engine.run(nested().as_ref(), &RunOptions::default()),
                engine.spawn(nested(), &RunOptions::default()).wait(),
                other.run(nested().as_ref(), &RunOptions::default()),
            ];
            found.lock().unwrap().extend(results.map(|result| result.map_err(|error| error.kind())));
        });
        engine.run(batch.as_ref(), &RunOptions::default()).unwrap();
        let refused = Err(ErrorKind::Unsupported);
        assert_eq!(*found.lock().unwrap(), [refused, refused, Ok(())]);
    });
}

#[test]
fn a_kept_resumption_keeps_neither_batch_nor_engine() {
    within_a_minute(|| {
        let engine = lanes(1);
        let alive = Arc::new(());
        *engine.extension::<Witness>().0.lock().unwrap() = Some(Arc::clone(&alive));
        let kept: Arc<Mutex<Vec<Resume>>> = Arc::default();
        let (keep, held) = (Arc::clone(&kept), Arc::clone(&alive));
        let batch = made(
            1,
            move |_, context: &PlanContext<'_>, _: &mut Window<'_, '_>| {
                let _held = &held;
                keep.lock().unwrap().push(context.resume());
                Planned::Parked
            },
            |_, _, _| {},
        );
        let running = engine.spawn(Arc::new(batch), &RunOptions::default());
        until("it has parked", || !kept.lock().unwrap().is_empty());
        drop((running, engine));
        until("batch and engine are freed", || Arc::strong_count(&alive) == 1);
        kept.lock().unwrap().clear();
    });
}

#[test]
fn a_plan_that_parks_without_a_way_back_is_an_error() {
    let batch = made(1, |_, _, _| Planned::Parked, |_, _, _| {});
    let error = lanes(1).run(&batch, &RunOptions::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Internal);
}

struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Polls a future until it is ready, each time after having been woken only.
fn polled<F: Future>(future: F) -> F::Output {
    let flag = Arc::new(Flag(AtomicBool::new(true)));
    let waker = Waker::from(Arc::clone(&flag));
    let mut future = pin!(future);
    loop {
        until("the future wakes its task", || flag.0.swap(false, Ordering::SeqCst));
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return output;
        }
    }
}

#[test]
fn futures_wake_their_task_and_keep_their_deadline() {
    within_a_minute(|| {
        let engine = lanes(2);
        let (_remote, object) = slow(Duration::from_millis(20));
        polled(engine.spawn(simple(object, 100, (), |()| {}), &RunOptions::default())).unwrap();
        // Nothing is in flight and no lane holds it: it waits for something that does not come.
        let kept: Arc<Mutex<Vec<Resume>>> = Arc::default();
        let keep = Arc::clone(&kept);
        let parked = made(
            3,
            move |_, context: &PlanContext<'_>, _: &mut Window<'_, '_>| {
                keep.lock().unwrap().push(context.resume());
                Planned::Parked
            },
            |_, _, _| {},
        );
        let start = Instant::now();
        let options =
            RunOptions { deadline: Some(start + Duration::from_millis(60)), ..RunOptions::default() };
        let error = polled(engine.spawn(Arc::new(parked), &options)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::DeadlineExceeded);
        assert!(Duration::from_millis(60) <= start.elapsed() && start.elapsed() < Duration::from_millis(600));
    });
}

/// A deadline that passed with reads in flight: the caller waits for them without keeping a core busy.
#[test]
fn waiting_out_a_deadline_does_not_spin() {
    within_a_minute(|| {
        let engine = lanes(1);
        let (_remote, object) = slow(Duration::from_millis(400));
        let options = RunOptions {
            deadline: Some(Instant::now() + Duration::from_millis(10)),
            ..RunOptions::default()
        };
        let before = thread_cpu();
        let error = engine.run(simple(object, 5, (), |()| {}).as_ref(), &options).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::DeadlineExceeded);
        assert!(thread_cpu() - before < Duration::from_millis(100));
    });
}

fn thread_cpu() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(u64::try_from(time.tv_sec).unwrap(), u32::try_from(time.tv_nsec).unwrap())
}

#[test]
fn a_cancelled_control_cancels_what_comes_later() {
    let control = Control::new();
    control.cancel();
    let options = RunOptions { control, ..RunOptions::default() };
    for engine in [lanes(1), Engine::new(EngineConfig::default())] {
        let error = engine.run(simple(memory(), 5, (), |()| {}).as_ref(), &options).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Cancelled);
    }
}

#[test]
fn progress_counts_reads_and_bytes() {
    let control = Control::new();
    let options = RunOptions { control: control.clone(), ..RunOptions::default() };
    lanes(2).run(simple(memory(), 5, (), |()| {}).as_ref(), &options).unwrap();
    assert_eq!(control.progress().delivered_reads, 5);
    assert_eq!(control.progress().delivered_bytes, 45_000);
}

#[test]
fn urgent_batches_come_first() {
    within_a_minute(|| {
        let engine = lanes(1);
        let order: Arc<Mutex<Vec<i32>>> = Arc::default();
        let gate = Arc::new(Mutex::new(()));
        let shut = gate.lock().unwrap();
        let blocked = simple(memory(), 1, Arc::clone(&gate), |gate| drop(gate.lock().unwrap()));
        let first = engine.spawn(blocked, &RunOptions::default());
        std::thread::sleep(Duration::from_millis(20));
        let batch = |priority: i32| {
            let order = Arc::clone(&order);
            let batch = simple(memory(), 100, order, move |order| order.lock().unwrap().push(priority));
            engine.spawn(batch, &RunOptions { priority, ..RunOptions::default() })
        };
        let others = [batch(-1), batch(5), batch(1)];
        drop(shut);
        first.wait().unwrap();
        others.into_iter().for_each(|running| running.wait().unwrap());
        let order = order.lock().unwrap();
        assert!(order.is_sorted_by(|earlier, later| earlier >= later), "{order:?}");
    });
}

/// Deliveries ask for follow-ups by lanes of both kinds at once, while batches come and go: no count is lost.
#[test]
fn batches_that_come_and_go_all_end() {
    within_a_minute(|| {
        let engine = lanes(3);
        let object = memory();
        std::thread::scope(|scope| {
            for thread in 0..4u64 {
                let (engine, object) = (&engine, &object);
                scope.spawn(move || {
                    for round in 0..150u64 {
                        let object = object.clone();
                        let batch = Arc::new(made(
                            round % 7,
                            move |cursor: Cursor, _, window: &mut Window<'_, '_>| {
                                window.set_object(object.clone());
                                window.read(bounded(cursor.step, 10), Token(cursor.step));
                                if cursor.step < 3 {
                                    Planned::More(Cursor { step: cursor.step + 1, ..cursor })
                                } else {
                                    Planned::Complete
                                }
                            },
                            |token, _, lane: &mut LaneContext<'_>| {
                                if token.0 < 3 {
                                    lane.follow_up(Cursor { window: 0, step: 10 + token.0 });
                                }
                            },
                        ));
                        let control = Control::new();
                        let options = RunOptions { control: control.clone(), ..RunOptions::default() };
                        let running = engine.spawn(batch, &options);
                        match (round + thread) % 4 {
                            0 => drop(running),
                            1 => {
                                control.cancel();
                                let _ = running.wait();
                            }
                            _ => running.wait().unwrap(),
                        }
                    }
                });
            }
        });
    });
}
