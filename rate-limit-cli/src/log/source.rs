//! The bytes of a log: of a file or of standard input, plain or compressed.

use std::fs::File;
use std::io::{self, BufReader, Chain, Cursor, Read};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;

use crate::failure::{Code, Failure};
use crate::progress;

pub const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
const GZIP: &[u8] = &[0x1f, 0x8b];
const BLOCK: usize = 256 * 1024;
/// An event is short. Something that has no line ends in so many bytes is no log.
pub const MAX_LINE: u64 = 1 << 20;

/// The text of a log.
pub type Source = BufReader<Chain<Cursor<Vec<u8>>, Lines<Box<dyn Read + Send>>>>;

/// Opens a log; `-` is standard input. Tells how its text begins, too: up to something that is no blank, and further.
pub fn open(path: &Path) -> Result<(Vec<u8>, Source), Failure> {
    let failure = |told: String| Failure::new(Code::Input, format!("{}: {told}", path.display()));
    let cannot = |error: io::Error| failure(format!("cannot be read: {error}"));
    let mut raw: Box<dyn Read + Send> = if path == Path::new("-") {
        Box::new(progress::of_bytes(None, io::stdin()))
    } else {
        let file = File::open(path).map_err(cannot)?;
        let length = file.metadata().map_err(cannot)?.len();
        Box::new(progress::of_bytes(Some(length), file))
    };
    let mut magic = Vec::new();
    raw.by_ref()
        .take(GZIP.len() as u64)
        .read_to_end(&mut magic)
        .map_err(cannot)?;
    let is_compressed = magic == GZIP;
    let raw = Cursor::new(magic).chain(raw);
    let mut text = Lines::new(if is_compressed {
        Box::new(MultiGzDecoder::new(BufReader::with_capacity(BLOCK, raw))) as Box<dyn Read + Send>
    } else {
        Box::new(raw)
    });
    let start = start_of(&mut text).map_err(|error| failure(error.to_string()))?;
    let source = BufReader::with_capacity(BLOCK, Cursor::new(start.clone()).chain(text));
    Ok((start, source))
}

/// A pipe gives what is there, be it a single byte, so one read may not show what the text is.
fn start_of(text: &mut impl Read) -> io::Result<Vec<u8>> {
    let (mut start, mut block) = (Vec::new(), vec![0; BLOCK]);
    let shows = |start: &[u8]| start.len() > BYTE_ORDER_MARK.len() && first_of(start).is_some();
    while !shows(&start) && (start.len() as u64) < MAX_LINE {
        match text.read(&mut block)? {
            0 => break,
            read => start.extend_from_slice(&block[..read]),
        }
    }
    Ok(start)
}

/// The first byte that is no blank.
pub fn first_of(start: &[u8]) -> Option<u8> {
    let start = start.strip_prefix(BYTE_ORDER_MARK).unwrap_or(start);
    start.iter().copied().find(|byte| !byte.is_ascii_whitespace())
}

/// Text whose lines are short enough to be held. Its errors say at which line they are.
#[derive(Debug)]
pub struct Lines<R> {
    text: R,
    line: u64,
    /// The bytes of this line so far.
    length: u64,
}

impl<R> Lines<R> {
    const fn new(text: R) -> Self {
        Self {
            text,
            line: 1,
            length: 0,
        }
    }
}

impl<R: Read> Read for Lines<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.text.read(buffer).map_err(|error| at_line(self.line, &error))?;
        let bytes = &buffer[..read];
        let mut from = 0;
        for end in memchr::memchr_iter(b'\n', bytes) {
            self.length = if self.length + (end - from) as u64 > MAX_LINE {
                u64::MAX
            } else {
                0
            };
            if self.length > 0 {
                break;
            }
            (self.line, from) = (self.line + 1, end + 1);
        }
        self.length = self.length.saturating_add((read - from) as u64);
        if self.length > MAX_LINE {
            let told = format!(
                "line {} is longer than a megabyte: a log has an event a line",
                self.line
            );
            return Err(io::Error::new(io::ErrorKind::InvalidData, told));
        }
        Ok(read)
    }
}

fn at_line(line: u64, error: &io::Error) -> io::Error {
    let told = match error.kind() {
        io::ErrorKind::UnexpectedEof => {
            format!("the compressed data ends early, in line {line}: the file is cut off, so fetch it again")
        }
        io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput => {
            format!("the compressed data is damaged behind line {line}: {error}")
        }
        _ => format!("cannot be read on from line {line}: {error}"),
    };
    io::Error::new(error.kind(), told)
}

/// A log that is there as it is.
#[cfg(test)]
pub fn given(text: &str) -> Source {
    let lines: Lines<Box<dyn Read + Send>> = Lines::new(Box::new(io::empty()));
    BufReader::new(Cursor::new(text.as_bytes().to_vec()).chain(lines))
}
