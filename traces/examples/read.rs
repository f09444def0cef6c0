//! Reads a trace without further use, and reports the speed in CPU time of this process.
//!
//! ```sh
//! cargo run --release -p traces --example read -- trace.jsonl
//! ```

use std::{error::Error, fs, io, io::Write};

use traces::trace::Reader;

fn main() -> Result<(), Box<dyn Error>> {
    let name = std::env::args().nth(1).ok_or("name a trace")?;
    let mut trace = Reader::open(fs::File::open(name)?)?;
    while trace.next_record()?.is_some() {}
    // Time on a CPU, nanoseconds: the first number.
    let spent = fs::read_to_string("/proc/self/schedstat")?;
    let seconds = spent.split(' ').next().unwrap_or_default().parse::<f64>()? / 1e9;
    let records = trace.records();
    writeln!(
        io::stdout(),
        "{records} records in {seconds:.2} s of CPU time: {:.0} a second",
        records as f64 / seconds
    )?;
    Ok(())
}
