//! The run in plain text, as the terminal shows it at the end of `headroom run`.
//!
//! The same answer, tables and doubts as the page, shorter. No colour and no escape sequences: the
//! caller may pipe it.

use analysis::{
    Analysis, Doubt, Estimate, Level,
    headline::Headline,
    profiles::{CountFigures, FunctionCost, ProfileFigures},
    quantity,
    verdicts::Judgement,
};

use crate::{
    count_tables, fix_section, flames, profile_tables, stage_tables,
    table::{Table, percent},
    tables,
};

/// Lines are folded at this many columns.
pub(crate) const COLUMNS: usize = 100;

/// Functions of a profile that the terminal shows.
const FUNCTIONS: usize = 20;
/// Of the samples at least this share is “every stack”: an unknown root must not hide the trunk.
const TRUNK: f64 = 0.999;
/// Columns that a function's name gets there, and a module's.
const NAME_COLUMNS: usize = 46;
const MODULE_COLUMNS: usize = 20;

/// The summary: headline, answer, figures, slopes, doubts.
pub fn table(analysis: &Analysis) -> String {
    let mut text = format!("{}\n\n", fold(&analysis.question, "", ""));
    for sentence in sentences(&analysis.headline, &analysis.answer) {
        text.push_str(&fold(&sentence.replace('`', ""), "  ", "    "));
        text.push('\n');
    }
    let has_figures = analysis.valid > 0 && analysis.asks_for_cpu();
    text += &(section(tables::lab(analysis)) + &summary(analysis) + &stages(analysis));
    text.push_str(&section(tables::slopes(analysis, true)));
    if let Some(why) = tables::why_no_slope(analysis).filter(|_| has_figures) {
        text.push_str(&format!("\nNo slope over clients: {why}.\n"));
    }
    text + &doubts(analysis)
}

/// What each variant takes at each client count.
pub(crate) fn summary(analysis: &Analysis) -> String {
    let has_figures = analysis.valid > 0 && analysis.asks_for_cpu();
    if has_figures { section(tables::summary(analysis, true)) } else { String::new() }
}

/// The headline and the answer behind it, which may begin with the same sentence.
pub(crate) fn sentences<'a>(headline: &'a Headline, answer: &'a [String]) -> Vec<&'a str> {
    let first = Some(headline.sentence.as_str()).filter(|headline| !headline.is_empty());
    let rest = answer.iter().map(String::as_str).filter(|sentence| Some(*sentence) != first);
    first.into_iter().chain(rest).collect()
}

/// Each comparison that was repeated in perturbed states, as one table; of several each below its name.
pub fn states(analysis: &Analysis) -> String {
    let repeated = analysis.judgements.iter().filter(|one| !one.states.is_empty());
    let table = |judgement: &Judgement| {
        let Judgement { base, variant, .. } = judgement;
        let mut table = fix_section::states(judgement, true);
        table.caption = format!("{}: {base} to {variant}", table.caption);
        section(table)
    };
    repeated.map(table).collect()
}

/// Each variant against its bases, and whose CPU the subject's is.
fn stages(analysis: &Analysis) -> String {
    let table = section(stage_tables::bases(analysis, true));
    let whose = stage_tables::whose(analysis).filter(|_| !table.is_empty());
    table + &whose.map_or(String::new(), |whose| fold(&whose, "  ", "    ") + "\n")
}

fn section(table: Table) -> String {
    if table.rows.is_empty() {
        return String::new();
    }
    format!("\n{}\n{}", table.caption.clone(), table.plain())
}

fn doubts(analysis: &Analysis) -> String {
    let of = |level: Level| {
        let doubts = analysis.doubts.iter().filter(move |doubt| doubt.level == level);
        doubts.map(doubt).collect::<String>()
    };
    let (doubts, caveats) = (of(Level::Doubt), of(Level::Caveat));
    let doubts = if doubts.is_empty() { doubts } else { format!("\nDoubts\n{doubts}") };
    let caveats = if caveats.is_empty() { caveats } else { format!("\nCaveats\n{caveats}") };
    doubts + &caveats
}

fn doubt(doubt: &Doubt) -> String {
    let text = match doubt.level {
        Level::Doubt => format!("{doubt} {}", doubt.advice),
        Level::Caveat => doubt.to_string(),
    };
    fold(&text.replace('`', ""), "  ", "    ") + "\n"
}

pub(crate) fn fold(text: &str, first: &str, others: &str) -> String {
    fold_at(COLUMNS, text, first, others)
}

/// Folds a paragraph between words, into lines of at most `columns`.
pub fn fold_at(columns: usize, text: &str, first: &str, others: &str) -> String {
    let mut folded = first.to_owned();
    let mut column = first.chars().count();
    let mut at_start = true;
    for word in text.split(' ') {
        let width = shown(word);
        if !at_start && column + 1 + width > columns {
            folded.push('\n');
            folded.push_str(others);
            column = others.chars().count();
        } else if !at_start {
            folded.push(' ');
            column += 1;
        }
        folded.push_str(word);
        column += width;
        at_start = false;
    }
    folded
}

