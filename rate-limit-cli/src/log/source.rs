//! The bytes of a log: of a file or of standard input, plain or compressed.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;

use crate::failure::{Code, Failure};
use crate::progress;

pub const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
const GZIP: &[u8] = &[0x1f, 0x8b];
const BLOCK: usize = 256 * 1024;
/// An event is short. Something that has no line ends in so many bytes is no log.
const MAX_LINE: u64 = 1 << 20;

/// The text of a log.
pub type Source = BufReader<Lines<Box<dyn Read + Send>>>;

/// Opens a log; `-` is standard input.
pub fn open(path: &Path) -> Result<Source, Failure> {
    let cannot = |error: io::Error| Failure::new(Code::Input, format!("{}: cannot be read: {error}", path.display()));
    let raw: Box<dyn Read + Send> = if path == Path::new("-") {
        Box::new(progress::of_bytes(None, io::stdin()))
    } else {
        let file = File::open(path).map_err(cannot)?;
        let length = file.metadata().map_err(cannot)?.len();
        Box::new(progress::of_bytes(Some(length), file))
    };
    let mut raw = BufReader::with_capacity(BLOCK, raw);
    let is_compressed = raw.fill_buf().map_err(cannot)?.starts_with(GZIP);
    let text: Box<dyn Read + Send> = if is_compressed {
        Box::new(MultiGzDecoder::new(raw))
    } else {
        Box::new(raw)
    };
    Ok(BufReader::with_capacity(BLOCK, Lines::new(text)))
}

/// Whether a log that begins with this is none.
pub fn is_binary(start: &[u8]) -> bool {
    let is_odd = |byte: &u8| byte.is_ascii_control() && !byte.is_ascii_whitespace();
    start.iter().any(is_odd)
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
