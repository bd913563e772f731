//! Any batch over memory, by any limits and with faults: each read comes once, as slices would give it.
#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use swath_ioengine::{
    Arrival, Batch, ByteRange, Cursor, Engine, EngineConfig, Error, ErrorKind, Estimate, FaultPlan,
    FaultyMedium, LaneContext, Limits, Medium, MemoryMedium, ObjectRef, PlanContext, Planned, RunOptions,
    SimulatedConfig, SimulatedRemote, Token, Window,
};

/// Bytes of the one object, of which a plan takes a prefix.
const OBJECT_BYTES: usize = 20_000;

#[derive(Arbitrary, Debug)]
struct Plan {
    object_bytes: u16,
    place: Place,
    limits: [u16; 10],
    faults: Option<Faults>,
    windows: Vec<PlannedWindow>,
}

#[derive(Arbitrary, Debug, PartialEq)]
enum Place {
    Inline,
    Lane,
    RemoteLane,
}

#[derive(Arbitrary, Debug)]
struct Faults {
    seed: u64,
    again: u8,
    held: u8,
    errors: u8,
    wrong_lengths: u8,
}

#[derive(Arbitrary, Debug)]
struct PlannedWindow {
    reads: Vec<Read>,
    way: Way,
    missing: bool,
}

/// How a window comes to be planned.
#[derive(Arbitrary, Debug, PartialEq)]
enum Way {
    Claimed,
    Followed,
    Portions,
    Parked,
}

#[derive(Arbitrary, Debug)]
struct Read {
    range: Range,
    direct: bool,
}

#[derive(Arbitrary, Debug)]
enum Range {
    Near { offset: u16, len: u16 },
    Far { offset: u64, len: u64 },
    Suffix(u16),
    Whole(u16),
}

impl Read {
    fn range(&self) -> ByteRange {
        match self.range {
            Range::Near { offset, len } => ByteRange::Bounded { offset: offset.into(), len: len.into() },
            // Memory is asked for as a read is: all that is wanted, at once. So as little as is at hand, or more than there is.
            Range::Far { offset, len } if len < 1 << 28 => ByteRange::Bounded { offset, len },
            Range::Far { offset, len } => ByteRange::Bounded { offset, len: len | 1 << 60 },
            Range::Suffix(len) => ByteRange::Suffix { len: len.into() },
            Range::Whole(len) => ByteRange::Whole { len_max: len.into() },
        }
    }
}

fn slice(object: &[u8], range: ByteRange) -> Result<&[u8], ErrorKind> {
    let at = |offset: u64| usize::try_from(offset).unwrap_or(usize::MAX);
    match range {
        ByteRange::Bounded { len: 0, .. } => Ok(&[]),
        ByteRange::Bounded { offset, len } => {
            let end = offset.checked_add(len).ok_or(ErrorKind::UnexpectedEnd)?;
            object.get(at(offset)..at(end)).ok_or(ErrorKind::UnexpectedEnd)
        }
        ByteRange::Suffix { len } => Ok(&object[object.len().saturating_sub(at(len))..]),
        ByteRange::Whole { len_max } if object.len() <= at(len_max) => Ok(object),
        ByteRange::Whole { .. } => Err(ErrorKind::LimitExceeded),
    }
}

struct Fuzzed<'a> {
    plan: &'a Plan,
    object: ObjectRef,
    missing: ObjectRef,
    targets: Vec<Vec<Mutex<Option<&'a mut [u8]>>>>,
    got: Vec<Vec<Mutex<Vec<Result<Vec<u8>, ErrorKind>>>>>,
    parked: Vec<AtomicBool>,
}

