//! A table as data, and its two faces: HTML and plain text.
//!
//! Numbers of a column are padded so that their decimal points stand under each other. Knows nothing
//! of what the columns mean.

use analysis::{
    Estimate,
    quantity::{self, ABSENT, Unit},
};
use askama::Template;

use crate::prose::{note, signed};

/// A column's head.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    pub(crate) title: String,
    /// Unit or second line.
    pub(crate) unit: String,
    pub(crate) kind: Kind,
}

impl Column {
    fn new(kind: Kind, title: &str, unit: &str) -> Self {
        Self { title: title.to_owned(), unit: unit.to_owned(), kind }
    }

    /// Title and unit on one line, as they stand before a figure on a phone.
    fn head(&self) -> String {
        match (self.title.is_empty(), self.unit.is_empty()) {
            (false, false) => format!("{}, {}", self.title, self.unit),
            _ => format!("{}{}", self.title, self.unit),
        }
    }
}

/// How a column's cells are set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Head,
    /// Numbers, aligned at the decimal point.
    Number,
    /// Numbers that are secondary, as intervals.
    Quiet,
    Text,
    /// Names of functions: long, and broken only where they must be.
    Name,
    /// A verdict's word, in its colour.
    Verdict,
}

impl Kind {
    /// The class in the style sheet.
    fn class(self) -> &'static str {
        match self {
            Kind::Head => "head",
            Kind::Number => "num",
            Kind::Quiet => "num quiet",
            Kind::Text => "text",
            Kind::Name => "text name",
            Kind::Verdict => "text verdicts",
        }
    }
}

/// A row; `first` opens a new group of rows, which gets a rule above it; `dim` is set in grey.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) cells: Vec<String>,
    pub(crate) first: bool,
    pub(crate) dim: bool,
}

#[derive(Clone, Debug, Default, Template)]
#[template(path = "table.html")]
pub(crate) struct Table {
    pub(crate) caption: String,
    pub(crate) columns: Vec<Column>,
    pub(crate) rows: Vec<Row>,
}

/// A table that is made column by column: each with its title, its unit, and what it shows of a row's thing.
pub(crate) struct Rows<T> {
    things: Vec<T>,
    table: Table,
}

impl<T> Rows<T> {
    pub(crate) fn head(self, title: &str, unit: &str, cell: impl Fn(&T) -> String) -> Self {
        self.column(Column::new(Kind::Head, title, unit), cell)
    }

    /// Numbers, aligned at the decimal point.
    pub(crate) fn number(self, title: &str, unit: &str, cell: impl Fn(&T) -> String) -> Self {
        self.column(Column::new(Kind::Number, title, unit), cell)
    }

    /// Numbers that are secondary, as intervals.
    pub(crate) fn quiet(self, title: &str, unit: &str, cell: impl Fn(&T) -> String) -> Self {
        self.column(Column::new(Kind::Quiet, title, unit), cell)
    }

    pub(crate) fn text(self, title: &str, unit: &str, cell: impl Fn(&T) -> String) -> Self {
        self.column(Column::new(Kind::Text, title, unit), cell)
    }

    pub(crate) fn name(self, title: &str, unit: &str, cell: impl Fn(&T) -> String) -> Self {
        self.column(Column::new(Kind::Name, title, unit), cell)
    }

    pub(crate) fn verdict(self, title: &str, cell: impl Fn(&T) -> String) -> Self {
        self.column(Column::new(Kind::Verdict, title, ""), cell)
    }

    /// The mean of an estimate, below its title and its unit.
    pub(crate) fn mean(
        self,
        head: [&str; 2],
        unit: Unit,
        of: impl Fn(&T) -> Option<Estimate>,
    ) -> Self {
        self.number(head[0], head[1], |row| mean(unit, of(row)))
    }

    /// The same with its interval in a column of its own.
    pub(crate) fn estimate(
        self,
        head: [&str; 2],
        unit: Unit,
        of: impl Fn(&T) -> Option<Estimate>,
    ) -> Self {
        let bracket = |row: &T| of(row).map_or(ABSENT.to_owned(), |one| unit.bracket(&one));
        self.mean(head, unit, &of).quiet("95 % interval", head[1], bracket)
    }

