//! Without FUSE there is nothing to mount.

use super::{Served, Slowness};
use std::io;
use std::path::Path;

pub(super) enum Server {}

impl Server {
    pub(super) fn mount(_: Slowness, _: &Path, _: &Path) -> io::Result<Server> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "FUSE is mounted on Linux only"))
    }

    pub(super) fn unmount(self, _: &Path) -> Served {
        match self {}
    }
}

pub(super) fn detach(_: &Path) {}
