//! Sorting more than memory holds: parts are sorted in memory, written to temporary files, and merged while reading.

use std::{
    cmp::Reverse,
    collections::BinaryHeap,
    fmt,
    fs::File,
    io::{self, BufRead, BufReader, Seek, Write},
};

use serde::{Serialize, de::DeserializeOwned};

/// A sortable item with its key. The sort is stable.
pub trait Sorted: Serialize + DeserializeOwned {
    /// The key.
    fn key(&self) -> i64;
}

/// The number of items that are sorted in memory at a time. An entry of an import takes about 200 bytes.
pub const PART: usize = 200_000;

/// Files that are merged at a time: each is an open descriptor and a decoder's window.
const FILES: usize = 64;

/// Collects items in any order.
pub struct Spool<T> {
    part: Vec<T>,
    limit: usize,
    files: Vec<File>,
}

impl<T> fmt::Debug for Spool<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Spool").field("waiting", &self.part.len()).field("files", &self.files.len()).finish()
    }
}

impl<T: Sorted> Spool<T> {
    /// Sorts `limit` items at a time in memory.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self { part: Vec::new(), limit: limit.max(1), files: Vec::new() }
    }

    /// Adds an item.
    ///
    /// # Errors
    /// If a temporary file cannot be written.
    pub fn push(&mut self, item: T) -> io::Result<()> {
        self.part.push(item);
        if self.part.len() >= self.limit {
            self.part.sort_by_key(Sorted::key);
            let part = std::mem::take(&mut self.part);
            self.files.push(written(part.into_iter().map(Ok))?);
            if self.files.len() >= FILES {
                let merged = Merge::<T>::of(std::mem::take(&mut self.files), Vec::new())?;
                self.files.push(written(merged)?);
            }
        }
        Ok(())
    }

    /// Returns all items, sorted.
    ///
    /// # Errors
    /// If a temporary file cannot be read.
    pub fn sorted(mut self) -> io::Result<Merge<T>> {
        self.part.sort_by_key(Sorted::key);
        Merge::of(self.files, self.part)
    }
}

/// Writes sorted items to an unnamed temporary file, which disappears with the process.
pub(crate) fn written<T: Serialize>(items: impl Iterator<Item = io::Result<T>>) -> io::Result<File> {
    let mut packed = io::BufWriter::new(zstd::Encoder::new(tempfile::tempfile()?, 1)?);
    for item in items {
        serde_json::to_writer(&mut packed, &item?)?;
        packed.write_all(b"\n")?;
    }
    let mut file = packed.into_inner().map_err(io::IntoInnerError::into_error)?.finish()?;
    file.rewind()?;
    Ok(file)
}

pub(crate) type Packed = BufReader<zstd::Decoder<'static, BufReader<File>>>;

/// A file that was [written], from its beginning.
pub(crate) fn opened(file: File) -> io::Result<Packed> {
    Ok(BufReader::new(zstd::Decoder::new(file)?))
}

/// The next item of a file that was [written]. `line` is room to read it into.
pub(crate) fn next_of<T: DeserializeOwned>(file: &mut Packed, line: &mut String) -> io::Result<Option<T>> {
    line.clear();
    let read = file.read_line(line)?;
    Ok(if read > 0 { Some(serde_json::from_str(line)?) } else { None })
}

/// Merges the items in the order of keys.
pub struct Merge<T> {
    files: Vec<Packed>,
    last: std::vec::IntoIter<T>,
    /// The next item of each source. Sources are in the order of their creation.
    next: BinaryHeap<Reverse<Next<T>>>,
    line: String,
}

impl<T> fmt::Debug for Merge<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Merge").field("files", &self.files.len()).finish_non_exhaustive()
    }
}

struct Next<T> {
    key: i64,
    source: usize,
    item: T,
}

impl<T: Sorted> Merge<T> {
    fn of(files: Vec<File>, last: Vec<T>) -> io::Result<Self> {
        let files = files.into_iter().map(opened).collect::<io::Result<Vec<Packed>>>()?;
        let mut merge = Self { files, last: last.into_iter(), next: BinaryHeap::new(), line: String::new() };
        for source in 0..=merge.files.len() {
            merge.refill(source)?;
        }
        Ok(merge)
    }

    /// Puts the next of a source on the heap, if it has one.
    fn refill(&mut self, source: usize) -> io::Result<()> {
        let item = match self.files.get_mut(source) {
            None => self.last.next(),
            Some(file) => next_of(file, &mut self.line)?,
        };
        if let Some(item) = item {
            self.next.push(Reverse(Next { key: T::key(&item), source, item }));
        }
        Ok(())
    }
}

impl<T: Sorted> Iterator for Merge<T> {
    type Item = io::Result<T>;

    fn next(&mut self) -> Option<Self::Item> {
        let Reverse(Next { source, item, .. }) = self.next.pop()?;
        Some(self.refill(source).map(|()| item))
    }
}

impl<T> Ord for Next<T> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.key, self.source).cmp(&(other.key, other.source))
    }
}

impl<T> PartialOrd for Next<T> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> PartialEq for Next<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl<T> Eq for Next<T> {}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    impl Sorted for (i64, u32) {
        fn key(&self) -> i64 {
            self.0
        }
    }

    proptest! {
        #[test]
        fn it_sorts_as_memory_does_however_small_its_parts(keys in prop::collection::vec(-9_i64..9, 0..400), limit in 1_usize..50) {
            let items: Vec<(i64, u32)> = keys.into_iter().zip(0..).collect();
            let mut spool = Spool::new(limit);
            for item in &items {
                spool.push(*item).expect("a temporary file");
            }
            let sorted: Vec<(i64, u32)> = spool.sorted().expect("readable").map(|item| item.expect("readable")).collect();
            let mut expected = items;
            expected.sort_by_key(|item| item.0);
            prop_assert_eq!(sorted, expected);
        }
    }
}
