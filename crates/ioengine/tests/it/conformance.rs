//! What every medium must do, by each way in. A new medium is one line at the end.

use crate::batches::{Reads, bounded, made};
use crate::stand::{Kind, Stand, noise, until, within_a_minute};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use swath_ioengine::{
    Arrival, Batch, ByteRange, Control, Cursor, ErrorKind, LaneContext, Limits, ObjectRef, PlanContext,
    Planned, Resume, RunOptions, Token, Window,
};

/// What a range of an object holds, by the naive reading of its definition.
fn expected(object: Option<&[u8]>, range: ByteRange) -> Result<Vec<u8>, ErrorKind> {
    let Some(object) = object else { return Err(ErrorKind::NotFound) };
    let size = object.len() as u64;
    match range {
        ByteRange::Bounded { len: 0, .. } => Ok(Vec::new()),
        ByteRange::Bounded { offset, len } if offset.checked_add(len).is_some_and(|end| end <= size) => {
            Ok(object[offset as usize..(offset + len) as usize].to_vec())
        }
        ByteRange::Bounded { .. } => Err(ErrorKind::UnexpectedEnd),
        ByteRange::Suffix { len } => Ok(object[(size - len.min(size)) as usize..].to_vec()),
        ByteRange::Whole { len_max } if size <= len_max => Ok(object.to_vec()),
        ByteRange::Whole { .. } => Err(ErrorKind::LimitExceeded),
    }
}

/// Reads by sink, and those of a fixed length once more into targets; compares with slices.
fn check(
    stand: &Stand,
    objects: &[(&str, Option<&[u8]>)],
    wanted: &[(usize, ByteRange)],
    window_reads: usize,
) {
    let references: Vec<ObjectRef> = objects.iter().map(|(key, _)| stand.object(key)).collect();
    let want = |(object, range): &(usize, ByteRange)| expected(objects[*object].1, *range);
    let batch = Reads::new(references.clone(), wanted, window_reads);
    stand.engine.run(&batch, &RunOptions::default()).unwrap();
    for (index, (found, wanted)) in batch.results().iter().zip(wanted).enumerate() {
        assert!(*found == want(wanted), "read {index}, {}: {}", wanted.1, describe(found, &want(wanted)));
    }
    let fixed: Vec<(usize, ByteRange)> = wanted
        .iter()
        .filter(|(_, range)| matches!(range, ByteRange::Bounded { len, .. } if *len < 1 << 30))
        .copied()
        .collect();
    let mut targets: Vec<Vec<u8>> =
        fixed.iter().map(|(_, range)| vec![0xEE; range.len_max() as usize]).collect();
    let wants = fixed
        .iter()
        .zip(&mut targets)
        .map(|((object, range), target)| (*object, *range, Some(&mut target[..])));
    let batch = Reads::into(references, wants, window_reads);
    stand.engine.run(&batch, &RunOptions::default()).unwrap();
    let results = batch.results();
    drop(batch);
    for (index, ((found, wanted), target)) in results.iter().zip(&fixed).zip(&targets).enumerate() {
        match want(wanted) {
            Ok(bytes) => {
                assert!(
                    found.as_ref().is_ok_and(|zeros| zeros.len() == bytes.len()),
                    "read {index}: {found:?}"
                );
                assert!(*target == bytes, "read {index}, {} into its target: wrong bytes", wanted.1);
            }
            Err(kind) => assert_eq!(found.as_ref().err(), Some(&kind), "read {index}, {}", wanted.1),
        }
    }
}

fn describe(found: &Result<Vec<u8>, ErrorKind>, wanted: &Result<Vec<u8>, ErrorKind>) -> String {
    match (found, wanted) {
        (Ok(found), Ok(wanted)) if found.len() == wanted.len() => {
            let at = found.iter().zip(wanted).position(|(found, wanted)| found != wanted);
            format!("of {} bytes, byte {at:?} is the first that is wrong", found.len())
        }
        (found, wanted) => {
            let brief =
                |result: &Result<Vec<u8>, ErrorKind>| result.as_ref().map(Vec::len).map_err(|kind| *kind);
            format!("{:?} instead of {:?}", brief(found), brief(wanted))
        }
    }
}

