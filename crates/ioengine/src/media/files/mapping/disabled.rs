//! Platforms without a copy routine: no file is mapped and no guard is given.

use super::{Fault, Refusal};
use std::convert::Infallible;
use std::io;
use std::ops::Range;

/// A mapping, of which there is none here.
pub(crate) struct Mapping(Infallible);

impl Mapping {
    pub(crate) fn new(_file: impl Sized, _len: u64) -> io::Result<Mapping> {
        Err(io::Error::new(io::ErrorKind::Unsupported, Refusal::Architecture.to_string()))
    }

    pub(crate) fn len(&self) -> u64 {
        match self.0 {}
    }

    pub(crate) fn populate(&self, _range: Range<u64>) -> io::Result<()> {
        match self.0 {}
    }

    pub(crate) fn resident_bytes(&self, _file: impl Sized, _range: Range<u64>) -> io::Result<u64> {
        match self.0 {}
    }

    pub(crate) fn prefetch(&self, _offset: u64, _len: usize) {
        match self.0 {}
    }

    pub(crate) fn copy(&self, _guard: &CopyGuard, _offset: u64, _target: &mut [u8]) -> Result<(), Fault> {
        match self.0 {}
    }

    pub(crate) fn scatter(
        &self,
        _guard: &CopyGuard,
        _extent: (u64, usize),
        _source_stride: usize,
        _rows: &mut [&mut [u8]],
    ) -> Result<(), Fault> {
        match self.0 {}
    }
}

/// A guard, of which there is none here.
pub(crate) struct CopyGuard(Infallible);

impl CopyGuard {
    pub(crate) fn look() -> Result<CopyGuard, Refusal> {
        Err(Refusal::Architecture)
    }
}
