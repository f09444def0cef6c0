//! How a waiting room's hosts compute an estimate.

use controllers::{
    Seeded,
    webq::{Annealing, CmaEs, EpochSample, Estimate, EstimateParams, Minimise, NotYet, estimate},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The search for the hardness of request types (WebQ, section IV-B).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HardnessSearch {
    /// Evolution with an adapted covariance matrix.
    #[default]
    CmaEs,
    /// Simulated annealing, with as many evaluations.
    Annealing,
}

impl HardnessSearch {
    /// The estimate of these epochs. The same seed gives the same one.
    ///
    /// # Errors
    /// More epochs are needed, with other loads.
    pub fn estimate(self, samples: &[EpochSample], seed: u64) -> Result<Estimate, NotYet> {
        let (cma_es, annealing) = (CmaEs::default(), Annealing::default());
        let search: &dyn Minimise = match self {
            Self::CmaEs => &cma_es,
            Self::Annealing => &annealing,
        };
        estimate(samples, &EstimateParams::default(), search, &mut Seeded::new(seed))
    }
}
