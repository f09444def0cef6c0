//! Stages, emulated servers and generation of tokens: of a target, and of each service of a tree.

use std::{collections::BTreeMap, ops::RangeInclusive, time::Duration};

use controllers::{Class, catalogue::parse_time, site::OnRefuse};
use service_core::synthetic::Law;
use spec::{Discipline, EmulatedSpec, GenerationSpec, ServiceTime, StageSpec};

use super::{
    client::by_class,
    fields::Fields,
    keys::{
        Case, DurationText, Either, Table, by, count, first_of, flag, number, one_of, read_one_of, shapes, table, time,
    },
    raw::{Node, Value},
    refusal::{OnRefuseKey, on_refuse},
};

const SERVICE: RangeInclusive<Duration> = Duration::from_micros(1)..=Duration::from_secs(60);
/// Most request types with service times of their own.
const MOST_TYPES: usize = 100;
/// Most values of an empirical law.
const MOST_VALUES: usize = 10_000;

table! {
    /// Emulated service times.
    pub(super) struct EmulatedKeys as "Emulated" {
        service: Option<ServiceTime> = by::<Either<DurationText, ServiceLaw>, _>(service).required(), "Service times: a duration, or a law: `{exponential: 10ms}`, `{lognormal: {median, sigma}}`, `{pareto: {min, alpha}}`, `{uniform: {min, max}}`, `{bimodal: {short, long, long_share}}`, `{empirical: [5ms, 90ms]}`";
        servers: u32 = count(1..=1024).or(1), "Servers that work in parallel; no more are busy than there are `workers`";
        discipline: Discipline = first_of(&[("fifo", Discipline::Fifo), ("processor-sharing", Discipline::ProcessorSharing)]), "How servers share the work";
        degradable: f64 = number(0.0..=1.0).or(0.0).example("0.5"), "Share of the work that shrinks with the quality that a policy sets";
        class_work: BTreeMap<Class, f64> = by::<BTreeMap<String, f64>, _>(class_work), "Factor on the drawn work by class, 0.001 to 1000; 1 for classes without one. Multiples of the capacity (`0.5x`) refer to factor 1";
        types: BTreeMap<String, ServiceTime> = by::<BTreeMap<String, Either<DurationText, ServiceLaw>>, _>(types).example("{/search: 100ms}"), "Service times of requests for some paths (without the query), each a request type that policies can tell from others; other paths have `service`, and multiples of the capacity refer to that. Calls between services of a tree ask for `/`";
    }

    /// Exponential service times.
    pub(super) struct ExponentialKeys as "ExponentialService" {
        mean: Option<Duration> = time(SERVICE).wanted("10ms"), "The mean";
    }

    /// Lognormal service times.
    pub(super) struct LognormalKeys as "LognormalService" {
        median: Option<Duration> = time(SERVICE).wanted("10ms"), "The median";
        sigma: Option<f64> = number(0.0..=5.0).wanted("1"), "Standard deviation of the logarithm";
    }

    /// Service times with a heavy tail.
    pub(super) struct ParetoKeys as "ParetoService" {
        min: Option<Duration> = time(SERVICE).wanted("5ms"), "The minimum";
        alpha: Option<f64> = number(1.01..=100.0).wanted("2"), "Tail index";
    }

    /// Uniform service times.
    pub(super) struct UniformKeys as "UniformService" {
        min: Option<Duration> = time(SERVICE).wanted("5ms"), "The minimum";
        max: Option<Duration> = time(SERVICE).wanted("15ms"), "The maximum";
    }

    /// Two service times.
    pub(super) struct BimodalKeys as "BimodalService" {
        short: Option<Duration> = time(SERVICE).wanted("5ms"), "The usual value";
        long: Option<Duration> = time(SERVICE).wanted("100ms"), "The rare value";
        long_share: Option<f64> = number(0.0..=1.0).wanted("0.05"), "Share of the rare value";
    }

    /// Queue, workers and refusals of a stage.
    pub(super) struct PoolKeys as "Pool" {
        queue: Option<u32> = count(1..=1_000_000).otherwise(StageSpec::default().queue), "Longest queue of a stage, in requests";
        workers: Option<u32> = count(1..=1024).otherwise(StageSpec::default().workers), "Workers of a stage";
        batch: Option<u32> = count(1..=10_000).otherwise("8, emulated 1"), "Most requests that a worker takes at once. With more than one, workers keep requests from servers that are free";
        on_refuse: Option<OnRefuse> = by::<OnRefuseKey, _>(on_refuse).otherwise("reject").example("degrade"), "What happens to a request that the next stage refuses: a 503 page (`reject`); it waits and holds one of the workers of dispatch (2, with a queue of 10 000; `stages: {dispatch: …}`), so that requests behind it wait too, whatever their stage (`block`); a cheap answer (`degrade`); a 307 to the same page on another node (`{redirect: URL}`). What a policy at `accept` or of scope `single` refuses gets its 503. See [Redirects](#redirects)";
        drop_abandoned: Option<bool> = flag().otherwise(false), "Do not work on requests whose client has gone";
        drop_expired: Option<bool> = flag().otherwise(false), "Refuse requests whose sender no longer waits (`X-Timeout-Ms`) when their turn comes";
    }
}