/// One object `a` of `len` bytes.
fn check_one(kind: Kind, len: usize, wanted: &[ByteRange]) {
    let stand = kind.stand();
    let bytes = noise(len as u64, len);
    stand.put("a", &bytes);
    let wanted: Vec<(usize, ByteRange)> = wanted.iter().map(|range| (0, *range)).collect();
    for window_reads in [1, 100] {
        check(&stand, &[("a", Some(&bytes))], &wanted, window_reads);
    }
}

fn empty_batch(kind: Kind) {
    let stand = kind.stand();
    check(&stand, &[], &[], 1);
    let batch = made(5, |_, _, _| Planned::Complete, |_, _, _| panic!("nothing to deliver"));
    stand.engine.run(&batch, &RunOptions::default()).unwrap();
}

fn zero_lengths(kind: Kind) {
    let nothing = [bounded(0, 0), bounded(10, 0), bounded(1000, 0), bounded(u64::MAX, 0)];
    check_one(kind, 1000, &nothing);
    check_one(kind, 1000, &[bounded(0, 0), bounded(0, 10), bounded(5, 0), ByteRange::Suffix { len: 0 }]);
    check_one(kind, 0, &[bounded(0, 0), ByteRange::Suffix { len: 5 }, ByteRange::Whole { len_max: 0 }]);
}

fn one_byte(kind: Kind) {
    check_one(kind, 1, &[bounded(0, 1), ByteRange::Suffix { len: 1 }, ByteRange::Whole { len_max: 1 }]);
    check_one(kind, 9000, &[bounded(0, 1), bounded(4095, 1), bounded(4096, 1), bounded(8999, 1)]);
}

fn suffixes_and_wholes(kind: Kind) {
    let suffixes = [1, 10, 999, 1000, 1001, u64::MAX].map(|len| ByteRange::Suffix { len });
    check_one(kind, 1000, &suffixes);
    let wholes = [0, 999, 1000, 1001, 1 << 40].map(|len_max| ByteRange::Whole { len_max });
    check_one(kind, 1000, &wholes);
}

fn past_the_end(kind: Kind) {
    let ranges = [
        bounded(0, 1000),
        bounded(990, 10),
        bounded(990, 11),
        bounded(1000, 1),
        bounded(5000, 10),
        bounded(0, 1001),
        bounded(u64::MAX, 1),
        bounded(u64::MAX - 5, 10),
        bounded(500, 10),
    ];
    check_one(kind, 1000, &ranges);
}

fn overlapping_duplicate_unaligned(kind: Kind) {
    let mut ranges: Vec<ByteRange> = (0..60).map(|index| bounded(index * 37, 100 + index * 13)).collect();
    ranges.extend([
        bounded(7, 5000),
        bounded(7, 5000),
        bounded(4095, 2),
        bounded(4097, 8191),
        bounded(1, 65_000),
    ]);
    ranges.reverse();
    check_one(kind, 66_001, &ranges);
}

/// Reads larger than a merge, a split and the whole byte budget.
fn huge(kind: Kind) {
    let limits = Limits {
        lanes: 2,
        split_bytes: 64 << 10,
        remote_split_bytes: 64 << 10,
        merged_bytes_max: 64 << 10,
        remote_merged_bytes_max: 64 << 10,
        in_flight_bytes_max: 300 << 10,
        ..Limits::default()
    };
    let stand = kind.stand_with(limits);
    let bytes = noise(5, (3 << 20) + 3);
    stand.put("a", &bytes);
    let ranges = [
        bounded(0, (3 << 20) + 3),
        bounded(1, 64 << 10),
        bounded(1, (64 << 10) + 1),
        bounded(777, 2 << 20),
        ByteRange::Whole { len_max: 1 << 30 },
        ByteRange::Suffix { len: 500_000 },
        bounded(0, 10),
        bounded(5, (3 << 20) + 3),
    ];
    let wanted: Vec<(usize, ByteRange)> = ranges.iter().map(|range| (0, *range)).collect();
    for window_reads in [1, 10] {
        check(&stand, &[("a", Some(&bytes))], &wanted, window_reads);
    }
}

