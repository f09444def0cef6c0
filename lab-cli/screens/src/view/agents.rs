//! Agents that send a load, each with its part, its health and its clock: as rows, and in a line.

use std::cmp::Reverse;

use analysis::{
    judge::gates::limits,
    live::AgentSecond,
    text::{counted, percent, scrubbed, time},
};
use ratatui::prelude::*;

use super::widgets::fitted;
use crate::Palette;

/// An agent that is not heard of for so long is marked.
const SILENT_MS: f64 = 3000.0;
/// Widths of names: the least, and the most.
const NAMES: [usize; 2] = [5, 30];
/// Lines of which all agents have one: heads, the one with the most trouble, the rest.
const LEAST: usize = 3;

/// Heads and widths of the columns after the name.
const COLUMNS: [(&str, usize); 6] =
    [("part", 9), ("sent/s", 8), ("lag p99", 9), ("CPU", 8), ("clock", 9), ("heard", 7)];

/// Lateness of a generator, as far as a second can tell what the gates judge of a phase: its lag is no small part of the
/// response times.
pub(super) fn is_late(lag_ms: f64, shown_ms: Option<f64>) -> bool {
    shown_ms.is_some_and(|shown| lag_ms > limits::MOVED_MS.1 && lag_ms > limits::MOVED.1 * shown)
}

/// Those that are there, of all.
pub(super) fn there(agents: &[AgentSecond]) -> String {
    let lost = agents.iter().filter(|agent| agent.lost.is_some()).count();
    format!("{} of {}", agents.len() - lost, agents.len())
}

/// Agents that were lost, if any were.
pub(super) fn loss(agents: &[AgentSecond]) -> Option<String> {
    let lost = agents.iter().filter(|agent| agent.lost.is_some()).count();
    (lost > 0).then(|| format!("{} lost", counted(lost, "agent")))
}

/// Rows in so much room, under their heads. All in the order of their parts; if not all have room, those with the most trouble, and
/// the rest in a line. `shown_ms`: the response time that lag is held against.
pub(super) fn rows(
    agents: &[AgentSecond],
    (room, width): (usize, u16),
    shown_ms: Option<f64>,
    palette: Palette,
) -> Vec<Line<'static>> {
    let all = agents.len() < room;
    if !all && room < LEAST {
        return vec![fitted(in_a_line(agents, shown_ms, palette), width)];
    }
    let shown = if all { agents.len() } else { room.saturating_sub(2) };
    let mut order: Vec<&AgentSecond> = agents.iter().collect();
    if !all {
        worst_first(&mut order, shown_ms);
    }
    let (seen, rest) = order.split_at(shown.min(order.len()));
    let others: usize = COLUMNS.iter().map(|(_, wide)| wide).sum::<usize>() + 1;
    let longest = seen.iter().map(|agent| agent.name.chars().count()).max().unwrap_or(0);
    let name = longest.min(usize::from(width).saturating_sub(others)).clamp(NAMES[0], NAMES[1]);
    let heads: String = COLUMNS.iter().map(|(head, wide)| format!("{head:>wide$}")).collect();
    let mut lines = vec![Line::styled(format!(" {:<name$}{heads}", "agent"), palette.faint())];
    lines.extend(seen.iter().map(|agent| fitted(row(agent, name, shown_ms, palette), width)));
    if !rest.is_empty() {
        lines.push(fitted(Line::styled(format!(" and {} more: {}", rest.len(), sum(rest)), palette.faint()), width));
    }
    lines
}

/// All in a line: how many are there, and the one with the most trouble.
pub(super) fn in_a_line(agents: &[AgentSecond], shown_ms: Option<f64>, palette: Palette) -> Line<'static> {
    let mut order: Vec<&AgentSecond> = agents.iter().collect();
    worst_first(&mut order, shown_ms);
    let [worst, ..] = order[..] else { return Line::default() };
    let (trouble, style) = (Trouble::of(worst, shown_ms), Trouble::of(worst, shown_ms).style(palette));
    let name = scrubbed(&worst.name);
    let words = match (&worst.lost, trouble) {
        (Some(why), _) => format!("{name} is lost: {}", scrubbed(why)),
        (None, Trouble::Silent) => format!("{name} not heard of for {}", seconds(worst.silent_ms)),
        _ => format!("slowest {name}: {}", worst_of(&[worst])),
    };
    Line::from(vec![
        Span::styled(format!(" agents {}", there(agents)), palette.strong()),
        Span::raw("  "),
        Span::styled(words, style),
    ])
}

