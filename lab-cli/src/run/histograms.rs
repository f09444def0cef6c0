//! `*.hlog`: the histograms of an arm in the interval log format of HdrHistogram, a line each, tagged `phase/family` or
//! `phase/family/type`. Times of requests that were given up are known only to be longer: they are lines of their own,
//! tagged `…/censored`.

use std::{fs::File, io::BufWriter, path::Path, time::Duration};

use hdrhistogram::{
    Histogram,
    serialization::{
        Deserializer, V2Serializer,
        interval_log::{IntervalLogWriterBuilder, Tag},
    },
};
use workloads::measure::{Family, Report};

use super::RunFailure;

/// Writes every histogram of a report. Values are microseconds.
pub fn write(report: &Report, path: &Path) -> Result<(), RunFailure> {
    let failed = |error: &dyn std::fmt::Display| RunFailure::File {
        path: path.to_owned(),
        source: std::io::Error::other(error.to_string()),
    };
    let mut file = BufWriter::new(File::create(path).map_err(RunFailure::at(path))?);
    let mut serializer = V2Serializer::new();
    let mut log =
        IntervalLogWriterBuilder::new().begin_log_with(&mut file, &mut serializer).map_err(|error| failed(&error))?;
    let mut begins = Duration::ZERO;
    for phase in &report.phases {
        let lasts = Duration::from_secs_f64(phase.seconds);
        let kinds = phase.by_type.keys().map(|kind| Some(kind.as_str()));
        for kind in std::iter::once(None).chain(kinds) {
            for family in Family::ALL {
                let Some(found) = report.distribution(&phase.name, family, kind) else { continue };
                let known = found.known_as_v2().map_err(|error| failed(&error))?;
                let censored = found.censored_as_v2().map_err(|error| failed(&error))?;
                let name = match kind {
                    None => format!("{}/{}", phase.name, family.name()),
                    Some(kind) => format!("{}/{}/{}", phase.name, family.name(), kind.replace(' ', "-")),
                };
                let lines = [(name.clone(), Some(known)), (format!("{name}/censored"), censored)];
                for (name, bytes) in lines.into_iter().filter_map(|(name, bytes)| Some((name, bytes?))) {
                    let histogram: Histogram<u64> = Deserializer::new()
                        .deserialize(&mut bytes.as_slice())
                        .map_err(|error| failed(&format!("{error:?}")))?;
                    let Some(tag) = Tag::new(&name) else { continue };
                    log.write_histogram(&histogram, begins, lasts, Some(tag))
                        .map_err(|error| failed(&format!("{error:?}")))?;
                }
            }
        }
        begins += lasts;
    }
    drop(log);
    let file = file.into_inner().map_err(|error| failed(&error))?;
    file.sync_all().map_err(RunFailure::at(path))
}
