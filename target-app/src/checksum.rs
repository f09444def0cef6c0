//! A service that reads a file and computes checksums, at a quality between 0 and 1 (USITS'03, section 4.5).
//!
//! Work is done in rounds, each of a number of short reads and a sum for every second of them (in the original code 50
//! rounds of 100 reads and 50 sums); quality scales the number of reads and sums of a round. Deviations: the sum is
//! FNV-1a over the bytes read (the paper does not name one); the file is private to the process, and in memory after
//! the first read; and fixed rounds, done in full at any quality, stand for the minimum cost of a page: the paper's
//! server was overloaded at its lowest quality too, and a server of today is not.

use std::{
    fs::File,
    hint::black_box,
    io::Write,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    sync::Arc,
};

use controllers::{Random, Seeded};
use service_core::synthetic::checksum_graph;
use spec::{ChecksumSpec, graph::Graph};

use crate::emulated::{answer, page};
use live_service::service::{At, Boxed, Bytes, Handled, Request, Service};

/// The bytes of one read, as in the original code.
const READ_BYTES: usize = 100;
/// The size of the file in bytes.
const FILE_BYTES: u64 = 1 << 20;

/// The checksum service. It has one stage, `checksum`.
#[derive(Debug)]
pub struct Checksum {
    file: File,
    spec: ChecksumSpec,
    seed: u64,
    page: Bytes,
}

/// The result of a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Sums {
    number: u32,
    of_all: u64,
}

/// The file could not be created.
#[derive(Debug, thiserror::Error)]
#[error("cannot write the file to checksum, {path}: {source}")]
pub struct ChecksumError {
    path: PathBuf,
    source: std::io::Error,
}

impl Checksum {
    /// A service with a file of its own in the folder for temporary files.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn new(spec: &ChecksumSpec, seed: u64) -> Result<Arc<Self>, ChecksumError> {
        let path = std::env::temp_dir().join(format!("lab-checksum-{}-{seed:016x}", std::process::id()));
        let file = write(&path, seed).map_err(|source| ChecksumError { path: path.clone(), source })?;
        Ok(Arc::new(Self { file, spec: spec.clone(), seed, page: page(spec.answer_bytes) }))
    }

    /// One round at this quality: `reads` reads at quality 1, at least one, and a sum for every second one, from the
    /// first. `None` if the file cannot be read.
    fn round(&self, quality: f64, random: &mut Seeded) -> Option<Sums> {
        let mut bytes = [0; READ_BYTES];
        let mut sums = Sums { number: 0, of_all: 0 };
        for read in 0..self.spec.reads_at(quality) {
            let at = random.below(FILE_BYTES - READ_BYTES as u64);
            self.file.read_exact_at(&mut bytes, at).ok()?;
            if read % 2 == 0 {
                sums.number += 1;
                sums.of_all ^= fnv(&bytes);
            }
        }
        Some(black_box(sums))
    }
}

impl Service for Checksum {
    fn graph(&self) -> Graph {
        checksum_graph()
    }

    fn handle<'a>(&'a self, request: Request, at: At<'a>) -> Boxed<'a, Handled> {
        Box::pin(async move {
            let mut random = Seeded::new(self.seed ^ request.id.0);
            let fixed = (0..self.spec.fixed_rounds).map(|_| 1.0);
            for quality in fixed.chain((0..self.spec.rounds).map(|_| at.quality)) {
                if self.round(quality, &mut random).is_none() {
                    let mut failed = answer(self.error_page(http::StatusCode::INTERNAL_SERVER_ERROR));
                    *failed.status_mut() = http::StatusCode::INTERNAL_SERVER_ERROR;
                    return Ok(failed);
                }
                // One request may take tens of milliseconds of CPU: other requests, and refusals, run between its
                // rounds.
                tokio::task::yield_now().await;
            }
            Ok(answer(self.page.clone()))
        })
    }
}

fn write(path: &Path, seed: u64) -> std::io::Result<File> {
    let mut random = Seeded::new(seed);
    let bytes: Vec<u8> = (0..FILE_BYTES / 8).flat_map(|_| random.next_u64().to_le_bytes()).collect();
    let mut file = File::options().read(true).write(true).create_new(true).open(path)?;
    file.write_all(&bytes)?;
    // Nobody else needs its name; unlinked now, nothing is left behind however the process ends.
    std::fs::remove_file(path)?;
    Ok(file)
}

fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xCBF2_9CE4_8422_2325, |sum, &byte| (sum ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quality_scales_the_reads() {
        let spec = ChecksumSpec { rounds: 1, fixed_rounds: 0, reads: 10, answer_bytes: 100 };
        let service = Checksum::new(&spec, 7).unwrap();
        assert_eq!(service.page.len(), 100);
        let sum = |quality| service.round(quality, &mut Seeded::new(1)).unwrap();
        assert_eq!(sum(0.0), sum(0.1), "one read at least");
        assert_ne!(sum(0.1), sum(0.5));
        assert_eq!(sum(1.0), sum(7.0), "quality ends at 1");
        let sums = [0.0, 0.1, 0.5, 1.0].map(|quality| sum(quality).number);
        assert_eq!(sums, [1, 1, 3, 5], "of 1, 1, 5 and 10 reads");
    }
}