/// What is wrong with an agent, the least first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Trouble {
    Nothing,
    Busy,
    Late,
    Silent,
    Lost,
}

impl Trouble {
    fn of(agent: &AgentSecond, shown_ms: Option<f64>) -> Self {
        match agent {
            AgentSecond { lost: Some(_), .. } => Self::Lost,
            agent if agent.silent_ms > SILENT_MS => Self::Silent,
            agent if is_late(agent.send_lag_p99_ms, shown_ms) => Self::Late,
            agent if agent.cpu > limits::CPU => Self::Busy,
            _ => Self::Nothing,
        }
    }

    fn style(self, palette: Palette) -> Style {
        match self {
            Self::Nothing => Style::new(),
            Self::Silent => palette.warn(),
            Self::Busy | Self::Late | Self::Lost => palette.bad(),
        }
    }
}

/// By their trouble, then by their lag.
fn worst_first(agents: &mut [&AgentSecond], shown_ms: Option<f64>) {
    agents.sort_by(|a, b| {
        let trouble = |agent: &AgentSecond| Reverse(Trouble::of(agent, shown_ms));
        trouble(a).cmp(&trouble(b)).then(b.send_lag_p99_ms.total_cmp(&a.send_lag_p99_ms))
    });
}

fn row(agent: &AgentSecond, name: usize, shown_ms: Option<f64>, palette: Palette) -> Line<'static> {
    let trouble = Trouble::of(agent, shown_ms);
    let shown = scrubbed(&agent.name);
    let shown = Span::styled(format!(" {shown:<name$.name$}"), trouble.style(palette));
    let [part, sent, lag, cpu, clock, heard] = COLUMNS.map(|(_, wide)| wide);
    let share = Span::raw(format!("{:>part$}", agent.shard.to_string()));
    if let Some(why) = &agent.lost {
        return Line::from(vec![shown, share, Span::styled(format!("  LOST: {}", scrubbed(why)), palette.bad())]);
    }
    let cell = |text: String, wide: usize, of: Trouble, is_over: bool| match is_over {
        true => Span::styled(format!("{:>wide$}", text + "!"), of.style(palette)),
        false => Span::raw(format!("{text:>wide$}")),
    };
    let (lag_ms, bound) = (agent.send_lag_p99_ms, format!("±{}", time(agent.clock_error_ms)));
    Line::from(vec![
        shown,
        share,
        Span::raw(format!("{:>sent$}", agent.sent)),
        cell(time(lag_ms), lag, Trouble::Late, is_late(lag_ms, shown_ms)),
        cell(percent(agent.cpu), cpu, Trouble::Busy, agent.cpu > limits::CPU),
        Span::raw(format!("{bound:>clock$}")),
        cell(seconds(agent.silent_ms), heard, Trouble::Silent, agent.silent_ms > SILENT_MS),
    ])
}

/// Requests of all of them in a second, and the worst of their other figures.
fn sum(agents: &[&AgentSecond]) -> String {
    let sent: u64 = agents.iter().map(|agent| agent.sent).sum();
    format!("sent {sent}/s, {}", worst_of(agents))
}

fn worst_of(agents: &[&AgentSecond]) -> String {
    let most = |of: fn(&AgentSecond) -> f64| agents.iter().map(|agent| of(agent)).fold(0.0, f64::max);
    let (lag, cpu) = (time(most(|agent| agent.send_lag_p99_ms)), percent(most(|agent| agent.cpu)));
    format!("lag p99 {lag}, CPU {cpu}, clock ±{}", time(most(|agent| agent.clock_error_ms)))
}

fn seconds(ms: f64) -> String {
    format!("{:.1} s", ms / 1e3)
}
