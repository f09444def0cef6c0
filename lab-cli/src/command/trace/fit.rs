//! `lab trace fit`: from a trace to a model of its users.

use std::{collections::BTreeMap, fmt::Write as _, io::Write as _};

use analysis::text::{rate, scrubbed, time};
use traces::{
    UserModel,
    learn::LearnError,
    model::fitted::{Cell, Fitted, Order, Pauses},
    think::Think,
};

use super::{
    read::{open, unreadable},
    write::new_file,
};
use crate::{
    args,
    command::stdout::print_as,
    exit::{CommandResult, Failure},
};

pub fn fit(args: &args::FitArgs) -> CommandResult {
    let mut trace = open(&args.trace)?;
    let name = args.name.clone().unwrap_or_else(|| trace.header().name.clone());
    let model = traces::learn(&mut trace, &name).map_err(|error| match error {
        LearnError::Trace(error) => unreadable(&args.trace, &error),
        other => Failure::usage(format!("{}: {other}", args.trace)),
    })?;
    if let Some(path) = &args.out {
        let text = model.to_yaml().map_err(Failure::because)?;
        let written = new_file(path)?.write_all(text.as_bytes());
        written.map_err(|error| Failure::usage(format!("{}: {error}", path.display())))?;
    }
    print_as(args.output, &model, || shown(&model))
}

fn shown(model: &UserModel) -> String {
    let mut text = format!("{}: {}\n", scrubbed(&model.name), scrubbed(&model.source));
    let Some(fitted) = model.fitted.as_deref() else { return text };
    let read = &fitted.read;
    let _ = writeln!(
        text,
        "{} records, {} sessions ({} cut, {} without a login) of {} users in {}",
        read.records,
        read.sessions,
        read.cut,
        read.without_login,
        read.users,
        time(read.length.as_secs_f64() * 1000.0)
    );
    let _ = writeln!(
        text,
        "transitions; all intervals together hold with {:.0} %\n{:14} {:14} {:>8} {:>7}  {:17} pause",
        fitted.confidence * 100.0,
        "from",
        "to",
        "count",
        "share",
        "interval"
    );
    fitted.cells.iter().filter(|cell| cell.count > 0).for_each(|cell| text.push_str(&of_cell(cell)));
    of_rest(&mut text, model, fitted);
    text
}

fn of_cell(cell: &Cell) -> String {
    let Cell { from, to, count, share, low, high, think } = cell;
    let pause = think.as_ref().map_or_else(String::new, law);
    let line = format!("{from:14} {to:14} {count:>8} {share:>7.4}  {low:.4} to {high:.4}  {pause}");
    format!("{}\n", line.trim_end())
}

/// `exponential, mean 302 ms (p 0.41)`.
fn law(pauses: &Pauses) -> String {
    let mean = time(pauses.mean.as_secs_f64() * 1000.0);
    let name = match &pauses.law {
        Think::Constant(_) => "constant",
        Think::Uniform { .. } => "uniform",
        Think::Exponential { .. } => "exponential",
        Think::Lognormal { .. } => "lognormal",
        Think::Empirical(_) => "empirical",
    };
    let tested = match &pauses.family {
        Some(family) => match (family.p, family.name == name) {
            (Some(p), true) => format!(" (p {p:.2})"),
            (Some(p), false) => format!(" (best family {}, p {p:.1e})", family.name),
            (None, _) => String::new(),
        },
        None => " (too few to test)".to_owned(),
    };
    format!("{name}, mean {mean}{tested}")
}

