//! A proxy on loopback that fails as it is told to.

use std::io;
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::task::{JoinHandle, JoinSet};

/// What happens to one answer of the server. The server has done its work by then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It is thrown away and the connection closed.
    Drop,
    /// Other bytes come in its place.
    Garbage,
    /// It is held back, and so is all that follows it on its connection.
    Stall,
}

/// Passes everything on between its clients and one server, until told otherwise. Dropping it closes all.
pub struct FaultProxy {
    port: u16,
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

struct Shared {
    server: u16,
    armed: Mutex<Option<Fault>>,
    hang_up: AtomicBool,
    refuse: Notify,
    accepted: AtomicUsize,
}

impl FaultProxy {
    /// A proxy to the server at this port of loopback.
    pub async fn start(server: u16) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .await
            .expect("loopback has a free port");
        let port = listener.local_addr().expect("it is bound").port();
        let shared = Arc::new(Shared {
            server,
            armed: Mutex::new(None),
            hang_up: AtomicBool::new(false),
            refuse: Notify::new(),
            accepted: AtomicUsize::new(0),
        });
        let task = tokio::spawn(accept(listener, Arc::clone(&shared)));
        Self { port, shared, task }
    }

    /// `redis://127.0.0.1:PORT/`.
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}/", self.port)
    }

    /// Does this to the next answer of the server, and to that one alone.
    pub fn arm(&self, fault: Fault) {
        *self.shared.armed.lock().expect("no holder panics") = Some(fault);
    }

    /// Whether the fault is still to come.
    pub fn is_armed(&self) -> bool {
        self.shared.armed.lock().expect("no holder panics").is_some()
    }

    /// From now on closes each connection on which a script is called, before the server hears of it.
    pub fn hang_up_on_calls(&self) {
        self.shared.hang_up.store(true, Ordering::SeqCst);
    }

    /// Closes all connections and refuses new ones, for good.
    pub async fn refuse(&mut self) {
        self.shared.refuse.notify_one();
        (&mut self.task).await.expect("it does not panic");
    }

    /// How many connections it has accepted.
    pub fn accepted(&self) -> usize {
        self.shared.accepted.load(Ordering::SeqCst)
    }
}

impl Drop for FaultProxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    // Dropped with this task, and every connection with it.
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                let (client, _) = accepted.expect("it listens");
                shared.accepted.fetch_add(1, Ordering::SeqCst);
                connections.spawn(pass(client, Arc::clone(&shared)));
            }
            () = shared.refuse.notified() => break,
        }
    }
    drop(listener);
    connections.shutdown().await;
}

/// Ends when either side does.
async fn pass(client: TcpStream, shared: Arc<Shared>) -> io::Result<()> {
    let server = TcpStream::connect((Ipv4Addr::LOCALHOST, shared.server)).await?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    loop {
        tokio::select! {
            request = read(&client) => {
                let request = request?;
                let call = request.windows(7).any(|window| window == b"EVALSHA");
                if call && shared.hang_up.load(Ordering::SeqCst) {
                    return Ok(());
                }
                write(&server, &request).await?;
            }
            answer = read(&server) => {
                let answer = answer?;
                let fault = shared.armed.lock().expect("no holder panics").take();
                match fault {
                    Some(Fault::Drop) => return Ok(()),
                    Some(Fault::Garbage) => write(&client, b"\x16\x03\x01 this is no Redis\r\n").await?,
                    Some(Fault::Stall) => std::future::pending().await,
                    None => write(&client, &answer).await?,
                }
            }
        }
    }
}

/// Loses nothing when dropped while it waits.
async fn read(stream: &TcpStream) -> io::Result<Vec<u8>> {
    let mut buffer = vec![0; 1 << 16];
    loop {
        stream.readable().await?;
        match stream.try_read(&mut buffer) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(length) => {
                buffer.truncate(length);
                return Ok(buffer);
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
}

async fn write(stream: &TcpStream, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        stream.writable().await?;
        match stream.try_write(bytes) {
            Ok(length) => bytes = &bytes[length..],
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