fn missing_object(kind: Kind) {
    let stand = kind.stand();
    let bytes = noise(1, 100);
    stand.put("here", &bytes);
    let wanted = [(0, bounded(0, 10)), (1, bounded(0, 10)), (1, bounded(20, 5)), (0, bounded(90, 10))];
    check(&stand, &[("here", Some(&bytes)), ("not/here", None)], &wanted, 10);
}

fn targets_direct_and_merged(kind: Kind) {
    let small = (0..200).map(|index| bounded(index * 500, 300));
    let large = (0..10).map(|index| bounded(index * 9000, 8 << 10));
    let ranges: Vec<ByteRange> = small.chain(large).collect();
    check_one(kind, 120_000, &ranges);
}

fn many_objects(kind: Kind) {
    let stand = kind.stand();
    let objects: Vec<(String, Vec<u8>)> =
        (0..300).map(|index| (format!("group/{index}/c"), noise(index, 100 + index as usize))).collect();
    objects.iter().for_each(|(key, bytes)| stand.put(key, bytes));
    let listed: Vec<(&str, Option<&[u8]>)> =
        objects.iter().map(|(key, bytes)| (key.as_str(), Some(&bytes[..]))).collect();
    let wanted: Vec<(usize, ByteRange)> = (0..300)
        .flat_map(|index| [(index, bounded(3, 50)), (index, ByteRange::Suffix { len: 20 })])
        .collect();
    check(&stand, &listed, &wanted, 10);
}

fn thousands_of_reads(kind: Kind) {
    let stand = kind.stand();
    let bytes = noise(3, 1 << 20);
    stand.put("a", &bytes);
    let wanted: Vec<(usize, ByteRange)> = (0..4000u64)
        .map(|index| (0, bounded(index.wrapping_mul(0x9E37_79B9) % 1_000_000, 1 + index * 7 % 9000)))
        .collect();
    check(&stand, &[("a", Some(&bytes))], &wanted, 97);
}