/// The consequence of the model's order for the fit, in words.
fn of_order(text: &mut String, model: &UserModel, order: &Order) {
    let _ = writeln!(text, "order: {}", order.verdict);
    for test in &order.tests {
        let _ = writeln!(
            text,
            "  {:14} {} transitions, G² {:.1} of {} degrees, p {:.3}, distance {:.3}",
            test.state, test.seen, test.statistic, test.degrees, test.p, test.distance
        );
    }
    for (from, rows) in &model.second {
        for (before, row) in rows {
            let shares: Vec<String> = row.iter().map(|(to, share)| format!("{to} {share:.3}")).collect();
            let _ = writeln!(text, "  {from}, reached from {before}: {}", shares.join(", "));
        }
    }
    let pairs: usize = model.second.values().map(BTreeMap::len).sum();
    let _ = match (pairs, order.tests.is_empty()) {
        (0, true) => {
            writeln!(text, "  what to do: take the model as it is, or import a longer log, which can be tested")
        }
        (0, false) => writeln!(text, "  what to do: nothing; the model is of first order"),
        _ => writeln!(
            text,
            "  what to do: nothing; users walk these {pairs} pairs by rows of their own (`second` in the model file), all others by the \
             rows above. Take `second` out of the file to have a model of first order"
        ),
    };
}

fn of_rest(text: &mut String, model: &UserModel, fitted: &Fitted) {
    for back in &fitted.back {
        let _ = writeln!(text, "after {} users go back: {} of {} times", back.state, back.returned, back.seen);
    }
    of_order(text, model, &fitted.order);
    if let Some(lengths) = &fitted.lengths {
        let seen = &lengths.seen;
        let p = lengths.p.map_or_else(|| "too few to test".to_owned(), |p| format!("p {p:.3}"));
        let _ = writeln!(
            text,
            "requests in a session: mean {:.2}, p50 {}, p90 {}, p99 {}; the model gives a mean of {:.2} ({p})",
            seen.mean, seen.p50, seen.p90, seen.p99, lengths.model_mean
        );
    }
    let arrivals = &fitted.arrivals;
    let _ = write!(text, "sessions begin at {}/s", rate(arrivals.per_second));
    if let (Some(dispersion), Some(p)) = (arrivals.dispersion, arrivals.p) {
        let bin = time(arrivals.bin.as_secs_f64() * 1000.0);
        let _ = write!(text, "; dispersion {dispersion:.2} over bins of {bin} (1: Poisson of constant rate; p {p:.3})");
    }
    text.push('\n');
    if let Some(folders) = &fitted.folders {
        let _ = writeln!(text, "messages in a folder: at least {} (p50), {} (max)", folders.p50, folders.max);
    }
    for (action, count) in &fitted.left_out {
        let _ = writeln!(text, "left out: {count} {}", scrubbed(action));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_verdict_on_the_order_says_what_to_do() {
        let model = |second: &str| {
            let rows = "login: {list folders: 1}, list folders: {list messages: 1}, list messages: {login: 0.5, list messages: 0.5}";
            let text = format!("{{version: 2, name: x, source: y, start: login, transitions: {{{rows}}}{second}}}");
            UserModel::from_yaml(&text).expect("it is sound")
        };
        let test = traces::model::fitted::OrderTest {
            state: "list messages".to_owned(),
            seen: 900,
            statistic: 50.0,
            degrees: 1,
            p: 0.0,
            distance: 0.2,
            worth: true,
        };
        let said = |model: &UserModel, tests: &[traces::model::fitted::OrderTest]| {
            let order = Order { verdict: "so it is".to_owned(), tests: tests.to_vec(), second: Vec::new() };
            let mut text = String::new();
            of_order(&mut text, model, &order);
            text
        };
        assert!(said(&model(""), &[]).contains("import a longer log"));
        assert!(said(&model(""), std::slice::from_ref(&test)).contains("nothing; the model is of first order"));
        let second = model(", second: {list messages: {list folders: {list messages: 1}}}");
        let text = said(&second, &[test]);
        assert!(text.contains("list messages, reached from list folders: list messages 1.000"), "{text}");
        assert!(text.contains("users walk these 1 pairs") && text.contains("Take `second` out"), "{text}");
    }
}
