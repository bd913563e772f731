//! The threads that a server runs on.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};

/// A runtime of a server's own. Dropping it ends every task, and with them every connection.
pub(crate) struct Background {
    runtime: Option<Runtime>,
}

impl Background {
    /// Starts `threads` threads; zero is taken as one.
    pub(crate) fn start(threads: usize) -> io::Result<Background> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(threads.max(1))
            .thread_name("cloud-testing")
            .enable_all()
            .build()?;
        Ok(Background { runtime: Some(runtime) })
    }

    /// Binds a free port at 127.0.0.1 and hands each connection to `serve`, which runs as a task of its own.
    pub(crate) fn listen<F>(&self, serve: impl Fn(TcpStream) -> F + Send + 'static) -> io::Result<SocketAddr>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let listener = std::net::TcpListener::bind((std::net::Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime = self.runtime.as_ref().ok_or_else(|| io::Error::other("the server has stopped"))?;
        let entered = runtime.enter();
        let listener = TcpListener::from_std(listener)?;
        drop(entered);
        runtime.spawn(async move {
            loop {
                match listener.accept().await {
                    Ok((stream, _)) => {
                        // Small answers must not wait for the acknowledgement of the one before.
                        let _ = stream.set_nodelay(true);
                        tokio::spawn(serve(stream));
                    }
                    // Out of descriptors: those of connections that end come back.
                    Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
                }
            }
        });
        Ok(address)
    }

    /// Runs a future to its end on the calling thread.
    pub(crate) fn block_on<F: Future>(&self, future: F) -> io::Result<F::Output> {
        let runtime = self.runtime.as_ref().ok_or_else(|| io::Error::other("the server has stopped"))?;
        Ok(runtime.block_on(future))
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
