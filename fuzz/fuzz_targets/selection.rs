//! Any text as a selection of any shape: an answer, and elements that lie within the array.
#![no_main]

use libfuzzer_sys::fuzz_target;
use swath_zarr_front::Selection;

fuzz_target!(|input: (Vec<u64>, &str)| {
    let (shape, text) = input;
    let Ok(selection) = text.parse::<Selection>() else { return };
    assert_eq!(selection.to_string().parse::<Selection>().ok(), Some(selection.clone()));
    let Ok(resolved) = selection.resolve(&shape) else { return };
    assert_eq!(resolved.axes.len(), shape.len());
    for (axis, length) in resolved.axes.iter().zip(&shape) {
        assert!(axis.count <= *length && axis.step != 0);
        if let Some((low, high)) = axis.bounds() {
            assert!(low <= high && high < *length);
            assert_eq!(axis.element(0), Some(axis.start));
        }
        assert_eq!(axis.element(axis.count), None);
    }
    assert!(resolved.output_shape().len() <= shape.len());
    let _ = resolved.element_count();
});
