//! The process's media in memory, by name.

use super::MemoryMedium;
use crate::{Error, ErrorKind};
use once_cell::race::OnceBox;

/// Names of one process: each keeps its objects until the process ends.
const NAMES_MAX: usize = 16_384;

/// One name, and the rest of the list.
struct Named {
    name: Box<str>,
    medium: MemoryMedium,
    next: Slot,
}

type Slot = OnceBox<Named>;

/// The list. It only grows, by one atomic exchange an entry, and takes no lock: a forked child may have been made while
/// another thread of its parent held one.
static FIRST: Slot = Slot::new();

/// The medium of a name, made where there is none.
pub(super) fn find_or_make(name: &str) -> Result<MemoryMedium, Error> {
    let mut slot = &FIRST;
    for _ in 0..NAMES_MAX {
        let found = match slot.get() {
            Some(found) => found,
            None => {
                let next = Slot::new();
                let made = Box::new(Named { name: name.into(), medium: MemoryMedium::new(), next });
                // Where another thread was faster, its entry is looked at like any other.
                slot.get_or_init(|| made)
            }
        };
        if *found.name == *name {
            return Ok(found.medium.clone());
        }
        slot = &found.next;
    }
    Err(Error::new(ErrorKind::LimitExceeded, format!("more than {NAMES_MAX} media in memory")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_name_is_one_medium_for_all_threads() {
        let threads: Vec<_> = (0..8)
            .map(|thread| {
                std::thread::spawn(move || {
                    for name in 0..20 {
                        let medium = find_or_make(&format!("names/{name}")).unwrap();
                        medium.put(&format!("{thread}"), vec![0]);
                    }
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        for name in 0..20 {
            let medium = find_or_make(&format!("names/{name}")).unwrap().medium();
            assert_eq!(medium.list("").unwrap().len(), 8);
        }
    }
}
