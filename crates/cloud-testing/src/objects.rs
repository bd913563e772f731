//! The objects that a server of ours serves: put into memory, or files of a folder.

use crate::object_body::Content;
use bytes::Bytes;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{SystemTime, UNIX_EPOCH};

/// Objects by key. Cloning shares them, so a test can change an object under a running server.
#[derive(Clone, Debug, Default)]
pub struct Objects(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    /// What was put; `None` for what was removed and might still be in the folder.
    written: RwLock<BTreeMap<String, Option<Object>>>,
    folder: Option<PathBuf>,
    versions: AtomicU64,
}

/// One version of an object.
#[derive(Clone, Debug)]
pub(crate) struct Object {
    pub(crate) content: Content,
    /// With its quotes.
    pub(crate) etag: String,
    /// A number that no other version has, as Google's generations.
    pub(crate) generation: u64,
    pub(crate) modified: SystemTime,
}

/// When an object may be written.
#[derive(Clone, Debug, Default)]
pub(crate) enum Precondition {
    #[default]
    None,
    Absent,
    Etag(String),
    Generation(u64),
}

impl Objects {
    /// No objects.
    pub fn new() -> Objects {
        Objects::default()
    }

    /// The files of a folder, by their paths below it. Files may change while they are served. What is put lies in memory
    /// in front of them: nothing is written to the folder.
    pub fn folder(folder: impl Into<PathBuf>) -> Objects {
        Objects(Arc::new(Shared { folder: Some(folder.into()), ..Shared::default() }))
    }

    /// Writes an object, in place of one of the same key. Answers under way go on with the bytes that they began with.
    pub fn put(&self, key: &str, bytes: impl Into<Bytes>) {
        let _ = self.put_if(key, bytes.into(), &Precondition::None);
    }

    /// Removes an object. True when there was one.
    pub fn remove(&self, key: &str) -> bool {
        let was_there = self.get(key).is_some();
        self.0.written.write().unwrap_or_else(PoisonError::into_inner).insert(key.to_owned(), None);
        was_there
    }

    /// Writes an object where the condition holds, and returns its version.
    pub(crate) fn put_if(&self, key: &str, bytes: Bytes, condition: &Precondition) -> Option<Object> {
        let generation = self.0.versions.fetch_add(1, Ordering::Relaxed) + 1;
        let etag = format!("\"v{generation:x}-{:x}\"", bytes.len());
        let object =
            Object { content: Content::Memory(bytes), etag, generation, modified: SystemTime::now() };
        let mut written = self.0.written.write().unwrap_or_else(PoisonError::into_inner);
        let found = match written.get(key) {
            Some(written) => written.clone(),
            None => self.file(key),
        };
        let holds = match (condition, found) {
            (Precondition::None, _) | (Precondition::Absent, None) => true,
            (Precondition::Etag(etag), Some(found)) => *etag == found.etag,
            (Precondition::Generation(generation), Some(found)) => *generation == found.generation,
            (_, _) => false,
        };
        holds.then(|| {
            written.insert(key.to_owned(), Some(object.clone()));
            object
        })
    }

    pub(crate) fn get(&self, key: &str) -> Option<Object> {
        if let Some(written) = self.0.written.read().unwrap_or_else(PoisonError::into_inner).get(key) {
            return written.clone();
        }
        self.file(key)
    }

    /// The keys that start with `prefix`, in order.
    pub fn list(&self, prefix: &str) -> Vec<String> {
        let mut keys = BTreeSet::new();
        if let Some(folder) = &self.0.folder {
            let above = prefix.rsplit_once('/').map_or("", |(above, _)| above);
            if is_plain(above) {
                collect_files(folder, &folder.join(above), prefix, &mut keys);
            }
        }
        let written = self.0.written.read().unwrap_or_else(PoisonError::into_inner);
        for (key, object) in written.range(prefix.to_owned()..).take_while(|(key, _)| key.starts_with(prefix))
        {
            match object {
                Some(_) => keys.insert(key.clone()),
                None => keys.remove(key),
            };
        }
        keys.into_iter().collect()
    }

    fn file(&self, key: &str) -> Option<Object> {
        let folder = self.0.folder.as_ref()?;
        if key.is_empty() || !is_plain(key) {
            return None;
        }
        let file = fs::File::open(folder.join(key)).ok()?;
        let metadata = file.metadata().ok().filter(fs::Metadata::is_file)?;
        let modified = metadata.modified().ok()?;
        let since = modified.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        let generation = u64::try_from(since).unwrap_or(u64::MAX);
        let etag = format!("\"{generation:x}-{:x}\"", metadata.len());
        Some(Object { content: Content::File(Arc::new(file), metadata.len()), etag, generation, modified })
    }
}

/// True for paths that stay below the folder.
fn is_plain(path: &str) -> bool {
    Path::new(path).components().all(|part| matches!(part, Component::Normal(_)))
}

fn collect_files(root: &Path, folder: &Path, prefix: &str, keys: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let Some(key) = path.strip_prefix(root).ok().and_then(Path::to_str).map(|key| key.replace('\\', "/"))
        else {
            continue;
        };
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            if key.starts_with(prefix) || prefix.starts_with(&key) {
                collect_files(root, &path, prefix, keys);
            }
        } else if key.starts_with(prefix) {
            keys.insert(key);
        }
    }
}
