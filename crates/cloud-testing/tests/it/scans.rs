//! Scans of GRIB files on servers: which bytes are asked for, and in how many requests.

use crate::stand::{Stand, engine, memory, web, within};
use std::sync::Mutex;
use std::time::Duration;
use swath::convert::{Found, ScanOptions, SideCars, scan};
use swath_cloud_testing::Link;
use swath_ioengine::{ObjectRef, RunOptions};

const MESSAGES: u64 = 40;

/// Bytes of a message's data: longer by far than what is asked for at once where a message begins.
const DATA_BYTES: usize = 512 << 10;

/// A message of edition 2: a row of numbers of 8 bits, at a level of so many Pa.
pub(crate) fn message(pascals: u32) -> Vec<u8> {
    let points = u32::try_from(DATA_BYTES).unwrap().to_be_bytes();
    let section = |number: u8, content: &[u8]| {
        let len = u32::try_from(content.len() + 5).unwrap();
        [&len.to_be_bytes()[..], &[number], content].concat()
    };
    let mut grid = [&[0][..], &points, &[0, 0, 0, 0, 6], &[0; 15], &points, &[0, 0, 0, 1]].concat();
    grid.extend([0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff]);
    grid.extend([0; 8]);
    grid.push(0x30);
    grid.extend([0; 17]);
    let mut product = vec![0, 0, 0, 0, 0, 0, 2, 0, 128, 0, 0, 0, 1, 0, 0, 0, 24, 100, 0];
    product.extend(pascals.to_be_bytes());
    product.extend([255; 6]);
    let packing = [&points[..], &[0; 10], &[8, 0]].concat();
    let sections = [
        section(1, &[0, 98, 0, 0, 2, 0, 1, 0x07, 0xe3, 3, 1, 6, 0, 0, 0, 1]),
        section(3, &grid),
        section(4, &product),
        section(5, &packing),
        section(6, &[255]),
        section(7, &vec![7; DATA_BYTES]),
    ]
    .concat();
    let len = u64::try_from(sections.len() + 20).unwrap();
    [&b"GRIB\0\0\0\x02"[..], &len.to_be_bytes(), &sections, b"7777"].concat()
}

/// The file, and what NOAA's side-car would say of it.
fn file() -> (Vec<u8>, String) {
    let (mut bytes, mut lines) = (Vec::new(), String::new());
    for number in 0..MESSAGES {
        lines += &format!("{}:{}:d=2019030106:TMP:{number} mb:24 hour fcst:\n", number + 1, bytes.len());
        bytes.extend(message(u32::try_from(number * 100).unwrap()));
    }
    (bytes, lines)
}

/// The levels that a scan of `a.grib2` finds.
fn levels(stand: &Stand, side_cars: SideCars) -> Vec<f64> {
    let levels = Mutex::new(Vec::new());
    let keep = |_: usize, found: Found| match found {
        Found::Field(field) => levels.lock().unwrap().push(field.level.unwrap().first.value.unwrap()),
        Found::Damage(damage) => panic!("{damage}"),
    };
    let object = ObjectRef { medium: stand.medium.clone(), key: "a.grib2".into() };
    let options = ScanOptions { side_cars, ..ScanOptions::default() };
    scan(&engine(128), &[object], keep, &options, &RunOptions::default()).unwrap();
    levels.into_inner().unwrap()
}

fn wanted() -> Vec<f64> {
    (0..MESSAGES).map(|number| f64::from(u32::try_from(number * 100).unwrap())).collect()
}

fn link() -> Link {
    Link { latency: Duration::from_millis(3), ..Link::default() }
}

/// One request for each message, and nearly all bytes of data are never asked for.
#[test]
fn heads_alone_are_read() {
    within(Duration::from_secs(60), || {
        for stand in [web(link(), &[]), memory(link(), &[])] {
            stand.put("a.grib2", file().0);
            stand.proxy.reset_counts();
            assert_eq!(levels(&stand, SideCars::Ignored), wanted(), "{}", stand.name);
            let counts = stand.proxy.counts();
            eprintln!("{}: {} requests, {} bytes", stand.name, counts.requests, counts.bytes_to_clients);
            // One more for the size, and one for the end of the last message.
            assert!(counts.requests <= MESSAGES + 2, "{}: {} requests", stand.name, counts.requests);
            let bytes_max = (MESSAGES + 2) * (65 << 10);
            assert!(counts.bytes_to_clients < bytes_max, "{}: {} bytes", stand.name, counts.bytes_to_clients);
        }
    });
}

/// With a side-car, of either kind, heads are read at once.
#[test]
fn a_side_car_has_heads_read_at_once() {
    within(Duration::from_secs(60), || {
        let (bytes, noaa) = file();
        let offset = |line: &str| line.split(':').nth(1).unwrap().to_owned();
        let ecmwf: String = noaa
            .lines()
            .map(|line| format!("{{\"param\": \"t\", \"_offset\": {}}}\n", offset(line)))
            .collect();
        for (name, side_car) in [("a.grib2.idx", noaa), ("a.index", ecmwf)] {
            let stand = memory(link(), &[]);
            stand.put("a.grib2", bytes.clone());
            stand.put(name, side_car.into_bytes());
            stand.proxy.reset_counts();
            assert_eq!(levels(&stand, SideCars::Remote), wanted(), "{name}");
            let counts = stand.proxy.counts();
            eprintln!("{name}: {} requests, {} at once", counts.requests, counts.in_flight_max);
            // Each part of four messages has its end read as well; and the size, and two names of side-cars.
            assert!(counts.requests <= MESSAGES + MESSAGES / 4 + 3, "{name}: {} requests", counts.requests);
            assert!(4 < counts.in_flight_max, "{name}: {} at once", counts.in_flight_max);
        }
    });
}

/// Places where no message begins, or only some: what is found is what the file has.
#[test]
fn a_wrong_side_car_counts_for_nothing() {
    within(Duration::from_secs(60), || {
        let (bytes, noaa) = file();
        let some: String = noaa.lines().step_by(7).map(|line| format!("{line}\n")).collect();
        let shifted = noaa.replace("d=2019", "d=2020").lines().map(shift).collect();
        let older = format!("{noaa}99:99999999999:d=2019030106:TMP:1 mb:24 hour fcst:\n");
        for side_car in [some, shifted, older, "1:x".to_owned(), String::new()] {
            let stand = memory(Link::default(), &[]);
            stand.put("a.grib2", bytes.clone());
            stand.put("a.grib2.idx", side_car.clone().into_bytes());
            let begun: String = side_car.chars().take(60).collect();
            assert_eq!(levels(&stand, SideCars::Remote), wanted(), "{begun}");
        }
    });
}

/// The line, with a place in the middle of a message.
fn shift(line: &str) -> String {
    let mut parts: Vec<String> = line.split(':').map(str::to_owned).collect();
    parts[1] = (parts[1].parse::<u64>().unwrap() + 4321).to_string();
    format!("{}\n", parts.join(":"))
}
