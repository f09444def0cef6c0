//! `lab serve`: the target alone, for a browser or for another load tool; and how `lab run` starts its own.

use std::{
    fs::File,
    io::{self, Read, Write},
    net::{Ipv4Addr, SocketAddr},
    path::PathBuf,
};

use analysis::text::scrubbed;
use arashi::{
    deliver::{Recipient, import},
    import::Summary,
};
use experiment::{
    Changes, Experiment,
    plan::{AppPlan, ArmPlan, Work},
    raw::MAX_BYTES,
    resolve::target_spec,
};
use spec::{services::TaskSpec, token::Token, wire::Ready};
use workloads::StopFlag;

use super::{
    input::read_experiment,
    ready::{ready_for_people, tell},
    stdout::print,
};
use crate::{
    args,
    exit::{CommandResult, End, Failure},
    run::{Corpus, Cpus, Scratch, Sinks, cache_folder, progress::ProgressLines, search_capacity},
};

/// Served when no experiment is named. The users of the papers wait 5 s after a refusal.
const ALONE: &str = "
name: serve
target: {app: arashi, work: 0, retry_after: 5s}
objective: {percentile: 90, response_time: 1s}
users: {model: arashi, phases: [{name: browser, users: 1, for: 1s}]}
arms: [none]
";

/// A user who may sign in, for people.
struct Account {
    user: String,
    /// `None`: the person knows it.
    password: Option<String>,
}

pub fn serve(args: &args::ServeArgs) -> CommandResult {
    let token = args.control_token_file.as_deref().map(Token::read).transpose();
    let token = token.map_err(|error| Failure::usage(format!("--control-token-file: {error}")))?;
    if args.spec_stdin {
        return for_the_lab(token);
    }
    let experiment = experiment(args)?;
    let arm = experiment.arms.first().cloned().unwrap_or_else(ArmPlan::none);
    if arm.hindsight.is_some() {
        let why = "knows what no policy can know, and exists in virtual time alone: serve a policy (lab policies)";
        return Err(Failure::usage(format!("{} {why}", arm.label)));
    }
    // Kept until the service has ended.
    let scratch = Scratch::new(&cache_folder().join("serve")).map_err(Failure::because)?;
    let (database, account) = mail(args, &experiment, &scratch)?;
    let (work, cpus) = work(&experiment, &scratch)?;
    let mut spec = target_spec(&experiment, &arm, database, work, experiment.seed, cpus.target);
    spec.listen = SocketAddr::from((Ipv4Addr::LOCALHOST, args.port));
    spec.control_token = token;
    spec.metrics = args.metrics;
    spec.edge.connections = args.max_connections.unwrap_or(spec.edge.connections);
    spec.edge.connections_per_source = args.max_connections_per_source.unwrap_or(spec.edge.connections_per_source);
    target_app::serve(TaskSpec::alone(spec), |ready| {
        // A closed pipe is no reason to stop serving.
        let _ = print(for_people(&ready, account.as_ref()).as_bytes());
    })
    .map_err(Failure::because)?;
    drop(scratch);
    Ok(End::Done)
}

/// The work knob, and where to run: a capacity is one of a single processor, the one that it was solved for on.
fn work(experiment: &Experiment, scratch: &Scratch) -> Result<(f64, Cpus), Failure> {
    let anywhere = Cpus::anywhere();
    let AppPlan::Arashi(arashi) = &experiment.target.app else { return Ok((0.0, anywhere)) };
    let wanted = match arashi.work {
        Work::Operations(operations) => return Ok((operations, anywhere)),
        Work::Capacity(wanted) => wanted,
    };
    let cpus = Cpus::choose();
    cpus.pin_generator();
    let mut sinks = Sinks::default();
    sinks.add(ProgressLines::default());
    // On generated mail, also where other mail is served: it is the paper's mix that a capacity is about.
    let corpus = Corpus::prepare(&arashi.mail).map_err(Failure::because)?;
    let log = scratch.path().join("capacity.log");
    let stop = StopFlag::new();
    let found =
        search_capacity(experiment, &corpus, wanted, &cpus, &log, &stop, &mut sinks).map_err(Failure::because)?;
    let on = cpus.target.map_or_else(String::new, |cpu| format!(", on processor {cpu}"));
    sinks.note(format!("serving with {:.1} operations a request{on}", found.operations));
    Ok((found.operations, cpus))
}

