//! Findings behind a run's verdict: what every arm came to, its reasons with what to do about them, what was asked of
//! it and what was found, and with which settings its arms ran. It lies over the comparison.

use std::collections::BTreeSet;

use analysis::{
    recommend::Recommendation,
    report::identical,
    summary::{GateFinding, RunSummary, ThresholdResult, verdict_and_codes},
    text::{counted, scrubbed},
};
use ratatui::{prelude::*, widgets::*};

use crate::{
    Palette,
    app::{ArmSeries, Compare},
    front_doors,
    messages::OpenRun,
};

/// `from`: the first line that is shown.
pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, compare: &Compare, from: usize, palette: Palette) {
    let mut lines: Vec<Line<'_>> = (0..compare.runs.len()).flat_map(|run| of_run(compare, run, palette)).collect();
    if compare.runs.len() > 1 {
        let names: Vec<String> = compare.runs.iter().map(|run| scrubbed(&run.name)).collect();
        lines.push(Line::raw(format!(" one run against another, with intervals: lab compare {}", names.join(" "))));
    }
    if let Some(found) = compare.between().filter(|found| !found.notes.is_empty()) {
        lines.push(Line::styled(" one run against the other", palette.strong()));
        lines.extend(found.notes.iter().map(|note| Line::raw(format!("   {}", scrubbed(note)))));
    }
    let from = u16::try_from(from).unwrap_or(u16::MAX);
    let block = Block::bordered().title(" behind the verdict (up down: the rest, Esc: back) ");
    frame.render_widget(Clear, area);
    frame.render_widget(Paragraph::new(lines).wrap(Wrap { trim: false }).scroll((from, 0)).block(block), area);
}

fn of_run<'a>(compare: &Compare, at: usize, palette: Palette) -> Vec<Line<'a>> {
    let run = &compare.runs[at];
    let summary = &run.summary;
    let heading = |text: &str| Line::styled(format!(" {text}"), palette.strong());
    let mut lines = vec![Line::from(vec![
        Span::styled(format!(" {} ", compare.run_name(at)), palette.title()),
        Span::styled(format!(" {}", summary.verdict.word()), palette.verdict(summary.verdict)),
        partial(summary, palette),
    ])];
    lines.extend(run.made.iter().map(|line| Line::styled(format!("   {}", scrubbed(line)), palette.faint())));
    let opening = compare.opening(at);
    if !opening.is_empty() {
        lines.push(heading("what it comes to"));
        let recommended = compare.recommended(at).map_or_else(Vec::new, Recommendation::lines);
        let said = opening.iter().map(|said| &said.text).chain(&recommended);
        lines.extend(said.map(|text| Line::raw(format!("   {}", scrubbed(text)))));
    }
    if !summary.reasons.is_empty() {
        lines.push(heading("why it is not VALID"));
        lines.extend(
            grouped(&summary.reasons)
                .into_iter()
                .flat_map(|(reason, places)| because(reason, &places, run.blocks(), palette)),
        );
    }
    lines.extend(identical(summary).into_iter().map(|line| Line::raw(format!("   {line}"))));
    let at_doors = at_front_doors(compare, at);
    if !at_doors.is_empty() {
        lines.push(heading("at the front door"));
        lines.extend(at_doors);
    }
    lines.push(heading(match summary.thresholds.len() {
        0 => "nothing was claimed",
        _ => "claims",
    }));
    lines.extend(summary.thresholds.iter().flat_map(|claim| asked(claim, run, palette)));
    lines.push(Line::default());
    lines
}

/// Work of waiting rooms and sentries, arm by arm.
fn at_front_doors<'a>(compare: &Compare, run: usize) -> Vec<Line<'a>> {
    let real = compare.runs[run].shape.as_ref().and_then(|shape| shape.capacity_per_s);
    let of_arm = |arm_series: &ArmSeries| {
        let (name, seconds) = (scrubbed(compare.arm_name(*arm_series)), compare.seconds(*arm_series));
        front_doors::in_words(seconds, real).into_iter().map(move |words| Line::raw(format!("   {name}: {words}")))
    };
    compare.all_series.iter().filter(|arm_series| arm_series.run == run).flat_map(of_arm).collect()
}