fn several_batches_at_once(kind: Kind) {
    let stand = Arc::new(kind.stand());
    let bytes = Arc::new(noise(4, 300_000));
    stand.put("a", &bytes);
    let threads: Vec<_> = (0..6u64)
        .map(|thread| {
            let (stand, bytes) = (Arc::clone(&stand), Arc::clone(&bytes));
            std::thread::spawn(move || {
                for round in 0..5 {
                    let wanted: Vec<(usize, ByteRange)> = (0..100)
                        .map(|index| (0, bounded((index * 2971 + thread * 13 + round) % 290_000, 2000)))
                        .collect();
                    let batch = Reads::new(vec![stand.object("a")], &wanted, 9);
                    let priority = i32::try_from(thread % 3).unwrap();
                    stand.engine.run(&batch, &RunOptions { priority, ..RunOptions::default() }).unwrap();
                    for (found, (_, range)) in batch.results().iter().zip(&wanted) {
                        assert!(*found == expected(Some(&bytes), *range));
                    }
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

/// A batch of `count` windows, one read each, that counts what it was given and frees `alive` at its end.
fn counting(stand: &Stand, count: u64, delivered: &Arc<AtomicU64>, alive: &Arc<()>) -> Arc<dyn Batch> {
    let (object, delivered, alive) = (stand.object("a"), Arc::clone(delivered), Arc::clone(alive));
    Arc::new(made(
        count,
        move |cursor: Cursor, _: &_, window: &mut Window<'_, '_>| {
            window.set_object(object.clone());
            window.read(bounded(cursor.window % 1000, 9000), Token(cursor.window));
            Planned::Complete
        },
        move |_, _, _: &mut _| {
            delivered.fetch_add(Arc::strong_count(&alive) as u64 / 2, Ordering::SeqCst);
        },
    ))
}

fn still_works(stand: &Stand) {
    let bytes = noise(9, 10_000);
    stand.put("after", &bytes);
    check(stand, &[("after", Some(&bytes))], &[(0, bounded(1, 9000)), (0, bounded(50, 7))], 1);
}

fn cancel_in_flight(kind: Kind) {
    let stand = kind.stand();
    stand.put("a", &noise(1, 10_000));
    for round in 0..20 {
        let (delivered, alive) = (Arc::default(), Arc::new(()));
        let control = Control::new();
        let options = RunOptions { control: control.clone(), ..RunOptions::default() };
        let running = stand.engine.spawn(counting(&stand, 100_000, &delivered, &alive), &options);
        if round % 2 == 0 {
            until("a read is delivered", || 0 < delivered.load(Ordering::SeqCst));
        }
        control.cancel();
        assert_eq!(running.wait().unwrap_err().kind(), ErrorKind::Cancelled);
        let after = delivered.load(Ordering::SeqCst);
        until("the batch is freed", || Arc::strong_count(&alive) == 1);
        assert_eq!(delivered.load(Ordering::SeqCst), after, "nothing is delivered after the end");
    }
    still_works(&stand);
}

fn deadline(kind: Kind) {
    let stand = kind.stand();
    stand.put("a", &noise(1, 10_000));
    let (delivered, alive) = (Arc::default(), Arc::new(()));
    for milliseconds in [0, 20] {
        let batch = counting(&stand, u64::MAX / 8192, &delivered, &alive);
        let soon = Some(Instant::now() + Duration::from_millis(milliseconds));
        let options = RunOptions { deadline: soon, ..RunOptions::default() };
        let error = if kind.is_inline() {
            stand.engine.spawn(batch, &options).wait()
        } else {
            stand.engine.run(batch.as_ref(), &options)
        };
        assert_eq!(error.unwrap_err().kind(), ErrorKind::DeadlineExceeded);
    }
    still_works(&stand);
}

fn dropped_future(kind: Kind) {
    let stand = kind.stand();
    stand.put("a", &noise(1, 10_000));
    for round in 0..20 {
        let (delivered, alive) = (Arc::default(), Arc::new(()));
        let running =
            stand.engine.spawn(counting(&stand, 100_000, &delivered, &alive), &RunOptions::default());
        if round % 2 == 0 {
            until("a read is delivered", || 0 < delivered.load(Ordering::SeqCst));
        }
        drop(running);
        until("the batch is freed", || Arc::strong_count(&alive) == 1);
    }
    still_works(&stand);
}

/// Reads of an index whose delivery asks for the reads behind it, thousands of them, and those for more.
fn follow_ups(kind: Kind) {
    let stand = kind.stand();
    let bytes = noise(2, 100_000);
    stand.put("a", &bytes);
    let sum = AtomicU64::new(0);
    let object = stand.object("a");
    let batch = made(
        3,
        |cursor: Cursor, _: &_, window: &mut Window<'_, '_>| {
            window.set_object(object.clone());
            window.read(bounded(cursor.step, 10), Token(cursor.step));
            Planned::Complete
        },
        |token, result: Result<Arrival<'_>, _>, lane: &mut LaneContext<'_>| {
            let Ok(Arrival::Bytes(found)) = result else { panic!("{result:?}") };
            let at = usize::try_from(token.0).unwrap();
            assert_eq!(found, &bytes[at..at + 10]);
            sum.fetch_add(1, Ordering::Relaxed);
            match lane.cursor.step {
                0 => (1..=2000).for_each(|step| lane.follow_up(Cursor { window: 7, step })),
                step if step % 10 == 0 && step <= 2000 => {
                    lane.follow_up(Cursor { window: 8, step: step + 10_000 })
                }
                _ => {}
            }
        },
    );
    stand.engine.run(&batch, &RunOptions::default()).unwrap();
    assert_eq!(sum.load(Ordering::Relaxed), 3 * (1 + 2000 + 200));
}

fn planned_in_portions(kind: Kind) {
    let stand = kind.stand();
    stand.put("a", &noise(2, 5000));
    let delivered = AtomicU64::new(0);
    let object = stand.object("a");
    let batch = made(
        2,
        |cursor: Cursor, _: &_, window: &mut Window<'_, '_>| {
            if !cursor.step.is_multiple_of(3) {
                window.set_object(object.clone());
                window.read(bounded(cursor.step, 10), Token(cursor.step));
            }
            if cursor.step == 500 {
                return Planned::Complete;
            }
            Planned::More(Cursor { step: cursor.step + 1, ..cursor })
        },
        |_, result: Result<Arrival<'_>, _>, _: &mut _| {
            assert!(result.is_ok());
            delivered.fetch_add(1, Ordering::Relaxed);
        },
    );
    stand.engine.run(&batch, &RunOptions::default()).unwrap();
    assert_eq!(delivered.load(Ordering::Relaxed), 2 * (500 - 166));
}

/// Cursors that wait: for another thread, for a resumption that comes before their plan has returned, for two things of
/// which one comes; and one that takes a resumption and does not wait.
fn parked_and_resumed(kind: Kind) {
    let stand = kind.stand();
    stand.put("a", &noise(2, 5000));
    let object = stand.object("a");
    for round in 0..30 {
        let waiting: Mutex<Vec<Resume>> = Mutex::default();
        let late: Mutex<Vec<Resume>> = Mutex::default();
        let open = AtomicBool::new(false);
        let planned: [AtomicU64; 4] = Default::default();
        let delivered = AtomicU64::new(0);
        let batch = made(
            4,
            |cursor: Cursor, context: &PlanContext<'_>, window: &mut Window<'_, '_>| {
                let plan = planned[usize::try_from(cursor.window).unwrap()].fetch_add(1, Ordering::SeqCst);
                match cursor.window {
                    0 if !open.load(Ordering::SeqCst) => {
                        waiting.lock().unwrap().push(context.resume());
                        return Planned::Parked;
                    }
                    1 if plan < 5 => {
                        drop(context.resume());
                        return Planned::Parked;
                    }
                    2 if plan == 0 => {
                        waiting.lock().unwrap().push(context.resume());
                        late.lock().unwrap().push(context.resume());
                        return Planned::Parked;
                    }
                    3 => late.lock().unwrap().push(context.resume()),
                    _ => {}
                }
                window.set_object(object.clone());
                window.read(bounded(cursor.window, 10), Token(cursor.window));
                Planned::Complete
            },
            |_, result: Result<Arrival<'_>, _>, _: &mut _| {
                assert!(result.is_ok());
                delivered.fetch_add(1, Ordering::SeqCst);
            },
        );
        std::thread::scope(|scope| {
            scope.spawn(|| {
                if round % 2 == 0 {
                    until("two cursors wait", || waiting.lock().unwrap().len() == 2);
                }
                open.store(true, Ordering::SeqCst);
                until("the batch goes on", || {
                    waiting.lock().unwrap().clear();
                    late.lock().unwrap().pop();
                    delivered.load(Ordering::SeqCst) == 4
                });
            });
            stand.engine.run(&batch, &RunOptions::default()).unwrap();
        });
        assert_eq!(delivered.load(Ordering::SeqCst), 4);
        assert_eq!(planned[3].load(Ordering::SeqCst), 1, "it did not park");
    }
}

/// A batch that ends early does not wait for what its parked cursors wait for.
fn parked_and_cancelled(kind: Kind) {
    let stand = kind.stand();
    let kept: Arc<Mutex<Vec<Resume>>> = Arc::default();
    let keep = Arc::clone(&kept);
    let control = Control::new();
    let batch = made(
        10,
        move |_: Cursor, context: &PlanContext<'_>, _: &mut _| {
            keep.lock().unwrap().push(context.resume());
            Planned::Parked
        },
        |_, _, _: &mut _| panic!("nothing was read"),
    );
    let options = RunOptions { control: control.clone(), ..RunOptions::default() };
    std::thread::scope(|scope| {
        let parked = Arc::clone(&kept);
        scope.spawn(move || {
            until("all wait", || parked.lock().unwrap().len() == 10);
            control.cancel();
        });
        assert_eq!(stand.engine.run(&batch, &options).unwrap_err().kind(), ErrorKind::Cancelled);
    });
    drop(batch);
    kept.lock().unwrap().clear();
    still_works(&stand);
}

/// A plan made from an older version of its object is made again.
fn stale_plan(kind: Kind) {
    let stand = kind.stand();
    stand.put("a", &noise(1, 1000));
    let object = stand.object("a");
    let seen = Mutex::new(None);
    let expect = AtomicBool::new(false);
    let found = Mutex::new(Vec::new());
    let batch = made(
        1,
        |_: Cursor, _: &_, window: &mut Window<'_, '_>| {
            window.set_object(object.clone());
            if expect.swap(false, Ordering::SeqCst) {
                window.expect_identity(seen.lock().unwrap().clone().unwrap());
            }
            window.read(bounded(0, 1000), Token(0));
            window.read(bounded(500, 100), Token(1));
            Planned::Complete
        },
        |_, result: Result<Arrival<'_>, _>, lane: &mut LaneContext<'_>| {
            let Ok(Arrival::Bytes(bytes)) = result else { panic!("{result:?}") };
            *seen.lock().unwrap() = lane.identity.cloned();
            found.lock().unwrap().push(bytes.to_vec());
        },
    );
    stand.engine.run(&batch, &RunOptions::default()).unwrap();
    expect.store(true, Ordering::SeqCst);
    stand.engine.run(&batch, &RunOptions::default()).unwrap();
    assert_eq!(batch.stale.load(Ordering::SeqCst), 0);
    let newer = noise(2, 1000);
    stand.put("a", &newer);
    found.lock().unwrap().clear();
    expect.store(true, Ordering::SeqCst);
    stand.engine.run(&batch, &RunOptions::default()).unwrap();
    assert_eq!(batch.stale.load(Ordering::SeqCst), 1);
    let mut found = found.lock().unwrap().clone();
    found.sort_by_key(Vec::len);
    assert_eq!(found, [newer[500..600].to_vec(), newer.clone()]);
}

/// What a stale plan said would follow does not follow twice.
fn stale_plan_in_portions(kind: Kind) {
    let stand = kind.stand();
    stand.put("a", &noise(1, 1000));
    let object = stand.object("a");
    let seen = Mutex::new(None);
    let delivered: [AtomicU64; 2] = Default::default();
    let batch = made(
        1,
        |cursor: Cursor, _: &_, window: &mut Window<'_, '_>| {
            window.set_object(object.clone());
            if let Some(identity) = seen.lock().unwrap().take() {
                window.expect_identity(identity);
            }
            window.read(bounded(cursor.step * 100, 100), Token(cursor.step));
            match cursor.step {
                0 => Planned::More(Cursor { step: 1, ..cursor }),
                _ => Planned::Complete,
            }
        },
        |token: Token, result: Result<Arrival<'_>, _>, lane: &mut LaneContext<'_>| {
            assert!(result.is_ok(), "{result:?}");
            let _ = delivered[usize::try_from(token.0).unwrap()].fetch_add(1, Ordering::SeqCst);
            if lane.cursor.step == 1 {
                *seen.lock().unwrap() = lane.identity.cloned();
            }
        },
    );
    stand.engine.run(&batch, &RunOptions::default()).unwrap();
    stand.put("a", &noise(2, 1000));
    stand.engine.run(&batch, &RunOptions::default()).unwrap();
    assert_eq!(batch.stale.load(Ordering::SeqCst), 1);
    let delivered = delivered.map(|count| count.load(Ordering::SeqCst));
    assert_eq!(delivered, [2, 2], "each portion once a batch");
}

fn panics(kind: Kind) {
    let stand = kind.stand();
    stand.put("a", &noise(1, 100_000));
    for culprit in ["plan", "deliver", "follow-up"] {
        let alive = Arc::new(());
        let (object, held) = (stand.object("a"), Arc::clone(&alive));
        let batch = Arc::new(made(
            200,
            move |cursor: Cursor, _: &_, window: &mut Window<'_, '_>| {
                let _held = &held;
                window.set_object(object.clone());
                for read in 0..20 {
                    window.read(bounded(cursor.window * 10 + read * 100, 50), Token(cursor.window));
                }
                assert!(culprit != "plan" || cursor.window != 100, "injected in {culprit}");
                assert!(culprit != "follow-up" || cursor.step == 0, "injected in {culprit}");
                Planned::Complete
            },
            move |token, _, lane: &mut LaneContext<'_>| {
                assert!(culprit != "deliver" || token != Token(100), "injected in {culprit}");
                if culprit == "follow-up" && token == Token(50) {
                    lane.follow_up(Cursor { step: 1, ..lane.cursor });
                }
            },
        ));
        let error = stand.engine.run(batch.as_ref(), &RunOptions::default()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Panicked);
        assert!(error.to_string().contains("injected"), "{error}");
        let error = stand.engine.spawn(batch, &RunOptions::default()).wait().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Panicked);
        until("the batch is freed", || Arc::strong_count(&alive) == 1);
    }
    still_works(&stand);
}

