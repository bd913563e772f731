//! Objects by their URLs, for those who read bytes and no arrays.

use crate::Error;
use crate::catalog::references::{ReferenceTargets, Targets};
use swath_ioengine::{Engine, Merging, ObjectRef, RangeRead, RunOptions};

/// Objects of any format by their URLs or local paths. Those of one bucket, host or folder share what reaches them.
///
/// ```
/// use swath_zarr_front::{Objects, ReferenceTargets};
/// use swath_ioengine::{ByteRange, Merging, RangeRead, RunOptions};
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("a.grib");
/// std::fs::write(&path, b"GRIB....7777")?;
///
/// let objects = Objects::new(ReferenceTargets::new());
/// let file = objects.open(&path.to_string_lossy())?;
/// let reads = [(0, 4), (8, 4)].map(|(offset, len)| RangeRead { object: 0, range: ByteRange::Bounded { offset, len } });
/// let mut bytes = [0; 8];
/// objects.read_ranges_into(&[file], &reads, &mut bytes, Merging::ByCost, &RunOptions::default())?;
/// assert_eq!(&bytes, b"GRIB7777");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Objects(Targets);

impl Objects {
    /// Objects that are reached as `targets` says: options, the scheme and folder of what is named without.
    #[must_use]
    pub fn new(targets: ReferenceTargets) -> Objects {
        Objects(Targets::new(Vec::new(), targets))
    }

    /// The object at a URL, or at a local path. Nothing is read yet.
    ///
    /// # Errors
    ///
    /// `Io` or `NotFound` where a local path names no folder; `Unsupported` for a scheme or an option that is not known.
    pub fn open(&self, url: &str) -> Result<ObjectRef, Error> {
        self.0.open(url)
    }

    /// Reads ranges into `output`, one behind the other in the order given, as one batch of the shared engine.
    ///
    /// # Errors
    ///
    /// That of the first range that could not be read, which says how many could not; `Invalid` where `output` is not as
    /// long as all ranges together.
    pub fn read_ranges_into(
        &self,
        objects: &[ObjectRef],
        reads: &[RangeRead],
        output: &mut [u8],
        merging: Merging,
        options: &RunOptions<'_>,
    ) -> Result<(), Error> {
        let errors = Engine::global().read_ranges_into(objects, reads, output, merging, options)?;
        let failed = errors.len();
        let Some((number, error)) = errors.into_iter().next() else { return Ok(()) };
        let object = reads.get(number).and_then(|read| objects.get(read.object));
        let error = Error::from(error).with_object(object.map_or("", |object| &object.key));
        Err(match reads.len() {
            1 => error,
            len => error
                .with_message_prefix(&format!("{failed} of {len} ranges failed, number {number} first: ")),
        })
    }
}
