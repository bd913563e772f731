//! The Azure emulator, in a process of its own.

use crate::azure_request::AzureRequest;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// How long the emulator may take until it answers. It takes about a second where nothing else runs.
const READY_WITHIN: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// The script that `scripts/install-azurite` installs, below the root of the repository.
const SCRIPT: &str = ".tools/azurite/node_modules/azurite/dist/src/blob/main.js";

/// What is escaped in a URL's path.
const IN_PATHS: AsciiSet = NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Azurite's blob service, with its objects in memory. It is installed by `scripts/install-azurite`.
pub struct AzureServer {
    address: SocketAddr,
    child: Child,
    _folder: TempDir,
}

impl AzureServer {
    /// The account's name, which every Azurite knows.
    pub const ACCOUNT: &str = "devstoreaccount1";
    /// The account's key, which Azurite's documentation prints.
    pub const KEY: &str =
        "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

    /// Starts the emulator, or returns `None` where it is not installed: tests then say that they skip.
    ///
    /// # Errors
    ///
    /// Where it is installed and does not start, or does not answer within a minute.
    pub fn start() -> io::Result<Option<AzureServer>> {
        let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(SCRIPT);
        if !script.is_file() {
            return Ok(None);
        }
        let folder = tempfile::tempdir()?;
        let address = free_address()?;
        // One process, which has no children: node runs the script itself.
        let child = Command::new("node")
            .arg(&script)
            .args(["--blobHost", "127.0.0.1", "--blobPort", &address.port().to_string()])
            .args(["--skipApiVersionCheck", "--inMemoryPersistence", "--silent", "--disableTelemetry"])
            .current_dir(folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let mut server = AzureServer { address, child, _folder: folder };
        server.wait_until_ready()?;
        Ok(Some(server))
    }

    /// Where the emulator listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The account's endpoint.
    pub fn endpoint(&self) -> String {
        format!("http://{}/{}", self.address, AzureServer::ACCOUNT)
    }

    /// Makes an empty container.
    ///
    /// # Errors
    ///
    /// Where the emulator answers with an error.
    pub fn create_container(&self, container: &str) -> io::Result<()> {
        self.request("PUT", container, Some(("restype", "container")), None, &[])
    }

    /// Writes a blob, or replaces it.
    ///
    /// # Errors
    ///
    /// Where the emulator answers with an error.
    pub fn put(&self, container: &str, key: &str, bytes: &[u8]) -> io::Result<()> {
        let key = utf8_percent_encode(key, &IN_PATHS);
        self.request("PUT", &format!("{container}/{key}"), None, Some("BlockBlob"), bytes)
    }

    fn request(
        &self,
        method: &str,
        path: &str,
        query: Option<(&str, &str)>,
        blob_type: Option<&str>,
        body: &[u8],
    ) -> io::Result<()> {
        let (account, key) = (AzureServer::ACCOUNT, AzureServer::KEY);
        let status =
            AzureRequest { account, key, method, path, query, blob_type, body }.send(self.address)?;
        let wanted = 200..300;
        if wanted.contains(&status) {
            return Ok(());
        }
        Err(io::Error::other(format!("wanted to {method} {path}, the Azure emulator answered with {status}")))
    }

    fn wait_until_ready(&mut self) -> io::Result<()> {
        let start = Instant::now();
        while TcpStream::connect(self.address).is_err() {
            if let Some(status) = self.child.try_wait()? {
                return Err(io::Error::other(format!("the Azure emulator ended at once: {status}")));
            }
            if READY_WITHIN < start.elapsed() {
                return Err(io::Error::other("the Azure emulator does not answer"));
            }
            std::thread::sleep(LOOK_EVERY);
        }
        Ok(())
    }
}

impl Drop for AzureServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A port that was free a moment ago: the emulator cannot say which it took itself.
fn free_address() -> io::Result<SocketAddr> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()
}