shapes! {
    ServiceLaw as "ServiceLaw" = |generator| one_of(LAWS, generator);
}

const LAWS: &[Case<ServiceTime>] = &[
    Case::new::<Either<DurationText, ExponentialKeys>>("exponential", "Exponential with this mean", |fields, key| {
        let mean = match &fields.node(key)?.value {
            Value::Text(_) => fields.time(key, SERVICE)?,
            _ => fields.table::<ExponentialKeys>(key)?.mean?,
        };
        Some(ServiceTime::Exponential { mean })
    }),
    Case::new::<LognormalKeys>("lognormal", "Lognormal with this median", |fields, key| {
        let LognormalKeys { median, sigma } = fields.table::<LognormalKeys>(key)?;
        Some(ServiceTime::Lognormal { median: median?, sigma: sigma? })
    }),
    Case::new::<ParetoKeys>("pareto", "Pareto: a heavy tail", |fields, key| {
        let ParetoKeys { min, alpha } = fields.table::<ParetoKeys>(key)?;
        Some(ServiceTime::Pareto { min: min?, alpha: alpha? })
    }),
    Case::new::<UniformKeys>("uniform", "Uniform between `min` and `max`", |fields, key| {
        let UniformKeys { min, max } = fields.table::<UniformKeys>(key)?;
        Some(ServiceTime::Uniform { min: min?, max: max? })
    }),
    Case::new::<BimodalKeys>("bimodal", "Usually `short`, rarely `long`", |fields, key| {
        let BimodalKeys { short, long, long_share } = fields.table::<BimodalKeys>(key)?;
        Some(ServiceTime::Bimodal { short: short?, long: long?, long_share: long_share? })
    }),
    Case::new::<Vec<DurationText>>("empirical", "Measured service times; each is equally likely", empirical),
];

const LAWS_BY_EXAMPLE: &str = "service: 10ms, or {exponential: 10ms}, {lognormal: {median: 10ms, sigma: 1}}, \
    {pareto: {min: 5ms, alpha: 2}}, {uniform: {min: 5ms, max: 15ms}}, \
    {bimodal: {short: 5ms, long: 100ms, long_share: 0.05}}, {empirical: [5ms, 7ms, 90ms]}";

/// Emulated servers, of a target or of one of its services.
pub fn emulated(fields: &Fields<'_>, answer_bytes: u32) -> Option<EmulatedSpec> {
    let EmulatedKeys { service, servers, discipline, degradable, class_work, types } = EmulatedKeys::read(fields);
    let class_work = class_work.into_iter().collect();
    Some(EmulatedSpec { service: service?, servers, discipline, answer_bytes, degradable, class_work, types })
}

fn class_work(fields: &Fields<'_>, key: &str) -> BTreeMap<Class, f64> {
    by_class(fields, key, "{2: 5}", times)
}

/// Multiple of the usual work.
fn times(node: &Node) -> Result<f64, (String, String)> {
    match &node.value {
        Value::Number(times) if (0.001..=1000.0).contains(times) => Ok(*times),
        other => Err((other.unexpected(), "a number between 0.001 and 1000".to_owned())),
    }
}

fn service(fields: &Fields<'_>, key: &str) -> Option<ServiceTime> {
    fields.wanted(key, "10ms")?;
    checked_law(fields, key)
}

/// Laws by path, `{/search: 100ms, /item: {exponential: 5ms}}`.
fn types(fields: &Fields<'_>, key: &str) -> BTreeMap<String, ServiceTime> {
    let Some(inside) = fields.inside(key) else { return BTreeMap::new() };
    let entries = fields.entries(key, "write {/search: 100ms, /item: {exponential: 5ms}}");
    let one = |path: &str| {
        if !path.starts_with('/') || path.contains('?') {
            return inside.wrong(path, "is not a path", "it begins with / and has no query");
        }
        Some((path.to_owned(), checked_law(&inside, path)?))
    };
    if entries.len() > MOST_TYPES {
        fields.problem(key, format!("{} types are too many", entries.len()), format!("at most {MOST_TYPES}"));
    }
    entries.iter().filter_map(|entry| one(&entry.key)).collect()
}