impl Batch for Fuzzed<'_> {
    fn window_count(&self) -> u64 {
        self.plan.windows.len() as u64
    }

    fn estimate(&self) -> Estimate {
        let value = if self.plan.place == Place::Inline { 0 } else { u64::MAX };
        Estimate { reads: value, bytes: value }
    }

    /// Step 0 is the window as claimed, step `1 + n` its reads from number `n` on.
    fn plan<'b>(&'b self, cursor: Cursor, context: &PlanContext<'_>, window: &mut Window<'_, 'b>) -> Planned {
        let number = cursor.window as usize;
        let PlannedWindow { reads, way, missing } = &self.plan.windows[number];
        window.set_object(if *missing { self.missing.clone() } else { self.object.clone() });
        if *way == Way::Followed && cursor.step == 0 {
            window.read(ByteRange::Bounded { offset: 0, len: 0 }, Token(u64::MAX));
            return Planned::Complete;
        }
        if *way == Way::Parked && !self.parked[number].swap(true, Ordering::SeqCst) {
            drop(context.resume());
            return Planned::Parked;
        }
        let first = usize::try_from(cursor.step.saturating_sub(1)).unwrap();
        let count = if *way == Way::Portions { 2 } else { usize::MAX };
        for (read, index) in reads.iter().zip(0..).skip(first).take(count) {
            let token = Token((number as u64) << 32 | index);
            match self.targets[number][index as usize].lock().unwrap().take() {
                Some(target) => window.read_into(read.range(), token, target),
                None => window.read(read.range(), token),
            }
        }
        match first.checked_add(count) {
            Some(next) if next < reads.len() => Planned::More(Cursor { step: 1 + next as u64, ..cursor }),
            _ => Planned::Complete,
        }
    }

    fn deliver(&self, token: Token, result: Result<Arrival<'_>, Error>, lane: &mut LaneContext<'_>) {
        if token == Token(u64::MAX) {
            return lane.follow_up(Cursor { step: 1, ..lane.cursor });
        }
        let result = match result {
            Ok(Arrival::Bytes(bytes)) => Ok(bytes.to_vec()),
            Ok(Arrival::Placed(len)) => Ok(vec![0; len]),
            Ok(Arrival::Piece(_)) => panic!("a piece, which no read of this plan takes"),
            Err(error) => Err(error.kind()),
        };
        let (window, read) = ((token.0 >> 32) as usize, token.0 as u32 as usize);
        self.got[window][read].lock().unwrap().push(result);
    }

    fn stale(&self, _: Cursor) {
        panic!("nothing was expected");
    }

    fn spoiled(&self, _: Cursor, _: Error, _: &mut LaneContext<'_>) {
        panic!("nothing changed");
    }
}

fn limits(plan: &Plan) -> Limits {
    let [depth, batch, bytes, merged_bytes, merged_parts, split, pooled, inline, percent, bridged] =
        plan.limits.map(usize::from);
    Limits {
        lanes: 1,
        local_depth: depth % 70,
        remote_depth: depth % 70,
        submit_batch: batch % 70,
        in_flight_bytes_max: bytes,
        merged_bytes_max: merged_bytes,
        merged_parts_max: merged_parts % 70,
        split_bytes: split,
        remote_merged_bytes_max: merged_bytes,
        remote_merged_parts_max: merged_parts % 70,
        remote_split_bytes: split,
        remote_bridged_percent: percent as u64 % 200,
        remote_bridged_bytes: bridged as u64,
        pooled_bytes_max: pooled,
        inline_reads_max: inline as u64,
        retries_max: 1000,
        ..Limits::default()
    }
}

fn medium(plan: &Plan, object: &[u8]) -> Medium {
    if plan.place == Place::RemoteLane {
        let config =
            SimulatedConfig { latency: Default::default(), jitter: Default::default(), ..Default::default() };
        let remote = SimulatedRemote::new(config).unwrap();
        remote.put("a", object.to_vec());
        return remote.medium();
    }
    let memory = MemoryMedium::new();
    memory.put("a", object.to_vec());
    memory.medium()
}

fn with_faults(plan: &Plan, medium: Medium) -> Medium {
    let Some(faults) = &plan.faults else { return medium };
    let again = if plan.place == Place::RemoteLane { 0 } else { u32::from(faults.again) };
    FaultyMedium::wrap(
        medium,
        FaultPlan {
            seed: faults.seed,
            again_per_mille: again,
            held_per_mille: faults.held.into(),
            held_reaps_max: 3,
            error_per_mille: faults.errors.into(),
            wrong_length_per_mille: faults.wrong_lengths.into(),
            ..FaultPlan::default()
        },
    )
    .medium()
}

