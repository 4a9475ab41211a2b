//! A proxy on loopback that fails as it is told to.

use std::io;
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{Instant, sleep_until};

use super::ports::free_port;

/// How far apart the bytes of an answer come under [`Weather::Trickle`].
const TRICKLE: Duration = Duration::from_secs(1);

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

/// What happens to all that passes, on open connections and on new ones, until it changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weather {
    /// Nothing.
    Fair,
    /// Connections are closed and new ones refused.
    Refuse,
    /// Connections are accepted, requests do not reach the server and no answer comes. A connection that lost
    /// something so is closed when the weather changes.
    Silent,
    /// Requests reach the server; the connection is closed in place of the answer.
    Cut,
    /// Requests reach the server; other bytes come in place of the answer.
    Garbage,
    /// Requests reach the server; its answers come one byte a second.
    Trickle,
    /// Requests reach the server; each piece of an answer comes that much later.
    Delay(Duration),
    /// Connections are accepted, and all that is sent is kept for later.
    Paused,
}

/// Passes everything on between its clients and one server, until told otherwise. Dropping it closes all.
pub struct FaultProxy {
    port: u16,
    shared: Arc<Shared>,
    listens: watch::Receiver<bool>,
    task: JoinHandle<()>,
}

struct Shared {
    server: u16,
    weather: watch::Sender<Weather>,
    armed: Mutex<Option<Fault>>,
    hang_up: AtomicBool,
    accepted: AtomicUsize,
    /// How many connections had been accepted when all of them were forgotten.
    forgotten: AtomicUsize,
}

impl FaultProxy {
    /// A proxy to the server at this port of loopback.
    pub async fn start(server: u16) -> Self {
        let listener = listen_anywhere().await;
        let port = listener.local_addr().expect("it is bound").port();
        let shared = Arc::new(Shared {
            server,
            weather: watch::Sender::new(Weather::Fair),
            armed: Mutex::new(None),
            hang_up: AtomicBool::new(false),
            accepted: AtomicUsize::new(0),
            forgotten: AtomicUsize::new(0),
        });
        let (sender, listens) = watch::channel(true);
        let task = tokio::spawn(serve(listener, port, Arc::clone(&shared), sender));
        Self {
            port,
            shared,
            listens,
            task,
        }
    }

    /// `redis://127.0.0.1:PORT/`.
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}/", self.port)
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// Changes the weather. When this returns it holds, of connections to come too.
    pub async fn turn(&self, weather: Weather) {
        self.shared.weather.send_replace(weather);
        let mut listens = self.listens.clone();
        let there = listens
            .wait_for(|listens| *listens == (weather != Weather::Refuse))
            .await;
        there.expect("it does not panic");
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

    /// From now on nothing passes on the connections that are open, which stay open. New ones are passed on.
    pub fn forget_connections(&self) {
        self.shared.forgotten.store(self.accepted(), Ordering::SeqCst);
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

/// On a port that is still free after it was closed for a while.
async fn listen_anywhere() -> TcpListener {
    for _ in 0..5 {
        if let Ok(listener) = TcpListener::bind((Ipv4Addr::LOCALHOST, free_port())).await {
            return listener;
        }
    }
    panic!("loopback has no free port");
}

async fn listen(port: u16) -> TcpListener {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await;
    listener.expect("the port is free")
}

async fn serve(mut listener: TcpListener, port: u16, shared: Arc<Shared>, listens: watch::Sender<bool>) {
    let mut weather = shared.weather.subscribe();
    loop {
        accept(listener, &shared, &mut weather).await;
        listens.send_replace(false);
        // The sender is ours, so it is there.
        let _ = weather.wait_for(|weather| *weather != Weather::Refuse).await;
        listener = listen(port).await;
        listens.send_replace(true);
    }
}

/// Until connections are to be refused.
async fn accept(listener: TcpListener, shared: &Arc<Shared>, weather: &mut watch::Receiver<Weather>) {
    // Dropped with this task, and every connection with it.
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                let (client, _) = accepted.expect("it listens");
                let number = shared.accepted.fetch_add(1, Ordering::SeqCst);
                connections.spawn(pass(client, number, Arc::clone(shared)));
            }
            // Those that have ended need not be kept.
            Some(_) = connections.join_next() => {}
            _ = weather.wait_for(|weather| *weather == Weather::Refuse) => break,
        }
    }
    drop(listener);
    connections.shutdown().await;
}