fn checked_law(fields: &Fields<'_>, key: &str) -> Option<ServiceTime> {
    let law = service_law(fields, key)?;
    Law::new(&law).map_err(|error| fields.problem(key, error.to_string(), "")).ok()?;
    Some(law)
}

fn service_law(fields: &Fields<'_>, key: &str) -> Option<ServiceTime> {
    let node = fields.node(key)?;
    let wrong = |message: String| fields.wrong(key, message, LAWS_BY_EXAMPLE);
    match &node.value {
        Value::Text(text) => match parse_time(text).filter(|time| SERVICE.contains(time)) {
            Some(time) => Some(ServiceTime::Constant(time)),
            None => wrong(format!("{text:?} is not a service time")),
        },
        other => read_one_of(LAWS, fields, key).unwrap_or_else(|()| match other {
            Value::Table(entries) if entries.len() == 1 => {
                wrong(format!("{:?} is not a law of service times", entries[0].key))
            }
            other => wrong(other.unexpected()),
        }),
    }
}

fn empirical(fields: &Fields<'_>, key: &str) -> Option<ServiceTime> {
    let Value::List(nodes) = &fields.node(key)?.value else {
        return fields.wrong(key, "expected a list of times", LAWS_BY_EXAMPLE);
    };
    if nodes.len() > MOST_VALUES {
        return fields.wrong(key, format!("expected a list of up to {MOST_VALUES} times"), LAWS_BY_EXAMPLE);
    }
    let one = |node: &Node| match &node.value {
        Value::Text(text) => parse_time(text).filter(|time| SERVICE.contains(time)),
        _ => None,
    };
    let times: Option<Vec<_>> = nodes.iter().map(one).collect();
    if times.is_none() {
        fields.problem(key, "not all of these are service times", LAWS_BY_EXAMPLE);
    }
    times.map(ServiceTime::Empirical)
}

/// Queue, pool and batch of a stage.
pub fn stage(fields: &Fields<'_>, otherwise: &StageSpec) -> StageSpec {
    let PoolKeys { queue, workers, batch, on_refuse, drop_abandoned, drop_expired } = PoolKeys::read(fields);
    StageSpec {
        queue: queue.unwrap_or(otherwise.queue),
        workers: workers.unwrap_or(otherwise.workers),
        batch: batch.unwrap_or(otherwise.batch),
        drop_abandoned: drop_abandoned.unwrap_or(otherwise.drop_abandoned),
        drop_expired: drop_expired.unwrap_or(otherwise.drop_expired),
        on_refuse: on_refuse.unwrap_or_else(|| otherwise.on_refuse.clone()),
        criticality: otherwise.criticality,
    }
}

const STEP: RangeInclusive<Duration> = Duration::from_micros(1)..=Duration::from_secs(60);
const MORE: RangeInclusive<Duration> = Duration::ZERO..=Duration::from_secs(60);
const TOKENS: RangeInclusive<u32> = 1..=10_000_000;

/// Most sequences in a batch of which nothing is said: the default of vLLM's `max_num_seqs` in its first years.
pub(super) const SEQUENCES: u32 = 256;

table! {
    /// Token generation.
    pub(super) struct GenerationKeys as "Generation" {
        prompt: Option<u32> = count(TOKENS).wanted("161"), "Mean tokens of a prompt";
        output: Option<u32> = count(TOKENS).wanted("338"), "Mean tokens of an answer";
        spread: f64 = number(0.0..=3.0).or(0.0).example("0.8"), "Spread of both: each is drawn by request, lognormal with that mean, and this is the standard deviation of the logarithm. 0: all are alike";
        memory: Option<u32> = count(TOKENS).wanted("15700"), "Tokens that memory holds (the KV cache): of prompts and answers so far of all in the batch. `workers`, 256 unless said, are the most requests in it";
        step: Option<Duration> = time(STEP).wanted("17ms"), "Time of a step, which gives each request in the batch a token, whatever is in it";
        sequence: Option<Duration> = time(MORE).wanted("300us"), "More time of a step for each request in the batch";
        prefill: Option<Duration> = time(MORE).wanted("170us"), "More time of a step for each token of prompts that is read in it";
    }
}

/// Reads the server.
pub fn generation(fields: &Fields<'_>) -> Option<GenerationSpec> {
    let GenerationKeys { prompt, output, spread, memory, step, sequence, prefill } = GenerationKeys::read(fields);
    let (prompt, output, memory) = (prompt?, output?, memory?);
    let (step, sequence, prefill) = (step?, sequence?, prefill?);
    Some(GenerationSpec { prompt, output, spread, memory, step, sequence, prefill, tokens_per_s: None })
}

