//! Random crops of a sharded array, swath against its floor. `--quick` for fewer passes; `--data FOLDER` for where the
//! array is kept (made there when it is absent).

use std::path::PathBuf;
use swath::ReadOptions;
use swath_benches::crops::{origins, selection};
use swath_benches::floor::Floor;
use swath_benches::satellite::{SHAPE, prepare};
use swath_benches::timing::{Contestant, checksum, in_turn};

const CROP: [u64; 4] = [4, 10, 128, 128];
const CROPS: usize = 64;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let passes = if arguments.iter().any(|argument| argument == "--quick") { 7 } else { 21 };
    let given = arguments.iter().position(|argument| argument == "--data").and_then(|at| arguments.get(at + 1));
    let kept = concat!(env!("CARGO_MANIFEST_DIR"), "/target/bench-data/satellite.zarr");
    let folder = given.map_or_else(|| PathBuf::from(kept), PathBuf::from);
    prepare(&folder)?;

    let origins = origins(&SHAPE, &CROP, CROPS, 7);
    let floor = Floor::open(&folder, CROP)?;
    let pass = floor.plan(&origins);
    let array = swath::Array::open(&folder)?;
    let selections: Vec<swath::Selection> = origins.iter().map(|origin| selection(origin, &CROP)).collect();
    let bytes = CROPS * CROP.iter().product::<u64>() as usize * 2;
    let (mut floor_output, mut swath_output) = (vec![0u8; bytes], vec![0u8; bytes]);

    let mut contestants = [
        Contestant {
            name: "floor",
            pass: Box::new(|| {
                floor.run(&pass, &mut floor_output);
                checksum(&floor_output)
            }),
        },
        Contestant {
            name: "swath",
            pass: Box::new(|| {
                let read = array.read_many_into(&selections, &mut swath_output, &ReadOptions::default());
                read.expect("the crops read");
                checksum(&swath_output)
            }),
        },
    ];
    let times = in_turn(&mut contestants, passes);
    println!("{CROPS} crops of {CROP:?}, {} chunks, {passes} passes in turn", pass.chunk_count());
    for (contestant, [median, fastest, slowest]) in contestants.iter().zip(&times) {
        let rate = pass.chunk_count() as f64 / median.as_secs_f64();
        println!(
            "{:>8}: median {:7.2} ms ({:.2} to {:.2}), {:>9.0} chunks/s, {:.2} of the floor's rate",
            contestant.name,
            median.as_secs_f64() * 1e3,
            fastest.as_secs_f64() * 1e3,
            slowest.as_secs_f64() * 1e3,
            rate,
            times[0][0].as_secs_f64() / median.as_secs_f64(),
        );
    }
    println!("{:#?}", array.engine().stats());
    Ok(())
}
