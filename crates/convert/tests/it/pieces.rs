//! Pieces of a plan that end in any order, or at the same time.

use crate::references::{in_folder, planned, two_fields};
use serde_json::Value;
use std::path::Path;
use swath_convert::{Piece, Plan, WritePlanOptions};
use swath_ioengine::{Engine, ObjectRef};
use swath_zarr_front::Store;

fn write(plan: &Plan, objects: &[ObjectRef], folder: &Path, piece: Option<Piece>) {
    let store = Store::create_directory(folder).unwrap();
    let options = WritePlanOptions { piece, ..WritePlanOptions::default() };
    assert_eq!(plan.write(&Engine::global(), objects, &store, &options).unwrap(), []);
}

/// The consolidated metadata of a store: nodes by their paths.
fn consolidated(folder: &Path) -> Value {
    let text = std::fs::read(folder.join("zarr.json")).unwrap();
    let mut document: Value = serde_json::from_slice(&text).unwrap();
    document["consolidated_metadata"]["metadata"].take()
}

/// All orders of so many pieces.
fn orders(count: usize) -> Vec<Vec<usize>> {
    if count == 0 {
        return vec![Vec::new()];
    }
    let shorter = orders(count - 1);
    let inserted = shorter.iter().flat_map(|order| {
        (0..=order.len()).map(|place| {
            let mut order = order.clone();
            order.insert(place, count - 1);
            order
        })
    });
    inserted.collect()
}

#[test]
fn the_last_piece_leaves_the_metadata_of_all() {
    const PIECES: usize = 4;
    let files: Vec<Vec<u8>> =
        (0..4u8).map(|number| two_fields(0, 24 * (u32::from(number) + 1), number)).collect();
    let (folder, _, objects) = in_folder(&files);
    let (plan, _) = planned(&objects);
    let target = |name: &str| folder.path().join(name);
    write(&plan, &objects, &target("whole"), None);
    let whole = consolidated(&target("whole"));
    assert!(whole.as_object().unwrap().contains_key("latitude"), "{whole}");
    let piece = |number| Some(Piece::new(number, PIECES).unwrap());
    let all = orders(PIECES);
    assert_eq!(all.len(), 24);
    for order in &all {
        let made = target(&format!("{order:?}"));
        order.iter().for_each(|number| write(&plan, &objects, &made, piece(*number)));
        assert_eq!(consolidated(&made), whole, "{order:?}");
    }
    for round in 0..20 {
        let made = &target(&format!("at once {round}"));
        std::thread::scope(|scope| {
            for number in 0..PIECES {
                let (plan, objects) = (&plan, &objects);
                scope.spawn(move || write(plan, objects, made, piece(number)));
            }
        });
        assert_eq!(consolidated(made), whole, "at once, round {round}");
    }
}
