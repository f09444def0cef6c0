//! The verdict on a calibration: the validity gates of a run on every load, and whether the rounds agree.

use std::{collections::BTreeMap, fmt::Write as _};

use analysis::{
    judge::gates,
    summary::{GateFinding, Validity},
};

use measure::Report;
use spec::plant::PlantOrigin;
use workloads::plan::LoadPlan;

use super::{super::load, doubts::here, figures::Series};

/// Rounds that differ by more than this share, and by more than chance, are no measurement.
const DISAGREE: f64 = 0.5;
/// The share of difference between rounds from which a person is told.
const DIFFER: f64 = 0.25;
/// The range of a few rounds in standard deviations of one, which chance alone exceeds once in a hundred times.
const CHANCE: f64 = 4.1;
/// The code of rounds that do not agree: with it there is no plant.
const ROUNDS: &str = "ROUNDS";

/// Findings against a calibration so far.
#[derive(Debug, Default)]
pub struct PlantVerdict {
    rounds: usize,
    /// Findings by load and gate, one for each round that has one.
    found: BTreeMap<(String, String), Vec<GateFinding>>,
    /// Requests a second in every round, and seconds that each was counted, by load.
    rates: BTreeMap<String, (Series, f64)>,
}

impl PlantVerdict {
    pub fn of_rounds(rounds: u32) -> Self {
        Self { rounds: rounds as usize, ..Self::default() }
    }

    /// Judges one load, which answered `per_second` over so many `seconds`. `name`: the same in every round.
    pub fn judge(&mut self, name: &str, plan: &LoadPlan, report: &Report, (per_second, seconds): (f64, f64)) {
        for finding in load::judged(plan, report, true).reasons {
            self.found.entry((name.to_owned(), finding.code.clone())).or_default().push(finding);
        }
        let (rates, counted) = self.rates.entry(name.to_owned()).or_default();
        rates.add(per_second);
        *counted = seconds;
    }

    /// The loads whose rounds contradict each other.
    fn disagree(&self) -> impl Iterator<Item = GateFinding> {
        self.rates.iter().filter_map(|(name, (rates, seconds))| self.apart(name, rates, *seconds))
    }

    fn apart(&self, name: &str, rates: &Series, seconds: f64) -> Option<GateFinding> {
        let (low, high) = rates.range();
        let middle = rates.median();
        let by_chance = CHANCE * (middle / seconds.max(1e-9)).sqrt();
        let apart = |share: f64| high - low > share * middle + by_chance;
        let verdict = match (apart(DISAGREE), apart(DIFFER)) {
            (true, _) => Validity::Invalid,
            (false, true) => Validity::Warn,
            (false, false) => return None,
        };
        Some(GateFinding {
            code: ROUNDS.to_owned(),
            verdict,
            arm: String::new(),
            value: format!("{name}: {low:.1} to {high:.1} requests/s in {} rounds", self.rounds),
            threshold: format!("{:.0} % apart, and what chance does", DIFFER * 100.0),
            message: "the service, or the machine, was not the same in every round".to_owned(),
            remedy: "stop other programs, measure for longer (--for), and see whether the service has pauses"
                .to_owned(),
        })
    }

    /// Findings that count: a load that was spoiled in the lesser part of the rounds is outvoted by the median of its
    /// figures.
    pub fn findings(&self) -> Vec<GateFinding> {
        let voted = self.found.iter().filter_map(|((name, _), rounds)| {
            let mut verdicts = vec![Validity::Valid; self.rounds.saturating_sub(rounds.len())];
            verdicts.extend(rounds.iter().map(|finding| finding.verdict));
            verdicts.sort_unstable();
            let verdict = verdicts[verdicts.len() / 2];
            let worst = rounds.iter().max_by_key(|finding| finding.verdict)?;
            let value = format!("{name}: {}", worst.value);
            (verdict != Validity::Valid).then(|| GateFinding { verdict, value, ..worst.clone() })
        });
        let mut all: Vec<GateFinding> = voted.chain(self.disagree()).collect();
        all.sort_by(|a, b| b.verdict.cmp(&a.verdict).then_with(|| a.code.cmp(&b.code)));
        all
    }

