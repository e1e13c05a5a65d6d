//! The figure that is followed from run to run, as a person names it.
//!
//! `cpu`, `bulk: cpu at 60 clients`, `guard: kept at ap`: a figure of the run's table, of whatever kind the run is.

use std::{fmt, str::FromStr};

use analysis::{
    Estimate,
    metrics::{Measure, Metric},
};
use model::{
    limit::{self, At, Key, Selection},
    plural::count,
};
use serde::Serialize;

/// What is followed; nothing is the key figure of each study, at the largest client count where it has some.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted(Option<Selection>);

/// One figure in one run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figure {
    /// Its line from run to run: the variant, with the point where the variant has several.
    pub line: String,
    /// The variant, control or strategy; empty where it is of none.
    pub variant: String,
    /// At how many clients; `None` where it is of all, or of a study without clients.
    pub clients: Option<u32>,
    pub name: String,
    pub unit: Measure,
    pub estimate: Estimate,
}

/// A text that names no figure.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NoFigure(String);

impl FromStr for Wanted {
    type Err = NoFigure;

    fn from_str(text: &str) -> Result<Self, NoFigure> {
        limit::selection(text).map(|selection| Self(Some(selection))).map_err(NoFigure)
    }
}

impl fmt::Display for Wanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(selection) => f.write_str(&words(selection)),
            None => f.write_str("the key figure of each study"),
        }
    }
}

impl Wanted {
    /// The figure's name, where one is named.
    pub fn name(&self) -> Option<&str> {
        self.0.as_ref().map(|selection| selection.figure.as_str())
    }

    /// What is followed in a study with this key figure.
    fn in_study(&self, key: Option<Key>) -> Option<Selection> {
        let of_key = |key: Key| Selection { at: At::default(), figure: key.figure.to_owned() };
        self.0.clone().or_else(|| key.map(of_key))
    }

    /// What is followed in a study with this key figure, in words.
    pub(super) fn words(&self, key: Option<Key>) -> String {
        self.in_study(key).map_or_else(|| self.to_string(), |selection| words(&selection))
    }

    /// The figures of a run's table. Where clients are not named they are the most that the run has.
    pub(super) fn of(&self, table: &[Metric], key: Option<Key>) -> Vec<Figure> {
        let Some(selection) = self.in_study(key) else { return Vec::new() };
        let among = |row: &&Metric| {
            row.is_among(&selection.at, &selection.figure) && row.estimate.is_some()
        };
        let rows: Vec<&Metric> = table.iter().filter(among).collect();
        let most = rows.iter().filter_map(|row| row.clients).max();
        let rows: Vec<&Metric> = rows.into_iter().filter(|row| row.clients == most).collect();
        let figure = |row: &&Metric| {
            let alike = rows.iter().filter(|other| other.variant == row.variant).count();
            let is_named = alike == 1 && !row.variant.is_empty();
            Some(Figure {
                line: if is_named { row.variant.clone() } else { row.place() },
                variant: row.variant.clone(),
                clients: row.clients,
                name: row.name.clone(),
                unit: row.unit,
                estimate: row.estimate.filter(|estimate| estimate.mean.abs() < f64::MAX)?,
            })
        };
        rows.iter().filter_map(figure).collect()
    }
}

fn words(selection: &Selection) -> String {
    let Selection { at: At { variant, clients, places }, figure } = selection;
    let (name, has_counts) = match figure.as_str() {
        "cpu" => ("CPU of the subject".to_owned(), true),
        "load" => ("CPU of the load".to_owned(), true),
        "sum" => ("CPU of all that is counted".to_owned(), true),
        "slope" => ("CPU that each client adds".to_owned(), false),
        "memory" => ("memory of the subject".to_owned(), true),
        other => (other.to_owned(), false),
    };
    let at = match (clients, places.is_empty()) {
        (Some(clients), _) => format!(" at {}", count(*clients, "client")),
        (None, false) => format!(" at {}", places.join(" and ")),
        (None, true) if has_counts => " at the largest client count".to_owned(),
        (None, true) => String::new(),
    };
    let variant = variant.as_ref().map(|variant| format!(", {variant}")).unwrap_or_default();
    format!("{name}{at}{variant}")
}

#[cfg(test)]
mod tests {
    use analysis::{analyse, fixture};
    use model::limit::Side;

    use super::*;

    const CPU: Option<Key> = Some(Key { figure: "cpu", side: Side::AtMost });

    fn table() -> Vec<Metric> {
        let run = fixture::run();
        analyse(&run, &fixture::trials(&run)).table
    }

    fn followed(text: &str) -> Vec<Figure> {
        text.parse::<Wanted>().unwrap().of(&table(), CPU)
    }

    #[test]
    fn a_figure_is_named_as_people_name_it() {
        let named = |text: &str| text.parse::<Wanted>().map(|wanted| wanted.to_string());
        assert_eq!(named("cpu").unwrap(), "CPU of the subject at the largest client count");
        assert_eq!(
            named("bulk: cpu at 60 clients").unwrap(),
            "CPU of the subject at 60 clients, bulk"
        );
        assert_eq!(named("slope").unwrap(), "CPU that each client adds");
        assert_eq!(named("guard: kept at harmed and ap").unwrap(), "kept at harmed and ap, guard");
        assert_eq!(Wanted::default().words(CPU), named("cpu").unwrap());
        for wrong in ["", "cpu at", "cpu at many clients", "slope at 3 clients", ": cpu", "a cpu"] {
            assert!(!named(wrong).unwrap_err().to_string().is_empty(), "{wrong}");
        }
    }

    #[test]
    fn every_figure_of_the_table_can_be_followed() {
        let table = table();
        for row in table.iter().filter(|row| row.estimate.is_some()) {
            let variant = Some(row.variant.clone());
            let at = At { variant, clients: row.clients, places: Vec::new() };
            let selection = Selection { at, figure: row.name.clone() };
            let figures = Wanted(Some(selection)).of(&table, CPU);
            assert!(figures.iter().any(|one| Some(one.estimate) == row.estimate), "{row:?}");
        }
        assert!(followed("memory").iter().all(|one| one.unit == Measure::Kib));
        assert!(!followed("memory-growth").is_empty() && !followed("slope").is_empty());
        assert!(followed("nobody: cpu").is_empty());
    }

    #[test]
    fn the_key_figure_is_at_the_largest_client_count() {
        let run = fixture::run();
        let analysis = analyse(&run, &fixture::trials(&run));
        let figures = Wanted::default().of(&analysis.table, CPU);
        assert!(figures.iter().all(|figure| figure.clients == Some(114)));
        let own = analysis.cell("iw-dump", 114).and_then(|cell| cell.cpu.subject);
        let found = figures.iter().find(|figure| figure.line == "iw-dump");
        assert_eq!(found.map(|figure| figure.estimate), own);
    }
}
