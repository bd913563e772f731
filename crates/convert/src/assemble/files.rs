//! The files of a plan: which version of each it was made from, and whether that is still there.

use super::plan::{Plan, PlannedFile};
use super::planning::Source;
use crate::{Damage, DamageKind, Error, ErrorKind, Found};
use std::time::UNIX_EPOCH;
use swath_ioengine::ObjectRef;

impl PlannedFile {
    /// What a plan calls a file, so that it is found from other folders too: the absolute path of a local one, its URL of another.
    #[must_use]
    pub fn name_of(file: &str) -> String {
        if file.contains("://") {
            return file.to_owned();
        }
        std::path::absolute(file).map_or_else(|_| file.to_owned(), |path| path.display().to_string())
    }

    /// A file as it is now: its length, and of a local one the time of its last change. `name` is that of [`name_of`](Self::name_of).
    ///
    /// # Errors
    ///
    /// `NotFound` where it is not there; those of its storage.
    pub fn of(name: &str, object: &ObjectRef) -> Result<PlannedFile, Error> {
        let size = object.medium.size(&object.key)?;
        let changed = std::fs::metadata(name).ok().and_then(|metadata| metadata.modified().ok());
        let since = changed.and_then(|changed| changed.duration_since(UNIX_EPOCH).ok());
        let version =
            since.map(|since| format!("changed at {}.{:09}", since.as_secs(), since.subsec_nanos()));
        Ok(PlannedFile { name: name.to_owned(), size, version })
    }

    /// Opens files by their names, which are to be as they were when they were planned.
    ///
    /// # Errors
    ///
    /// Those of `open`; `Invalid` where some have changed, which are all named.
    pub fn unchanged<E: From<Error>>(
        planned: &[PlannedFile],
        open: impl Fn(&str) -> Result<ObjectRef, E>,
    ) -> Result<Vec<ObjectRef>, E> {
        let opened = planned.iter().map(|file| open(&file.name)).collect::<Result<Vec<_>, E>>()?;
        let mut changed = Vec::new();
        for (planned, object) in planned.iter().zip(&opened) {
            if PlannedFile::of(&planned.name, object)? != *planned {
                changed.push(planned.name.as_str());
            }
        }
        if !changed.is_empty() {
            let message = format!("changed since the plan was made: {}", changed.join(", "));
            return Err(Error::new(ErrorKind::Invalid, message).into());
        }
        Ok(opened)
    }
}

impl Plan {
    /// The files that [`write`](Plan::write) takes, opened by their names. Those whose fields are in the store already are not opened:
    /// another stands in their places, of which nothing is read.
    ///
    /// # Errors
    ///
    /// Those of `open`; `Invalid` where files have changed since the plan was made, which are all named.
    pub fn open_files<E: From<Error>>(
        &self,
        open: impl Fn(&str) -> Result<ObjectRef, E>,
    ) -> Result<Vec<ObjectRef>, E> {
        let new = self.files.get(self.first_new_file..).unwrap_or_default();
        Ok(self.with_new_files(&PlannedFile::unchanged(new, open)?))
    }

    /// The files that [`write`](Plan::write) takes, of which the new ones are open. In the places of those whose fields are in the store
    /// already stands another: nothing is read of it.
    #[must_use]
    pub fn with_new_files(&self, opened: &[ObjectRef]) -> Vec<ObjectRef> {
        let absent = opened.first().cloned().into_iter().cycle().take(self.first_new_file);
        absent.chain(opened.iter().cloned()).collect()
    }
}

impl Source {
    /// All fields that scans found in files, with the numbers of these, and what is wrong in them. Bytes between messages are nothing
    /// wrong.
    #[must_use]
    pub fn of(found: Vec<Vec<Found>>) -> (Vec<Source>, Vec<(usize, Damage)>) {
        let (mut sources, mut damages) = (Vec::new(), Vec::new());
        for (file, found) in found.into_iter().enumerate() {
            for one in found {
                match one {
                    Found::Field(field) => sources.push(Source { file, field: *field }),
                    Found::Damage(damage) if damage.kind == DamageKind::Stray => {}
                    Found::Damage(damage) => damages.push((file, damage)),
                }
            }
        }
        (sources, damages)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Journal, Span};
    use swath_ioengine::MemoryMedium;

    fn plan(memory: &MemoryMedium, names: &[&str]) -> Plan {
        let file = |name: &&str| PlannedFile::of(name, &memory.object(name)).unwrap();
        Plan { files: names.iter().map(file).collect(), ..Plan::default() }
    }

    #[test]
    fn files_that_have_changed_are_named() {
        let memory = MemoryMedium::new();
        for name in ["memory://a", "memory://b", "memory://c"] {
            memory.put(name, b"GRIB".to_vec());
        }
        let mut plan = plan(&memory, &["memory://a", "memory://b", "memory://c"]);
        let open = |name: &str| Ok::<_, Error>(memory.object(name));
        assert_eq!(plan.open_files(open).unwrap().len(), 3);
        memory.put("memory://a", b"GRIB and more".to_vec());
        memory.put("memory://c", b"".to_vec());
        let error = plan.open_files(open).unwrap_err();
        assert_eq!(error.message(), "changed since the plan was made: memory://a, memory://c");
        // What is in the store already is not looked at.
        plan.first_new_file = 1;
        memory.put("memory://c", b"GRIB".to_vec());
        let keys: Vec<String> =
            plan.open_files(open).unwrap().iter().map(|object| object.key.to_string()).collect();
        assert_eq!(keys, ["memory://b", "memory://b", "memory://c"]);
    }

    #[test]
    fn bytes_between_messages_are_nothing_wrong() {
        let damage = |kind| {
            let span = Span { offset: 4, len: 2 };
            Found::Damage(Damage { span, kind, message: String::new() })
        };
        let found = vec![vec![damage(DamageKind::Stray)], vec![], vec![damage(DamageKind::Corrupt)]];
        let (sources, damages) = Source::of(found);
        assert!(sources.is_empty());
        assert_eq!(damages.iter().map(|(file, _)| *file).collect::<Vec<_>>(), [2]);
    }

    #[test]
    fn a_journal_is_shared_by_one_plan_alone() {
        let (memory, folder) = (MemoryMedium::new(), tempfile::tempdir().unwrap());
        memory.put("memory://a", b"GRIB".to_vec());
        let plan = plan(&memory, &["memory://a"]);
        Journal::shared(folder.path().join("j"), &plan).unwrap();
        Journal::shared(folder.path().join("j"), &plan).unwrap();
        let error = Journal::shared(folder.path().join("j"), &Plan::default()).unwrap_err();
        assert_eq!((error.kind(), error.message()), (ErrorKind::Invalid, "the journal of another plan"));
    }
}