fn experiment(args: &args::ServeArgs) -> Result<Experiment, Failure> {
    let changes = Changes { policies: vec![args.policy.clone()], ..Changes::default() };
    let experiment = match &args.experiment {
        Some(name) => read_experiment(name, &changes)?,
        None => experiment::read(ALONE, &changes).map_err(|problems| {
            let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
            Failure::usage(lines.join("\n"))
        })?,
    };
    if experiment.virtual_only() {
        return Err(Failure::usage(format!("{} runs in virtual time alone: lab run --virtual", experiment.name)));
    }
    if matches!(experiment.target.app, AppPlan::Tree(_)) {
        let message = format!("{} is several services, and this serves one: lab run starts them all", experiment.name);
        return Err(Failure::usage(message));
    }
    if !args.mail.is_empty() && !matches!(experiment.target.app, AppPlan::Arashi(_)) {
        return Err(Failure::usage("--mail: this experiment's target serves no mail"));
    }
    Ok(experiment)
}

/// The database to serve from, and an account in it.
fn mail(
    args: &args::ServeArgs,
    experiment: &Experiment,
    scratch: &Scratch,
) -> Result<(Option<PathBuf>, Option<Account>), Failure> {
    let AppPlan::Arashi(arashi) = &experiment.target.app else { return Ok((None, None)) };
    let at = args.database.clone().unwrap_or_else(|| scratch.path().join("mail.sqlite"));
    let known = args.database.as_ref().is_some_and(|path| path.exists());
    if !args.mail.is_empty() {
        let (password, shown) = password(args)?;
        let recipient = Recipient { name: args.user.clone(), password };
        let summary = import(&at, &recipient, &args.mail).map_err(Failure::because)?;
        tell_of_import(&summary);
        return Ok((Some(at), Some(Account { user: args.user.clone(), password: shown })));
    }
    if known {
        return Ok((Some(at), None));
    }
    let corpus = Corpus::prepare(&arashi.mail).map_err(Failure::because)?;
    corpus.copy_to(&at).map_err(Failure::because)?;
    let account = corpus.accounts().first();
    let account = account.map(|a| Account { user: a.user.clone(), password: Some(a.password.clone()) });
    Ok((Some(at), account))
}

/// The password, and what to show of it: one that the person gave is not repeated.
fn password(args: &args::ServeArgs) -> Result<(String, Option<String>), Failure> {
    if args.password_stdin {
        let mut text = String::new();
        io::stdin().take(MAX_BYTES).read_to_string(&mut text)?;
        let password = text.trim_end_matches(['\r', '\n']).to_owned();
        if password.is_empty() {
            return Err(Failure::usage("--password-stdin: standard input was empty"));
        }
        return Ok((password, None));
    }
    let mut bytes = [0; 9];
    File::open("/dev/urandom").and_then(|mut random| random.read_exact(&mut bytes))?;
    let made: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok((made.clone(), Some(made)))
}

fn tell_of_import(summary: &Summary) {
    let skipped: u64 = summary.skipped.values().sum();
    let mut err = io::stderr().lock();
    // Nobody may be reading; the mail is there all the same.
    let _ = writeln!(
        err,
        "{} messages read: {} imported, {} known already, {skipped} skipped",
        summary.read, summary.imported, summary.known
    );
    for (reason, count) in &summary.skipped {
        let _ = writeln!(err, "  {count} skipped: {reason}");
    }
    for problem in &summary.problems {
        let _ = writeln!(err, "  {}", scrubbed(&problem.to_string()));
    }
}

fn for_people(ready: &Ready, account: Option<&Account>) -> String {
    let mut text = format!("serving {}\n", ready.url);
    match account {
        Some(Account { user, password: Some(password) }) => {
            text.push_str(&format!("sign in as {user} with password {password}\n"));
        }
        Some(Account { user, password: None }) => text.push_str(&format!("sign in as {user} with your password\n")),
        None => {}
    }
    text.push_str(&ready_for_people(ready));
    text
}

/// For `lab run`: a resolved target in, one ready line out.
fn for_the_lab(token: Option<Token>) -> CommandResult {
    let mut text = String::new();
    io::stdin().read_to_string(&mut text)?;
    let mut task: TaskSpec = serde_json::from_str(&text).map_err(|error| Failure::usage(format!("target: {error}")))?;
    task.target.control_token = token;
    target_app::serve(task, |ready| tell(&ready)).map_err(Failure::because)?;
    Ok(End::Done)
}
