//! Compressed files: zstd and gzip, detected by the first bytes for reading and by the suffix of the name for writing.

use std::{
    fmt,
    io::{self, BufReader, BufWriter, Read, Write},
    path::Path,
};

use flate2::{Compression, bufread::MultiGzDecoder, write::GzEncoder};

/// The compression of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packing {
    /// None.
    None,
    /// gzip; consecutive members form one file.
    Gzip,
    /// zstd; consecutive frames form one file.
    Zstd,
}

impl Packing {
    /// By the suffix of a file name: `.zst`, `.gz`.
    #[must_use]
    pub fn of_name(path: &Path) -> Self {
        match path.extension().and_then(|ending| ending.to_str()) {
            Some("zst" | "zstd") => Self::Zstd,
            Some("gz") => Self::Gzip,
            _ => Self::None,
        }
    }

    fn of_bytes(first: &[u8]) -> Self {
        if first.starts_with(&[0x1f, 0x8b]) {
            Self::Gzip
        } else if first.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
            Self::Zstd
        } else {
            Self::None
        }
    }
}

/// Unpacks compressed streams, and returns other streams unchanged.
///
/// # Errors
/// If the first bytes cannot be read, or there is no memory to unpack.
pub fn unpack<'r>(mut from: impl Read + Send + 'r) -> io::Result<(Box<dyn Read + Send + 'r>, Packing)> {
    let first = peek(&mut from, 4)?;
    let packing = Packing::of_bytes(&first);
    let whole = BufReader::with_capacity(128 << 10, io::Cursor::new(first).chain(from));
    let unpacked: Box<dyn Read + Send + 'r> = match packing {
        Packing::None => Box::new(whole),
        Packing::Gzip => Box::new(MultiGzDecoder::new(whole)),
        Packing::Zstd => Box::new(zstd::Decoder::with_buffer(whole)?),
    };
    Ok((unpacked, packing))
}

/// The first bytes of a stream: fewer only if there are fewer.
///
/// # Errors
/// If they cannot be read.
pub fn peek(from: &mut impl Read, bytes: usize) -> io::Result<Vec<u8>> {
    match beginning(from, bytes) {
        (first, None) => Ok(first),
        (_, Some(error)) => Err(error),
    }
}

/// The first bytes of a stream, fewer only at its end or before an error, which is returned with them.
pub fn beginning(from: &mut impl Read, bytes: usize) -> (Vec<u8>, Option<io::Error>) {
    let mut first = Vec::with_capacity(bytes);
    // Bytes that were read before an error are kept.
    let read = from.take(bytes as u64).read_to_end(&mut first);
    (first, read.err())
}

/// Compresses a stream. The writer must be [finished](Self::finish).
pub enum Packer<W: Write> {
    /// Uncompressed.
    None(BufWriter<W>),
    /// gzip.
    Gzip(GzEncoder<BufWriter<W>>),
    /// zstd.
    Zstd(BufWriter<zstd::Encoder<'static, W>>),
}

impl<W: Write> fmt::Debug for Packer<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None(_) => "Packer::None",
            Self::Gzip(_) => "Packer::Gzip",
            Self::Zstd(_) => "Packer::Zstd",
        })
    }
}

impl<W: Write> Packer<W> {
    /// Compresses into `out`.
    ///
    /// # Errors
    /// If there is no memory to pack.
    pub fn new(out: W, packing: Packing) -> io::Result<Self> {
        Ok(match packing {
            Packing::None => Self::None(BufWriter::with_capacity(128 << 10, out)),
            Packing::Gzip => Self::Gzip(GzEncoder::new(BufWriter::new(out), Compression::default())),
            Packing::Zstd => Self::Zstd(BufWriter::with_capacity(128 << 10, zstd::Encoder::new(out, 3)?)),
        })
    }

    /// Writes the rest, and the end of the compressed stream.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn finish(self) -> io::Result<W> {
        let plain = |out: BufWriter<W>| out.into_inner().map_err(io::IntoInnerError::into_error);
        match self {
            Self::None(out) => plain(out),
            Self::Gzip(out) => plain(out.finish()?),
            Self::Zstd(out) => out.into_inner().map_err(io::IntoInnerError::into_error)?.finish(),
        }
    }
}

impl<W: Write> Write for Packer<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::None(out) => out.write(bytes),
            Self::Gzip(out) => out.write(bytes),
            Self::Zstd(out) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::None(out) => out.flush(),
            Self::Gzip(out) => out.flush(),
            Self::Zstd(out) => out.flush(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_is_unpacked_also_in_several_parts() {
        for packing in [Packing::None, Packing::Gzip, Packing::Zstd] {
            let part = |text: &str| {
                let mut packer = Packer::new(Vec::new(), packing).expect("memory");
                packer.write_all(text.as_bytes()).expect("written");
                packer.finish().expect("finished")
            };
            let rotated = [part("one\n"), part("two\n")].concat();
            let (mut unpacked, found) = unpack(&rotated[..]).expect("readable");
            let mut text = String::new();
            unpacked.read_to_string(&mut text).expect("whole");
            assert_eq!((text.as_str(), found), ("one\ntwo\n", packing));
        }
    }

    #[test]
    fn names_say_how_to_pack() {
        assert_eq!(Packing::of_name(Path::new("a/t.jsonl.zst")), Packing::Zstd);
        assert_eq!(Packing::of_name(Path::new("t.gz")), Packing::Gzip);
        assert_eq!(Packing::of_name(Path::new("zst")), Packing::None);
    }
}
