//! A calibration as a plant file and as a table.

use std::fmt::Write;

use super::{
    figures::Series,
    plant::{Figure, PlantMeasurements},
};

const FIGURES: [(Figure, &str, &str); 6] = [
    (Figure::Link, "link_ms", "one way between users and service: (a refusal's time at the client - its CPU time) / 2"),
    (Figure::Accept, "accept_ms", "to take a connection: a refusal on a new connection against one on a kept one"),
    (Figure::Read, "read_ms", "to read a request: half of the CPU time of a refused one, since from outside"),
    (Figure::Refuse, "refuse_ms", "and to refuse it: the other half; they cannot be told apart"),
    (Figure::Operation, "operation_ms", "an extra database operation: slope of 1/throughput over operations"),
    (Figure::ChecksumRead, "checksum_read_ms", "a read of the checksum service: CPU time of a page / its reads"),
];

const PARTS: [&str; 4] = ["cpu_ms", "read_ms", "write_ms", "spread"];

/// The plant file. `how` says where and how it was measured.
pub fn as_yaml(found: &PlantMeasurements, how: &str) -> String {
    let plant = found.plant(how.to_owned());
    let mut text = String::from(
        "# What requests cost, in milliseconds of one core, each the median of several measurements (lab calibrate).\n\
         # With all of the database's connections in use: `slowdown` says how much longer everything takes with fewer.\n",
    );
    let _ = write!(text, "measured: {:?}\n{}cores: {}\n", plant.measured, found.verdict.origin_as_yaml(), plant.cores);
    for (figure, name, about) in FIGURES {
        if let Some(series) = found.figures.get(&figure) {
            let _ = writeln!(text, "{name}: {} # {about}", short(series.median()));
        }
    }
    let _ = writeln!(text, "writers: {}", plant.writers);
    if !plant.slowdown.is_empty() {
        let factors: Vec<String> = plant.slowdown.iter().map(|factor| short(*factor)).collect();
        let about = "factors with one connection for reading in use, two, ...: CPU a request at several concurrencies";
        let _ = writeln!(text, "slowdown: [{}] # {about}", factors.join(", "));
    }
    if !plant.types.is_empty() {
        text.push_str(
            "# cpu_ms: outside of the database; read_ms: on a connection for reading; write_ms: on that for changes; all without\n\
             # extra operations. A type's share of all CPU time is its share of the service times of a user alone. Of it, the\n\
             # database's parts are those of its threads, in proportion, the writer's for the types that change mail.\n\
             # spread: standard deviation of the logarithm of that user's service times.\n\
             # Users who were there never made or deleted folders: where they did not, these are given delete's costs.\n\
             types:\n",
        );
    }
    for (kind, cost) in &plant.types {
        let parts = [cost.cpu_ms, cost.read_ms, cost.write_ms, cost.spread];
        let parts: Vec<String> =
            PARTS.iter().zip(parts).map(|(name, part)| format!("{name}: {}", short(part))).collect();
        let _ = writeln!(text, "  {kind}: {{{}}}", parts.join(", "));
    }
    text
}

/// Every figure with its lowest and highest.
pub fn as_table(found: &PlantMeasurements) -> String {
    let mut text = format!("{:<58} {:>9}   {}\n", "figure", "median", "lowest .. highest");
    let mut line = |name: &str, series: &Series| {
        let (low, high) = series.range();
        let _ = writeln!(text, "{name:<58} {:>9}   {} .. {}", short(series.median()), short(low), short(high));
    };
    for (figure, name, _) in FIGURES {
        if let Some(series) = found.figures.get(&figure) {
            line(name, series);
        }
    }
    for (at, series) in found.slowdown.iter().enumerate() {
        line(&format!("slowdown with {} in use", at + 1), series);
    }
    for (kind, parts) in &found.types {
        PARTS.iter().zip(parts).for_each(|(part, series)| line(&format!("{kind}: {part}"), series));
    }
    for (name, series) in &found.checks {
        line(name, series);
    }
    text.push('\n');
    text.push_str(&found.verdict.in_words());
    text
}

/// Doubts about the figures, each with what to do.
pub fn caution(found: &PlantMeasurements) -> Option<String> {
    let (in_use, [before, after]) = found.noisy_slowdown()?;
    Some(format!(
        "caution: the slowdown rises from {} with {in_use} in use to {} with {}, and should fall: the machine was noisy. Measure again with \
         nothing else running, with longer loads (--for 10s) or more repetitions (--repeat 7)",
        short(before),
        short(after),
        in_use + 1,
    ))
}

/// Three significant digits.
fn short(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return "0".to_owned();
    }
    let digits = (2 - libm::log10(value.abs()).floor() as i32).clamp(0, 8);
    let text = format!("{value:.0$}", usize::try_from(digits).unwrap_or(0));
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use experiment::plan::read_plant;
    use spec::plant::PlantSpec;

    use super::*;

    #[test]
    fn three_digits() {
        let cases =
            [(0.0, "0"), (0.000_512_3, "0.000512"), (0.1, "0.1"), (1.0, "1"), (12.345, "12.3"), (1234.5, "1234")];
        for (value, text) in cases {
            assert_eq!(short(value), text);
        }
    }

    #[test]
    fn the_file_reads_back_as_the_plant() {
        let series = |value: f64| {
            let mut series = Series::default();
            series.add(value);
            series
        };
        let mut found = PlantMeasurements::default();
        for (at, (figure, ..)) in FIGURES.into_iter().enumerate() {
            found.figures.insert(figure, series(0.01 * (at + 1) as f64));
        }
        found.slowdown = vec![series(1.5), series(1.0)];
        found.types.insert("list messages".to_owned(), [0.1, 0.2, 0.3, 0.4].map(series));
        found.types.insert("delete".to_owned(), [0.5, 0.6, 0.7, 0.8].map(series));
        let how = "2026-11-22, 2 cores \"or so\"";
        let read = read_plant(&as_yaml(&found, how)).expect("a plant file");
        assert_eq!(read.measured_by.as_ref().map(|origin| origin.verdict.as_str()), Some("VALID"));
        assert_eq!(PlantSpec { measured_by: None, ..read.clone() }, found.plant(how.to_owned()));
        assert_eq!(read.types["create folder"], read.types["delete"], "nobody asked for it");
        assert_eq!((read.link_ms, read.checksum_read_ms), (0.01, 0.06), "each under its own name");
        assert!(as_table(&found).contains("list messages: write_ms"));
        assert_eq!(caution(&found), None);
        found.slowdown.insert(1, series(1.62));
        let said = caution(&found).expect("it rises");
        assert!(said.contains("from 1.5 with 1 in use to 1.62 with 2") && said.contains("--repeat"), "{said}");
    }
}
