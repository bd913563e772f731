//! Ending reads early, and reading from many threads.

use crate::block_on::waker;
use crate::written::Spec;
use std::future::Future;
use std::sync::Barrier;
use std::task::Context;
use std::time::{Duration, Instant};
use swath_ioengine::{Control, Engine, EngineConfig, SimulatedConfig, SimulatedRemote};
use swath_zarr_front::{Array, ErrorKind, ReadOptions, Selection, Store};

/// A remote array whose objects take a while.
fn slow(latency: Duration) -> (SimulatedRemote, Array) {
    let written = Spec::sharded(&[32, 32], &[8, 8], &[&[4, 4]]).write();
    let remote = SimulatedRemote::new(SimulatedConfig { latency, ..SimulatedConfig::default() }).unwrap();
    written.put_to(&remote);
    let array = Array::open_in(&Store::new(remote.medium(), "", "remote"), "").unwrap();
    (remote, array.with_engine(Engine::new(EngineConfig::default())))
}

#[test]
fn cancel_deadline_and_interrupt_end_a_read() {
    let (_remote, array) = slow(Duration::from_millis(300));
    let read = |options: &ReadOptions<'_>| {
        let started = Instant::now();
        let error = array.read_with(&Selection::all(), options).unwrap_err();
        assert!(started.elapsed() < Duration::from_secs(20));
        assert_eq!(error.object(), Some("remote"), "{error}");
        error.kind()
    };
    let cancelled = Control::new();
    cancelled.cancel();
    assert_eq!(read(&ReadOptions { control: cancelled, ..ReadOptions::default() }), ErrorKind::Cancelled);
    for wait in [Duration::ZERO, Duration::from_millis(5)] {
        let deadline = Some(Instant::now() + wait);
        assert_eq!(read(&ReadOptions { deadline, ..ReadOptions::default() }), ErrorKind::DeadlineExceeded);
    }
    let interrupt = Some(&(|| true) as &dyn Fn() -> bool);
    assert_eq!(read(&ReadOptions { interrupt, ..ReadOptions::default() }), ErrorKind::Cancelled);
    let control = Control::new();
    std::thread::scope(|scope| {
        let cancels = control.clone();
        scope.spawn(move || cancels.cancel());
        let options = ReadOptions { control: control.clone(), ..ReadOptions::default() };
        assert_eq!(read(&options), ErrorKind::Cancelled);
    });
}

#[test]
fn a_dropped_future_leaves_no_trace() {
    let (_remote, array) = slow(Duration::from_millis(10));
    let waker = waker();
    for _ in 0..5 {
        let selection = Selection::all();
        let mut read = Box::pin(array.read_async(&selection));
        assert!(read.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        drop(read);
    }
    let written = Spec::sharded(&[32, 32], &[8, 8], &[&[4, 4]]).write();
    assert_eq!(array.read(&Selection::all()).unwrap().as_bytes(), written.select(&Selection::all()));
}

#[test]
fn eight_threads_read_each_index_once() {
    const THREADS: usize = 8;
    let written = Spec::sharded(&[64, 64], &[16, 16], &[&[4, 4]]).write();
    let memory = written.memory();
    let engine = Engine::new(EngineConfig::default());
    let array = Array::open_in(&Store::memory(&memory), "").unwrap().with_engine(engine.clone());
    let start = Barrier::new(THREADS);
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (array, written, start) = (&array, &written, &start);
            scope.spawn(move || {
                let crops: Vec<Selection> = (0..16)
                    .map(|crop| format!("{}:{}, ::{}", crop, crop + 40, thread + 1).parse().unwrap())
                    .collect();
                start.wait();
                for (crop, read) in crops.iter().zip(array.read_many(&crops).unwrap()) {
                    assert_eq!(read.as_bytes(), written.select(crop));
                }
                assert_eq!(
                    array.read(&Selection::all()).unwrap().as_bytes(),
                    written.select(&Selection::all())
                );
            });
        }
    });
    // Every thread reads every chunk once for its last read, and those that its crops touch once for all of them.
    let chunks_of_crops: u64 = (0..THREADS)
        .map(|thread| {
            let columns =
                (0..64).step_by(thread + 1).map(|x| x / 4).collect::<std::collections::BTreeSet<_>>();
            14 * columns.len() as u64
        })
        .sum();
    assert_eq!(engine.stats().logical_reads, THREADS as u64 * 256 + chunks_of_crops + 16);
}

#[test]
fn targets_of_another_length_are_refused() {
    let written = Spec::plain(&[4], &[2]).write();
    let array = Array::open_in(&Store::memory(&written.memory()), "").unwrap();
    for len in [0, 7, 9] {
        let error = array.read_into(&Selection::all(), &mut vec![0; len]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(error.message().contains(&format!("8 bytes, found {len}")), "{error}");
    }
    assert_eq!(array.read(&"9".parse().unwrap()).unwrap_err().kind(), ErrorKind::OutOfBounds);
}
