//! The text of metrics, as it is written.

use std::fmt;

use prometheus_client::{
    encoding::{DescriptorEncoder, EncodeMetric},
    metrics::{MetricType, exemplar::Exemplar, histogram::Histogram},
};

/// The text that is being written.
#[derive(Debug)]
pub(crate) struct Page<'a>(DescriptorEncoder<'a>);

impl<'a> Page<'a> {
    pub(crate) fn new(encoder: DescriptorEncoder<'a>) -> Self {
        Self(encoder)
    }

    /// One metric without labels.
    pub(crate) fn number(&mut self, name: &str, help: &str, kind: MetricType, value: f64) -> fmt::Result {
        let mut encoder = self.0.encode_descriptor(name, help, None, kind)?;
        match kind {
            MetricType::Counter => encoder.encode_counter(&value, None::<&Exemplar<Vec<(&str, &str)>, f64>>),
            _ => encoder.encode_gauge(&value),
        }
    }

    /// One metric with labels; nothing where there is no row.
    pub(crate) fn family<'l, const N: usize>(
        &mut self,
        name: &str,
        help: &str,
        kind: MetricType,
        rows: impl IntoIterator<Item = ([(&'l str, &'l str); N], f64)>,
    ) -> fmt::Result {
        let mut rows = rows.into_iter().peekable();
        if rows.peek().is_none() {
            return Ok(());
        }
        let mut encoder = self.0.encode_descriptor(name, help, None, kind)?;
        for (labels, value) in rows {
            let mut encoder = encoder.encode_family(&labels)?;
            match kind {
                MetricType::Counter => encoder.encode_counter(&value, None::<&Exemplar<Vec<(&str, &str)>, f64>>)?,
                _ => encoder.encode_gauge(&value)?,
            }
        }
        Ok(())
    }

    /// A histogram for each value of a label.
    pub(crate) fn histograms<'l>(
        &mut self,
        name: &str,
        help: &str,
        rows: impl IntoIterator<Item = ((&'l str, &'l str), &'l Histogram)>,
    ) -> fmt::Result {
        let mut encoder = self.0.encode_descriptor(name, help, None, MetricType::Histogram)?;
        rows.into_iter().try_for_each(|(label, histogram)| histogram.encode(encoder.encode_family(&[label])?))
    }

    /// A histogram without labels.
    pub(crate) fn histogram(&mut self, name: &str, help: &str, histogram: &Histogram) -> fmt::Result {
        histogram.encode(self.0.encode_descriptor(name, help, None, MetricType::Histogram)?)
    }
}