fn slow_sink(kind: Kind) {
    let stand = kind.stand_with(Limits { lanes: 2, in_flight_bytes_max: 64 << 10, ..Limits::default() });
    stand.put("a", &noise(1, 100_000));
    let object = stand.object("a");
    let delivered = AtomicU64::new(0);
    let batch = made(
        60,
        |cursor: Cursor, _: &_, window: &mut Window<'_, '_>| {
            window.set_object(object.clone());
            window.read(bounded(cursor.window * 1000, 9000), Token(cursor.window));
            Planned::Complete
        },
        |_, result: Result<Arrival<'_>, _>, _: &mut _| {
            std::thread::sleep(Duration::from_millis(1));
            delivered.fetch_add(u64::from(result.is_ok()), Ordering::Relaxed);
        },
    );
    stand.engine.run(&batch, &RunOptions::default()).unwrap();
    assert_eq!(delivered.load(Ordering::Relaxed), 60);
}

macro_rules! with_cases {
    ($then:ident $($kind:expr)?) => {
        $then! {
            @cases $($kind)?;
            empty_batch, zero_lengths, one_byte, suffixes_and_wholes, past_the_end,
            overlapping_duplicate_unaligned, huge, missing_object, targets_direct_and_merged, many_objects,
            thousands_of_reads, several_batches_at_once, cancel_in_flight, deadline, dropped_future, follow_ups,
            planned_in_portions, parked_and_resumed, parked_and_cancelled, stale_plan, stale_plan_in_portions,
            panics, slow_sink,
        }
    };
}