    pub fn verdict(&self) -> Validity {
        gates::verdict(&self.findings())
    }

    /// Rounds that contradict each other are no plant, whatever their median.
    pub fn is_no_plant(&self) -> bool {
        self.disagree().any(|finding| finding.verdict == Validity::Invalid)
    }

    /// For people: one line a gate, with the load where it is worst; the verdict last.
    pub fn in_words(&self) -> String {
        let mut text = String::new();
        let findings = self.findings();
        let mut told: Vec<&str> = Vec::new();
        for GateFinding { code, verdict, value, threshold, remedy, .. } in &findings {
            if told.contains(&code.as_str()) {
                continue;
            }
            told.push(code);
            let others = findings.iter().filter(|other| other.code == *code).count() - 1;
            let more = if others > 0 { format!(", and {others} more loads") } else { String::new() };
            let _ = writeln!(text, "{} {code}: {value}{more} (allowed: {threshold}): {remedy}", verdict.word());
        }
        let _ = writeln!(text, "verdict: {}", self.verdict().word());
        text
    }

    /// The line of the plant file that keeps it.
    pub fn origin_as_yaml(&self) -> String {
        let mut reasons: Vec<String> = self.findings().into_iter().map(|finding| finding.code).collect();
        reasons.sort();
        reasons.dedup();
        let PlantOrigin { lab, cores, cpu, .. } = here();
        let (cpu, verdict, reasons) = (serde_json::Value::from(cpu), self.verdict().word(), reasons.join(", "));
        format!("measured_by: {{lab: {lab:?}, cores: {cores}, cpu: {cpu}, verdict: {verdict}, reasons: [{reasons}]}}\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rates(name: &str, values: &[f64], seconds: f64) -> PlantVerdict {
        let mut series = Series::default();
        values.iter().for_each(|value| series.add(*value));
        let rates = [(name.to_owned(), (series, seconds))].into();
        PlantVerdict { rounds: values.len(), rates, ..PlantVerdict::default() }
    }

    fn finding(verdict: Validity) -> GateFinding {
        GateFinding {
            code: "NOISE".to_owned(),
            verdict,
            arm: String::new(),
            value: "1.0 of 2 processors".to_owned(),
            threshold: "0.1".to_owned(),
            message: String::new(),
            remedy: "stop other programs".to_owned(),
        }
    }

    #[test]
    fn rounds_that_contradict_each_other_are_no_plant() {
        // As seen: 240 and 257 requests/s, and 11 in a third round beside another program.
        let torn = rates("with 32 at once", &[240.0, 257.0, 11.3], 4.0);
        assert!(torn.is_no_plant() && torn.verdict() == Validity::Invalid);
        assert!(
            torn.in_words().contains("with 32 at once: 11.3 to 257.0 requests/s in 3 rounds"),
            "{}",
            torn.in_words()
        );
        // 25/s for a second: 25 and 38 are what chance does; over 100 s they are not.
        for (seconds, verdict) in [(1.0, Validity::Valid), (100.0, Validity::Warn)] {
            let few = rates("with 1 at once", &[25.0, 31.0, 38.0], seconds);
            assert_eq!((few.verdict(), few.is_no_plant()), (verdict, false), "{seconds} s");
        }
    }

    #[test]
    fn a_load_that_is_spoiled_once_in_three_rounds_is_outvoted() {
        let of = |verdicts: &[Validity]| {
            let mut found = PlantVerdict::of_rounds(3);
            let rounds = verdicts.iter().map(|&verdict| finding(verdict)).collect();
            found.found.insert(("with 8 at once".to_owned(), "NOISE".to_owned()), rounds);
            found.verdict()
        };
        assert_eq!(of(&[Validity::Invalid]), Validity::Valid);
        assert_eq!(of(&[Validity::Invalid, Validity::Warn]), Validity::Warn);
        assert_eq!(of(&[Validity::Invalid; 3]), Validity::Invalid);
    }
}