fuzz_target!(|plan: Plan| {
    let reads: usize = plan.windows.iter().map(|window| window.reads.len()).sum();
    // Targets are made as long as their ranges: keep what one input may ask for small.
    if 500 < reads || 50 < plan.windows.len() {
        return;
    }
    let object: Vec<u8> =
        (0..OBJECT_BYTES.min(plan.object_bytes.into())).map(|at| (at * 31 % 251) as u8).collect();
    let medium = with_faults(&plan, medium(&plan, &object));
    let has_target = |read: &Read| read.direct && read.range().len_max() <= u16::MAX.into();
    let mut memory: Vec<Vec<Option<Vec<u8>>>> = plan
        .windows
        .iter()
        .map(|window| {
            window
                .reads
                .iter()
                .map(|read| has_target(read).then(|| vec![0; read.range().len_max() as usize]))
                .collect()
        })
        .collect();
    let targets = memory
        .iter_mut()
        .map(|window| window.iter_mut().map(|target| Mutex::new(target.as_deref_mut())).collect())
        .collect();
    let batch = Fuzzed {
        plan: &plan,
        object: ObjectRef { medium: medium.clone(), key: "a".into() },
        missing: ObjectRef { medium, key: "b".into() },
        targets,
        got: plan
            .windows
            .iter()
            .map(|window| window.reads.iter().map(|_| Mutex::default()).collect())
            .collect(),
        parked: plan.windows.iter().map(|_| AtomicBool::new(false)).collect(),
    };
    let engine = Engine::new(EngineConfig { limits: limits(&plan), ..EngineConfig::default() });
    engine.run(&batch, &RunOptions::default()).unwrap();
    let got = batch.got;
    let is_remote = plan.place == Place::RemoteLane;
    for ((window, got), memory) in plan.windows.iter().zip(got).zip(memory) {
        // A follow-up of a window whose object is missing is never asked for: its first read fails.
        let followed = window.way == Way::Followed;
        for ((read, got), target) in window.reads.iter().zip(got).zip(memory) {
            let got = got.into_inner().unwrap();
            assert_eq!(got.len(), 1, "{read:?} was delivered {} times", got.len());
            check(&plan, (window.missing, is_remote || followed), &object, read, &got[0], target.as_deref());
        }
    }
    drop(engine);
    wait_for_lanes();
});

/// Waits until no lane is left: one that held the engine last ends by itself, and what it is about to free is no leak.
fn wait_for_lanes() {
    let is_lane = |task: std::io::Result<std::fs::DirEntry>| {
        let name = task.and_then(|task| std::fs::read_to_string(task.path().join("comm")));
        name.is_ok_and(|name| name.starts_with("swath-lane"))
    };
    while std::fs::read_dir("/proc/self/task").is_ok_and(|tasks| tasks.into_iter().any(is_lane)) {
        std::thread::yield_now();
    }
}

fn check(
    plan: &Plan,
    (missing, lenient): (bool, bool),
    object: &[u8],
    read: &Read,
    got: &Result<Vec<u8>, ErrorKind>,
    target: Option<&[u8]>,
) {
    let has_faults = plan.faults.is_some();
    match (slice(object, read.range()), got) {
        (_, Err(_)) if missing => {}
        // A remote object is not asked for no bytes.
        (Ok(wanted), Ok(found)) if missing && lenient => assert!(wanted.is_empty() && found.is_empty()),
        (_, Ok(_)) if missing => panic!("{read:?} of no object succeeded"),
        (Ok(wanted), Ok(found)) => {
            assert_eq!(found.len(), wanted.len());
            assert_eq!(target.unwrap_or(found), wanted, "{read:?}");
        }
        (Err(_), Ok(_)) => panic!("{read:?} succeeded"),
        (Ok(wanted), Err(kind)) => {
            let misfit = target.is_some_and(|target| target.len() != wanted.len());
            assert!(has_faults || misfit && *kind == ErrorKind::UnexpectedEnd, "{read:?}: {kind:?}");
        }
        (Err(wanted), Err(kind)) => {
            let lenient = has_faults || lenient || *kind == ErrorKind::LimitExceeded;
            assert!(lenient || wanted == *kind, "{read:?}: {kind:?} instead of {wanted:?}");
        }
    }
}