macro_rules! listed {
    (@cases; $($case:ident,)*) => {
        /// Every case, for media that are too dear to be set up for each.
        pub(crate) const CASES: &[(&str, fn(Kind))] = &[$((stringify!($case), $case),)*];
    };
}

macro_rules! conforms {
    ($($medium:ident: $kind:expr;)*) => {
        $(mod $medium {
            use super::{Kind, within_a_minute};
            with_cases! { conforms $kind }
        })*
    };
    (@cases $kind:expr; $($case:ident,)*) => {
        $(#[test]
        fn $case() {
            println!("{:?}", $kind);
            if $kind.is_here() {
                within_a_minute(|| super::$case($kind));
            }
        })*
    };
}

with_cases! { listed }

conforms! {
    memory: Kind::Memory;
    files_by_io_uring: Kind::IoUring;
    files_by_threads: Kind::PreadThreads;
    files_mapped: Kind::Mapped;
    files_mapped_inline: Kind::InlineMapped;
    memory_inline: Kind::InlineMemory;
    files_inline: Kind::InlineFiles;
    files_over_fuse: Kind::Fuse;
    files_over_fuse_by_threads: Kind::FuseThreads;
    files_over_fuse_by_io_uring: Kind::FuseIoUring;
    files_over_fuse_short: Kind::ShortFuse(15);
    simulated_remote: Kind::Simulated;
    faulty_memory: Kind::FaultyMemory(11);
    faulty_files: Kind::FaultyFiles(12);
    faulty_files_by_threads: Kind::FaultyThreads(13);
    faulty_files_inline: Kind::FaultyInline(14);
    files_direct: Kind::Direct;
    files_direct_inline: Kind::InlineDirect;
    faulty_files_direct: Kind::FaultyDirect(15);
    refused_files_direct: Kind::RefusedDirect(16);
}
