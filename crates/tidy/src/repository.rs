use std::io;
use std::path::{Path, PathBuf};

/// Folders that hold no source: build outputs, caches, and what a fuzzer finds.
const SKIPPED_FOLDERS: [&str; 4] = ["target", "corpus", "artifacts", "__pycache__"];

const TEXT_EXTENSIONS: [&str; 8] = ["rs", "py", "pyi", "toml", "md", "sh", "c", "h"];

/// The text files of a checkout, in memory, so that every check is a function of text.
#[derive(Debug, Default)]
pub struct Repository {
    /// Where it lies on disk, for `cargo tree`.
    pub root: PathBuf,
    /// Sorted by path.
    pub files: Vec<TextFile>,
}

/// A file and what it says.
#[derive(Debug)]
pub struct TextFile {
    /// From the repository's root, with forward slashes.
    pub path: String,
    /// The whole content.
    pub text: String,
}

impl Repository {
    /// Reads the source, documentation and build files under `root`, leaving out build outputs and hidden folders
    /// other than `.ci`.
    ///
    /// # Errors
    ///
    /// When a folder or file cannot be read, or a source is not UTF-8.
    pub fn load(root: &Path) -> io::Result<Self> {
        let mut files = Vec::new();
        collect(root, root, &mut files)?;
        files.sort_by(|left, right| left.path.cmp(&right.path));
        Ok(Self { root: root.to_owned(), files })
    }

    /// The file at exactly this path.
    #[must_use]
    pub fn file(&self, path: &str) -> Option<&TextFile> {
        self.files.iter().find(|file| file.path == path)
    }

    /// Rust files of the crates, tests and benches included.
    pub(crate) fn rust_files(&self) -> impl Iterator<Item = &TextFile> {
        self.files.iter().filter(|file| file.path.starts_with("crates/") && file.path.ends_with(".rs"))
    }

    /// Rust files of the crates' libraries and binaries.
    pub(crate) fn crate_sources(&self) -> impl Iterator<Item = &TextFile> {
        self.rust_files().filter(|file| file.path.split('/').nth(2) == Some("src"))
    }
}

fn collect(root: &Path, folder: &Path, files: &mut Vec<TextFile>) -> io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = entry.path();
        let kind = entry.file_type()?;
        if kind.is_dir() {
            let hidden = name.starts_with('.') && name != ".ci";
            if !hidden && !SKIPPED_FOLDERS.contains(&name.as_str()) {
                collect(root, &path, files)?;
            }
        } else if kind.is_file() && is_text(&path) {
            let relative = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().replace('\\', "/");
            let text = std::fs::read_to_string(&path)
                .map_err(|error| io::Error::new(error.kind(), format!("{relative}: {error}")))?;
            files.push(TextFile { path: relative, text });
        }
    }
    Ok(())
}

/// Scripts have no extension; they lie in `scripts` and `.ci`.
fn is_text(path: &Path) -> bool {
    let folder = path.parent().and_then(Path::file_name);
    match path.extension() {
        Some(extension) => TEXT_EXTENSIONS.iter().any(|known| extension == *known),
        None => path.ends_with("Makefile") || folder.is_some_and(|name| name == "scripts" || name == ".ci"),
    }
}

#[cfg(test)]
pub(crate) fn repository(files: &[(&str, &str)]) -> Repository {
    let files = files
        .iter()
        .map(|(path, text)| TextFile { path: (*path).to_owned(), text: (*text).to_owned() })
        .collect();
    Repository { root: PathBuf::new(), files }
}