    /// A change with its sign, per cent of the base.
    pub(crate) fn effect(self, of: impl Fn(&T) -> Option<Estimate>) -> Self {
        let (unit, absent) = (Unit::PER_CENT, || ABSENT.to_owned());
        self.number("effect", "%", |row| of(row).map_or_else(absent, |one| signed(unit, &one)))
            .quiet("interval", "%", |row| of(row).map_or_else(absent, |one| unit.bracket(&one)))
    }

    fn column(mut self, column: Column, cell: impl Fn(&T) -> String) -> Self {
        self.table.columns.push(column);
        for (row, thing) in self.table.rows.iter_mut().zip(&self.things) {
            row.cells.push(cell(thing));
        }
        self
    }

    /// Sets rows in grey; a cell must say the same in words.
    pub(crate) fn dim(mut self, is_dim: impl Fn(&T) -> bool) -> Self {
        for (row, thing) in self.table.rows.iter_mut().zip(&self.things) {
            row.dim = is_dim(thing);
        }
        self
    }

    /// The table. A head that differs from the row above opens a group.
    pub(crate) fn table(mut self) -> Table {
        let mut above = None;
        for row in &mut self.table.rows {
            let head = row.cells.first().cloned();
            row.first = above != Some(head.clone());
            above = Some(head);
        }
        self.table
    }
}

/// A mean without its unit, or the dash.
pub(crate) fn mean(unit: Unit, estimate: Option<Estimate>) -> String {
    estimate.map_or(ABSENT.to_owned(), |estimate| unit.mean(&estimate))
}

/// A value without its unit, or the dash.
pub(crate) fn plain(unit: Unit, value: Option<f64>) -> String {
    value.map_or(ABSENT.to_owned(), |value| unit.plain(value))
}

/// A share as per cent with two digits, without the sign: that is in the column's head; or the dash.
pub(crate) fn percent(share: impl Into<Option<f64>>) -> String {
    let percent = |share| quantity::percent(share).trim_end_matches(" %").to_owned();
    share.into().map_or(ABSENT.to_owned(), percent)
}

/// What was never seen is not a small cost with four digits.
pub(crate) fn cost(unit: Unit, cost: f64) -> String {
    if cost == 0.0 { "0".to_owned() } else { unit.plain(cost) }
}

pub(crate) fn yes(is: bool) -> String {
    if is { "yes" } else { "no" }.to_owned()
}

/// A value with this many decimals, or the dash.
pub(crate) fn fixed(value: Option<f64>, decimals: usize) -> String {
    value.map_or(ABSENT.to_owned(), |value| format!("{value:.decimals$}").replace('-', "−"))
}

/// Rows that fit on a printed page together with what stands above them.
const FITS_A_PAGE: usize = 18;

/// Spaces that are as wide as a digit and as a point, in a font with tabular digits.
const WIDE: Padding = Padding { digit: '\u{2007}', point: '\u{2008}' };
/// Spaces of a terminal.
const PLAIN: Padding = Padding { digit: ' ', point: ' ' };

#[derive(Clone, Copy)]
struct Padding {
    digit: char,
    point: char,
}

impl Table {
    /// A table with a row for each thing, whose columns follow.
    pub(crate) fn of<T>(caption: &str, things: impl IntoIterator<Item = T>) -> Rows<T> {
        let things: Vec<T> = things.into_iter().collect();
        let row = Row { cells: Vec::new(), first: false, dim: false };
        let rows = vec![row; things.len()];
        Rows { things, table: Self { caption: caption.to_owned(), columns: Vec::new(), rows } }
    }

    /// Whether the table is kept on one printed page; a longer one repeats its head.
    fn is_short(&self) -> bool {
        self.rows.len() <= FITS_A_PAGE
    }

    /// The table for a page; nothing without rows.
    pub(crate) fn html(mut self) -> String {
        self.align(WIDE);
        if self.rows.is_empty() { String::new() } else { self.to_string() }
    }

    /// The table for a page with a remark below it; nothing without rows.
    pub(crate) fn noted(self, what: &str) -> String {
        let html = self.html();
        if html.is_empty() { html } else { html + &note(what) }
    }