/// Ends when either side does.
async fn pass(client: TcpStream, number: usize, shared: Arc<Shared>) -> io::Result<()> {
    let server = TcpStream::connect((Ipv4Addr::LOCALHOST, shared.server)).await?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let pass = Pass {
        client,
        server,
        shared,
        number,
        lost: AtomicBool::new(false),
    };
    let (sender, answers) = mpsc::unbounded_channel();
    tokio::select! {
        end = pass.requests() => end,
        end = pass.answers(answers) => end,
        () = pass.receive(sender) => Ok(()),
        end = pass.close_after_silence() => end,
    }
}

struct Pass {
    client: TcpStream,
    server: TcpStream,
    shared: Arc<Shared>,
    /// How many were accepted before.
    number: usize,
    /// Whether something was sent that will never arrive.
    lost: AtomicBool,
}

impl Pass {
    fn is_forgotten(&self) -> bool {
        self.number < self.shared.forgotten.load(Ordering::SeqCst)
    }

    async fn requests(&self) -> io::Result<()> {
        let mut weather = self.shared.weather.subscribe();
        loop {
            let request = read(&self.client).await?;
            let call = request.windows(7).any(|window| window == b"EVALSHA");
            if call && self.shared.hang_up.load(Ordering::SeqCst) {
                return Ok(());
            }
            let now = *weather
                .wait_for(|weather| *weather != Weather::Paused)
                .await
                .map_err(io::Error::other)?;
            match now {
                _ if self.is_forgotten() => {}
                Weather::Silent => self.lost.store(true, Ordering::SeqCst),
                _ => write(&self.server, &request).await?,
            }
        }
    }

    /// Notes when each piece came. When the server closes, what it has sent before is still brought.
    async fn receive(&self, answers: mpsc::UnboundedSender<(Instant, Vec<u8>)>) {
        while let Ok(answer) = read(&self.server).await {
            let _ = answers.send((Instant::now(), answer));
        }
        drop(answers);
        std::future::pending().await
    }

    async fn answers(&self, mut answers: mpsc::UnboundedReceiver<(Instant, Vec<u8>)>) -> io::Result<()> {
        while let Some((came, answer)) = answers.recv().await {
            if self.is_forgotten() {
                continue;
            }
            let fault = self.shared.armed.lock().expect("no holder panics").take();
            match fault {
                Some(Fault::Drop) => return Ok(()),
                Some(Fault::Garbage) => self.garbage().await?,
                Some(Fault::Stall) => std::future::pending().await,
                None => self.answer(came, &answer).await?,
            }
        }
        Ok(())
    }

    /// Brings one piece to the client, as the weather is meanwhile.
    async fn answer(&self, came: Instant, mut answer: &[u8]) -> io::Result<()> {
        let mut weather = self.shared.weather.subscribe();
        while !answer.is_empty() {
            let now = *weather.borrow_and_update();
            let due = match now {
                Weather::Cut => return Err(io::ErrorKind::ConnectionAborted.into()),
                Weather::Garbage => return self.garbage().await,
                Weather::Silent => {
                    self.lost.store(true, Ordering::SeqCst);
                    return Ok(());
                }
                Weather::Paused | Weather::Refuse => None,
                Weather::Fair => Some(came),
                Weather::Delay(delay) => Some(came + delay),
                Weather::Trickle => Some(Instant::now() + TRICKLE),
            };
            let wait = async {
                match due {
                    Some(due) => sleep_until(due).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                changed = weather.changed() => changed.map_err(io::Error::other)?,
                () = wait => {
                    let length = if now == Weather::Trickle { 1 } else { answer.len() };
                    write(&self.client, &answer[..length]).await?;
                    answer = &answer[length..];
                }
            }
        }
        Ok(())
    }

    async fn garbage(&self) -> io::Result<()> {
        write(&self.client, b"\x16\x03\x01 this is no Redis\r\n").await
    }

    async fn close_after_silence(&self) -> io::Result<()> {
        let mut weather = self.shared.weather.subscribe();
        loop {
            weather.changed().await.map_err(io::Error::other)?;
            let silent = *weather.borrow_and_update() == Weather::Silent;
            if !silent && self.lost.load(Ordering::SeqCst) {
                return Ok(());
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