/// Beside every verdict: one of a run that was stopped is about a part of what was planned.
pub(super) fn partial<'a>(summary: &RunSummary, palette: Palette) -> Span<'a> {
    let words = summary.partial_in_words().map_or_else(String::new, |words| format!("  {words}"));
    Span::styled(words, palette.warn())
}

/// An arm, and its turns in which a gate found something.
type Place<'a> = (&'a str, BTreeSet<&'a str>);

/// One entry for each gate: its first finding, and the arms in which it was found, with their turns.
fn grouped(reasons: &[GateFinding]) -> Vec<(&GateFinding, Vec<Place<'_>>)> {
    let mut groups: Vec<(&GateFinding, Vec<Place<'_>>)> = Vec::new();
    for reason in reasons {
        let of_it = |(first, _): &&mut (&GateFinding, Vec<Place<'_>>)| {
            (&first.code, first.verdict, &first.remedy) == (&reason.code, reason.verdict, &reason.remedy)
        };
        // From the second block on a turn is named `seda (block 2)`.
        let arm = reason.arm.split_once(" (block ").map_or(reason.arm.as_str(), |(arm, _)| arm);
        let turn = [reason.arm.as_str()];
        match groups.iter_mut().find(of_it) {
            None => groups.push((reason, vec![(arm, turn.into())])),
            Some((_, places)) => match places.iter_mut().find(|(known, _)| *known == arm) {
                Some((_, turns)) => turns.extend(turn),
                None => places.push((arm, turn.into())),
            },
        }
    }
    groups
}

/// `blocks`: how often every arm ran.
fn because<'a>(reason: &GateFinding, places: &[Place<'_>], blocks: u32, palette: Palette) -> Vec<Line<'a>> {
    let GateFinding { code, verdict, value, threshold, message, remedy, .. } = reason;
    let place = |(arm, turns): &Place<'_>| match blocks {
        1 => scrubbed(arm),
        _ => format!("{} ({} of {})", scrubbed(arm), turns.len(), counted(blocks as usize, "block")),
    };
    let named: Vec<String> = places.iter().filter(|(arm, _)| !arm.is_empty()).map(place).collect();
    let first = if places.len() > 1 || places.iter().any(|(_, turns)| turns.len() > 1) { ", first" } else { "" };
    let place = if named.is_empty() { String::new() } else { format!(" in {}{first}", named.join(", ")) };
    vec![
        Line::from(vec![
            Span::styled(
                format!("   {}", scrubbed(&verdict_and_codes(*verdict, [code.as_str()]))),
                palette.verdict(*verdict),
            ),
            Span::raw(format!("{place}: {} (limit: {})", scrubbed(value), scrubbed(threshold))),
        ]),
        Line::raw(format!("     {}: {}", scrubbed(message), scrubbed(remedy))),
    ]
}

fn asked<'a>(claim: &ThresholdResult, run: &OpenRun, palette: Palette) -> Vec<Line<'a>> {
    let style = match (claim.judged, claim.held) {
        (false, _) => palette.warn(),
        (true, true) => palette.good(),
        (true, false) => palette.bad(),
    };
    let word = format!("   {:6} ", claim.outcome());
    let mut lines = vec![Line::from(vec![Span::styled(word, style), Span::raw(scrubbed(&claim.text))])];
    let told = |found: &str| claim.why.contains(found);
    let found = if run.blocks() > 1 && !claim.blocks.iter().all(|block| told(&block.found)) {
        let each: Vec<&str> = claim.blocks.iter().map(|block| block.found.as_str()).collect();
        format!("{}: {}", claim.why, each.join(" | "))
    } else {
        claim.why.clone()
    };
    lines.push(Line::raw(format!("          {}", scrubbed(&found))));
    lines
}