    /// The table in Markdown; nothing without rows.
    pub(crate) fn markdown(&self) -> String {
        if self.rows.is_empty() {
            return String::new();
        }
        let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        let heads = self.columns.iter().map(|column| crate::markdown::cell(&column.head()));
        let rule = line(vec!["---".to_owned(); self.columns.len()]);
        let row =
            |row: &Row| line(row.cells.iter().map(|cell| crate::markdown::cell(cell)).collect());
        format!(
            "\n{}{rule}{}",
            line(heads.collect()),
            self.rows.iter().map(row).collect::<String>()
        )
    }

    /// The row's classes.
    fn class(&self, row: &usize) -> &'static str {
        match (self.rows[*row].first, self.rows[*row].dim) {
            (false, false) => "",
            (true, false) => "first",
            (false, true) => "dim",
            (true, true) => "first dim",
        }
    }

    /// Whether the cell says what the one above it says, and its row opens no group.
    fn repeats(&self, row: &usize, column: &usize) -> bool {
        let above = row.checked_sub(1).and_then(|above| self.rows.get(above));
        let here = &self.rows[*row];
        !here.first
            && above.is_some_and(|above| above.cells.get(*column) == here.cells.get(*column))
    }

    fn align(&mut self, padding: Padding) {
        let numbers =
            self.columns.iter().enumerate().filter(|(_, column)| column.kind == Kind::Number);
        for (at, _) in numbers {
            let cells = self.rows.iter_mut().filter_map(|row| row.cells.get_mut(at));
            align(cells.collect(), padding);
        }
    }

    /// The table as lines of text with two spaces between columns.
    pub(crate) fn plain(mut self) -> String {
        self.align(PLAIN);
        let heads = [
            self.columns.iter().map(|column| column.title.clone()).collect::<Vec<_>>(),
            self.columns.iter().map(|column| column.unit.clone()).collect(),
        ];
        let lines: Vec<&[String]> = heads
            .iter()
            .map(Vec::as_slice)
            .chain(self.rows.iter().map(|row| row.cells.as_slice()))
            .collect();
        let widths: Vec<_> = (0..self.columns.len())
            .map(|at| lines.iter().map(|line| width(line.get(at))).max().unwrap_or(0))
            .collect();
        lines.iter().map(|line| self.plain_line(line, &widths)).collect()
    }

    fn plain_line(&self, line: &[String], widths: &[usize]) -> String {
        let mut text = String::new();
        for ((cell, column), width) in line.iter().zip(&self.columns).zip(widths) {
            text.push_str("  ");
            match column.kind {
                Kind::Number | Kind::Quiet => text.push_str(&format!("{cell:>width$}")),
                Kind::Head | Kind::Text | Kind::Name | Kind::Verdict => {
                    text.push_str(&format!("{cell:<width$}"))
                }
            }
        }
        format!("{}\n", text.trim_end())
    }
}

fn width(cell: Option<&String>) -> usize {
    cell.map_or(0, |cell| cell.chars().count())
}

/// Digits after the point of the number that the text begins with, and whether there is a point.
fn fraction(cell: &str) -> (usize, bool) {
    match cell.split_once('.') {
        Some((_, after)) => (after.chars().take_while(char::is_ascii_digit).count(), true),
        None => (0, false),
    }
}

/// Words among numbers stand at the right edge, unpadded.
fn align(cells: Vec<&mut String>, padding: Padding) {
    let is_number = |cell: &&mut String| cell.ends_with(|last: char| last.is_ascii_digit());
    let cells: Vec<_> = cells.into_iter().filter(is_number).collect();
    let most = cells.iter().map(|cell| fraction(cell).0).max().unwrap_or(0);
    for cell in cells {
        let (digits, has_point) = fraction(cell);
        if most > 0 && !has_point {
            cell.push(padding.point);
        }
        cell.extend(std::iter::repeat_n(padding.digit, most - digits));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_stand_under_each_other() {
        let table = Table::of("", ["1.25", "100", "–", "12.5"])
            .head("a", "", |_| "x".to_owned())
            .number("b", "ms", |value| (*value).to_owned())
            .table();
        let expected = "  a       b\n         ms\n  x    1.25\n  x  100\n  x       –\n  x   12.5\n";
        assert_eq!(table.plain(), expected);
    }

    #[test]
    fn what_is_written_cannot_become_markup() {
        let rows = Table::of("a < b", ["<script>"]).head("<i>", "", |text| (*text).to_owned());
        let html = rows.table().html();
        assert!(!html.contains("<script>") && !html.contains("<i>"), "{html}");
    }
}
