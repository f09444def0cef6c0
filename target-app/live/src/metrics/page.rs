//! The text of metrics, as it is written; with the feature `otel` also the same figures as values.

use std::fmt;

use prometheus_client::{
    encoding::{DescriptorEncoder, EncodeMetric},
    metrics::{MetricType, exemplar::Exemplar, histogram::Histogram},
};

/// The figures that are being written.
#[derive(Debug)]
pub struct MetricsPage<'a>(Form<'a>);

#[derive(Debug)]
enum Form<'a> {
    Text(DescriptorEncoder<'a>),
    #[cfg(feature = "otel")]
    Rows(&'a mut Vec<MetricFamily>),
}

/// A metric and its values by labels.
#[cfg(feature = "otel")]
#[derive(Debug)]
pub struct MetricFamily {
    pub(crate) name: String,
    pub(crate) help: String,
    pub(crate) kind: MetricType,
    pub(crate) values: Vec<(Vec<(String, String)>, f64)>,
}

impl<'a> MetricsPage<'a> {
    pub(crate) fn new(encoder: DescriptorEncoder<'a>) -> Self {
        Self(Form::Text(encoder))
    }

    /// Writes values instead of a text, of metrics too that have none yet; no histograms.
    #[cfg(feature = "otel")]
    pub fn of_rows(rows: &'a mut Vec<MetricFamily>) -> Self {
        Self(Form::Rows(rows))
    }

    /// One metric without labels.
    pub fn number(&mut self, name: &str, help: &str, kind: MetricType, value: f64) -> fmt::Result {
        #[cfg(feature = "otel")]
        if let Form::Rows(_) = &self.0 {
            return self.family(name, help, kind, [([], value)]);
        }
        let Some(encoder) = self.text() else { return Ok(()) };
        // No family: that would write braces without labels.
        let mut encoder = encoder.encode_descriptor(name, help, None, kind)?;
        match kind {
            MetricType::Counter => encoder.encode_counter(&value, None::<&Exemplar<Vec<(&str, &str)>, f64>>),
            _ => encoder.encode_gauge(&value),
        }
    }

    /// One metric with labels; nothing where there is no row.
    pub fn family<'l, const N: usize>(
        &mut self,
        name: &str,
        help: &str,
        kind: MetricType,
        rows: impl IntoIterator<Item = ([(&'l str, &'l str); N], f64)>,
    ) -> fmt::Result {
        #[cfg(feature = "otel")]
        if let Form::Rows(all) = &mut self.0 {
            let owned = |labels: [(&str, &str); N]| labels.map(|(key, value)| (key.to_owned(), value.to_owned()));
            let values = rows.into_iter().map(|(labels, value)| (owned(labels).into(), value)).collect();
            all.push(MetricFamily { name: name.to_owned(), help: help.to_owned(), kind, values });
            return Ok(());
        }
        let Some(encoder) = self.text() else { return Ok(()) };
        let mut rows = rows.into_iter().peekable();
        if rows.peek().is_none() {
            return Ok(());
        }
        let mut encoder = encoder.encode_descriptor(name, help, None, kind)?;
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
    pub fn histograms<'l>(
        &mut self,
        name: &str,
        help: &str,
        rows: impl IntoIterator<Item = ((&'l str, &'l str), &'l Histogram)>,
    ) -> fmt::Result {
        let Some(encoder) = self.text() else { return Ok(()) };
        let mut encoder = encoder.encode_descriptor(name, help, None, MetricType::Histogram)?;
        rows.into_iter().try_for_each(|(label, histogram)| histogram.encode(encoder.encode_family(&[label])?))
    }

    /// A histogram without labels.
    pub fn histogram(&mut self, name: &str, help: &str, histogram: &Histogram) -> fmt::Result {
        let Some(encoder) = self.text() else { return Ok(()) };
        histogram.encode(encoder.encode_descriptor(name, help, None, MetricType::Histogram)?)
    }

    fn text(&mut self) -> Option<&mut DescriptorEncoder<'a>> {
        match &mut self.0 {
            Form::Text(encoder) => Some(encoder),
            #[cfg(feature = "otel")]
            Form::Rows(_) => None,
        }
    }
}
