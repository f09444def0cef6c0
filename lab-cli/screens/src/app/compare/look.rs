//! Ways to look at a comparison.

/// The picture below the table.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum View {
    /// The figure under the cursor over time, a line an arm.
    #[default]
    OverTime,
    /// Median, 90th and 99th percentile of the arm under the cursor.
    Percentiles,
    /// The figure over time, a row an arm.
    Heat,
    /// The figure over the load, a point a phase.
    OverLoad,
    /// Response time over goodput, a point an arm.
    TradeOff,
}

impl View {
    pub const ALL: [Self; 5] = [Self::OverTime, Self::Percentiles, Self::Heat, Self::OverLoad, Self::TradeOff];

    /// Its name on its tab.
    pub fn name(self) -> &'static str {
        match self {
            Self::OverTime => "over time",
            Self::Percentiles => "percentiles",
            Self::Heat => "heat",
            Self::OverLoad => "over load",
            Self::TradeOff => "trade-off",
        }
    }
}

/// The look of the comparison: picture, figures, order.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Look {
    pub view: View,
    /// The picture alone.
    pub enlarged: bool,
    /// The phase has the axis for itself.
    pub zoomed: bool,
    /// The second under the cursor on the time axis.
    pub moment: Option<f64>,
    /// Rows are in the order of the figure under the cursor, and not of goodput.
    pub sorted: bool,
    /// The arm that the others are held against, in place of the experiment's.
    pub baseline: Option<usize>,
    /// Each arm of the second of two runs is held against its like in the first.
    pub across: bool,
}