#[cfg(test)]
mod tests {
    use crate::{Changes, Experiment, read};

    const FILE: &str = "name: x\nabout: y\ntarget: {app: emulated, service: 10ms}\nobjective: {percentile: 90, response_time: 1s}\nusers: {model: url, path: /, phases: [{name: x, requests: 5/s, for: 3s}]}\narms: [none]\n";

    fn drops_expired(set: &[&str]) -> (bool, bool) {
        let changes = Changes { set: set.iter().map(|set| (*set).to_owned()).collect(), ..Changes::default() };
        let Experiment { target, .. } = read(FILE, &changes).expect("it is good");
        (target.stage_defaults.drop_expired, target.stages["work"].drop_expired)
    }

    #[test]
    fn emulated_servers_are_given_one_request_at_a_time() {
        let batch = |set: &[&str]| {
            let changes = Changes { set: set.iter().map(|set| (*set).to_owned()).collect(), ..Changes::default() };
            read(FILE, &changes).expect("it is good").target.stage_defaults.batch
        };
        assert_eq!([batch(&[]), batch(&["target.batch=4"])], [1, 4]);
        let checksum = "target={app: checksum}";
        assert_eq!([batch(&[checksum]), batch(&[checksum, "target.batch=4"])], [8, 4]);
    }

    #[test]
    fn a_stage_drops_expired_work_as_the_target_does_unless_it_says_otherwise() {
        assert_eq!(drops_expired(&["target.stages={work: {queue: 5}}"]), (false, false));
        assert_eq!(drops_expired(&["target.stages={work: {drop_expired: true}}"]), (false, true));
        let of_target = "target.drop_expired=true";
        assert_eq!(drops_expired(&[of_target, "target.stages={work: {queue: 5}}"]), (true, true));
        assert_eq!(drops_expired(&[of_target, "target.stages={work: {drop_expired: false}}"]), (true, false));
    }
}

#[cfg(test)]
mod generation_tests {
    use crate::{Changes, Experiment, plan::AppPlan, read};

    const FILE: &str = "
name: tokens
about: tokens
target: {app: generation, prompt: 100, output: 300, memory: 4000, step: 20ms, sequence: 1ms, prefill: 1ms}
objective: {response_time: 1s}
users: {model: url, phases: [{name: calm, requests: 0.5x, for: 60s}]}
arms: [none, {none: {as: few, target: {workers: 4}}}]
";

    fn with(set: &[&str]) -> Result<Experiment, String> {
        let changes = Changes { set: set.iter().map(|set| (*set).to_owned()).collect(), ..Changes::default() };
        let problems =
            |all: Vec<crate::problem::FileProblem>| all.into_iter().map(|of| format!("{}: {}\n", of.key, of.message));
        read(FILE, &changes).map_err(|all| problems(all).collect())
    }

    #[test]
    fn its_batch_has_256_places_and_every_arm_has_the_pace_of_the_objective() {
        let experiment = with(&["objective.tokens_per_s=10"]).expect("it is good");
        assert!(experiment.virtual_only());
        assert_eq!(experiment.target.stage_defaults.workers, 256);
        for arm in &experiment.arms {
            let AppPlan::Generation(tokens) = &arm.target(&experiment).app else { panic!("{arm:?}") };
            assert_eq!(tokens.tokens_per_s, Some(10.0));
        }
        // 4000 tokens, 100 + 300 / 2 for each: 16 in the batch. 100 ms, and 300 × (20 / 16 + 1) ms.
        let capacity = experiment.nominal_capacity().expect("it is known");
        assert!((capacity - 1.0 / 0.775).abs() < 1e-9, "{capacity}");
    }

    #[test]
    fn what_response_times_are_is_said() {
        let said = |set: &[&str]| with(set).expect("it is good").virtual_cautions().concat();
        assert!(said(&[]).contains("the first token, however slowly"), "{}", said(&[]));
        assert!(said(&["objective.tokens_per_s=5"]).contains("who read 5 a second"));
    }

    #[test]
    fn tokens_are_of_no_other_target_and_none_of_its_keys_can_be_missing() {
        let other = with(&["target={app: emulated, service: 10ms}", "objective.tokens_per_s=10"]);
        assert_eq!(other.expect_err("no tokens"), "objective: answers of this target do not come in tokens\n");
        let missing = with(&["target={app: generation, prompt: 5}"]).expect_err("too few keys");
        assert_eq!(missing.lines().count(), 5, "{missing}");
    }
}
