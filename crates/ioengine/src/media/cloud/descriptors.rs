//! Descriptors for connections: as many as the process may open.

/// Descriptors that the soft limit is raised to, where the hard limit allows: more than any number of connections that
/// is of use, and few enough for programs that walk over all of them.
const DESCRIPTORS_WANTED: u64 = 65_536;

/// Requests that may be under way at once, with one connection each: half of the descriptors that the process may open.
pub(super) fn requests_max() -> usize {
    usize::try_from(descriptors() / 2).unwrap_or(usize::MAX).max(1)
}

/// Raises the soft limit of descriptors towards the hard one, and returns what it is then.
#[cfg(unix)]
fn descriptors() -> u64 {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let current = limit.current.unwrap_or(DESCRIPTORS_WANTED);
    let wanted = limit.maximum.unwrap_or(DESCRIPTORS_WANTED).min(DESCRIPTORS_WANTED);
    if wanted <= current {
        return current.min(DESCRIPTORS_WANTED);
    }
    let raised = setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum: limit.maximum });
    if raised.is_ok() { wanted } else { current }
}

#[cfg(not(unix))]
fn descriptors() -> u64 {
    DESCRIPTORS_WANTED
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_soft_limit_follows_the_hard_one() {
        let first = requests_max();
        assert_eq!(first, requests_max());
        assert!((8..=32_768).contains(&first), "{first}");
    }
}