/// Columns that a word takes; its colours take none.
fn shown(word: &str) -> usize {
    let mut parts = word.split('\u{1b}');
    let first = parts.next().map_or(0, |part| part.chars().count());
    let behind = parts.filter_map(|part| part.split_once('m'));
    first + behind.map(|(_, text)| text.chars().count()).sum::<usize>()
}

/// The dearest functions of a profile, what is unknown in it, and what waits.
pub fn functions(profile: &ProfileFigures) -> String {
    let unit = profile_tables::unit_of(&profile.functions);
    let name = format!("{}/s", unit.name);
    let (trunk, rest): (Vec<_>, Vec<_>) = profile.functions.iter().partition(|one| is_trunk(one));
    let caption = format!("Where the CPU of {} goes", flames::named(profile));
    let mut table = Table::of(&caption, rest.iter().take(FUNCTIONS));
    if profile.cpu_measured() {
        let cost = |cost: &Option<Estimate>| profile_tables::mean(unit, *cost);
        table =
            table
                .number("self", &name, |each| cost(&each.own))
                .number("total", &name, |each| cost(&each.inclusive));
    }
    let table = table
        .number("self", "% of samples", |each| percent(each.own_share))
        .number("total", "% of samples", |each| percent(each.share))
        .name("function", "", |each| shortened(&each.name, NAME_COLUMNS))
        .text("module", "", |each| shortened(file_name(&each.module), MODULE_COLUMNS))
        .table();
    let more = rest.len().saturating_sub(FUNCTIONS);
    let mut left_out = if more > 0 { format!("  … and {more} more\n") } else { String::new() };
    if !trunk.is_empty() {
        let above = quantity::count(trunk.len() as u32, "function");
        left_out += &format!("  {above} above them all, without work of their own, not shown\n");
    }
    let explained = fold(&profile_tables::explained(profile), "  ", "    ");
    let text = format!("{}{left_out}\n{explained}\n{}", section(table), waits(profile));
    // It stands by itself: the caller parts it from what is above.
    text.trim_start_matches('\n').to_owned()
}

/// Whether a function is in every stack and does nothing itself: the way from `main` to the work.
fn is_trunk(function: &FunctionCost) -> bool {
    function.share >= TRUNK && function.own_share == 0.0
}

/// The line about waiting: how much of the CPU, and in which functions.
fn waits(profile: &ProfileFigures) -> String {
    if profile.waiting.is_empty() {
        return String::new();
    }
    let each = profile.waiting.iter().map(|each| {
        let caller = each.caller.iter().map(|name| format!(" called by {name}"));
        let cpu = each.cpu.iter().map(|cpu| format!("{}/s, ", quantity::cpu(cpu)));
        let (caller, cpu) = (caller.collect::<String>(), cpu.collect::<String>());
        let share = quantity::percent(each.share);
        format!("{}{caller} ({cpu}{share}; {})", each.function, each.reason)
    });
    let all = each.collect::<Vec<_>>().join(", ");
    fold(&format!("Waiting on the CPU: {all}."), "  ", "    ") + "\n"
}

/// Calls that were counted.
pub fn counts(counts: &[CountFigures]) -> String {
    section(count_tables::counts(counts, true))
}

/// The last part of a path.
fn file_name(path: &str) -> &str {
    path.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or(path)
}

/// A name with its middle left out, where it is longer than so many columns.
pub(crate) fn shortened(name: &str, columns: usize) -> String {
    let letters: Vec<_> = name.chars().collect();
    if letters.len() <= columns {
        return name.to_owned();
    }
    let ahead = columns * 2 / 3;
    let behind = columns - ahead - 1;
    let of = |part: &[char]| part.iter().collect::<String>();
    format!("{}…{}", of(&letters[..ahead]), of(&letters[letters.len() - behind..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_paragraph_is_folded_between_words_and_its_colours_take_no_room() {
        let text = "\u{1b}[1m\u{1b}[31merror:\u{1b}[0m no such verb 'a-word-longer-than-a-line'";
        let folded =
            "\u{1b}[1m\u{1b}[31merror:\u{1b}[0m no such\n  verb\n  'a-word-longer-than-a-line'";
        assert_eq!(fold_at(15, text, "", "  "), folded);
    }

    #[test]
    fn a_long_name_loses_its_middle() {
        assert_eq!(shortened("abcdefghij", 10), "abcdefghij");
        assert_eq!(shortened("abcdefghijk", 10), "abcdef…ijk");
        assert_eq!(file_name("/usr/lib/libc.so"), "libc.so");
        assert_eq!(file_name("[kernel]"), "[kernel]");
    }
}
