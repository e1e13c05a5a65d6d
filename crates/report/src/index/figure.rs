//! The figure that is followed from run to run, as a person names it.
//!
//! `cpu`, `bulk: cpu at 60 clients`, `slope`: a variant, what, and at how many clients.

use std::{fmt, str::FromStr};

use analysis::{Analysis, Estimate, Part};
use model::plural::count;
use serde::Serialize;

use super::PARTS;

/// What is followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Only this variant; `None` is every one that works.
    variant: Option<String>,
    what: What,
    /// Clients; `None` is the largest count of each run.
    clients: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Cpu(Part),
    Slope,
}

/// One variant's figure in one run, µs of CPU a second, or for each client where that is asked.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figure {
    /// The variant.
    pub variant: String,
    /// At how many clients; `None` where it is of all.
    pub clients: Option<u32>,
    /// The figure.
    pub estimate: Estimate,
}

/// A text that names no figure.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no figure that a history can show; write [VARIANT:] cpu, load, sum or slope, then [at N clients], \
     as in `bulk: cpu at 114 clients`"
)]
pub struct NoFigure(String);

impl Default for Wanted {
    /// The subject's CPU of every variant, at the largest client count.
    fn default() -> Self {
        Self { variant: None, what: What::Cpu(Part::Subject), clients: None }
    }
}

impl FromStr for Wanted {
    type Err = NoFigure;

    fn from_str(text: &str) -> Result<Self, NoFigure> {
        let no_figure = || NoFigure(text.to_owned());
        let (variant, rest) = match text.rsplit_once(':') {
            Some((variant, rest)) => (Some(variant.trim().to_owned()), rest),
            None => (None, text),
        };
        let words: Vec<&str> = rest.split_whitespace().collect();
        let (word, place) = words.split_first().ok_or_else(no_figure)?;
        let part = PARTS.iter().find(|(name, _)| name == word).map(|(_, part)| What::Cpu(*part));
        let what = part.or((*word == "slope").then_some(What::Slope)).ok_or_else(no_figure)?;
        let clients = match place {
            [] => None,
            ["at", clients] | ["at", clients, "clients" | "client"] if what != What::Slope => {
                Some(clients.parse().map_err(|_| no_figure())?)
            }
            _ => return Err(no_figure()),
        };
        if variant.as_ref().is_some_and(String::is_empty) {
            return Err(no_figure());
        }
        Ok(Self { variant, what, clients })
    }
}

impl fmt::Display for Wanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.what {
            What::Cpu(Part::Load) => f.write_str("CPU of the load")?,
            What::Cpu(Part::Sum) => f.write_str("CPU of all that is counted")?,
            What::Cpu(_) => f.write_str("CPU of the subject")?,
            What::Slope => f.write_str("CPU that each client adds")?,
        }
        match (self.clients, self.what) {
            (Some(clients), _) => write!(f, " at {clients}", clients = count(clients, "client"))?,
            (None, What::Cpu(_)) => f.write_str(" at the largest client count")?,
            (None, What::Slope) => {}
        }
        match &self.variant {
            Some(variant) => write!(f, ", {variant}"),
            None => Ok(()),
        }
    }
}

impl Wanted {
    /// The figure of each variant of a run that has it.
    pub(super) fn of(&self, analysis: &Analysis) -> Vec<Figure> {
        let wanted = |variant: &str| self.variant.as_ref().is_none_or(|wanted| wanted == variant);
        if self.what == What::Slope {
            let curves = analysis.curves.iter().filter(|curve| wanted(&curve.variant));
            let slope = |curve: &analysis::Curve| {
                let estimate = curve.slope(Part::Sum)?.per_client;
                Some(Figure { variant: curve.variant.clone(), clients: None, estimate })
            };
            return curves.filter_map(slope).collect();
        }
        let clients = self.clients.unwrap_or(analysis.stages.clients);
        let cells = analysis.cells.iter().filter(|cell| cell.clients == clients && !cell.idle);
        let figure = |cell: &analysis::Cell| {
            let estimate = match self.what {
                What::Cpu(Part::Load) => cell.cpu.load,
                What::Cpu(Part::Sum) => cell.cpu.sum,
                _ => cell.cpu.subject,
            }?;
            Some(Figure { variant: cell.variant.clone(), clients: Some(clients), estimate })
        };
        cells.filter(|cell| wanted(&cell.variant)).filter_map(figure).collect()
    }
}

#[cfg(test)]
mod tests {
    use analysis::{analyse, fixture};

    use super::*;

    #[test]
    fn a_figure_is_named_as_people_name_it() {
        let named = |text: &str| text.parse::<Wanted>().map(|wanted| wanted.to_string());
        assert_eq!(named("cpu").unwrap(), "CPU of the subject at the largest client count");
        assert_eq!(
            named("bulk: cpu at 60 clients").unwrap(),
            "CPU of the subject at 60 clients, bulk"
        );
        assert_eq!(named("slope").unwrap(), "CPU that each client adds");
        for wrong in ["", "cake", "cpu at", "cpu at many clients", "slope at 3 clients", ": cpu"] {
            assert!(named(wrong).unwrap_err().to_string().contains("is no figure"), "{wrong}");
        }
    }

    #[test]
    fn it_is_the_analysis_own_figure() {
        let run = fixture::run();
        let analysis = analyse(&run, &fixture::trials(&run));
        let figures = Wanted::default().of(&analysis);
        assert!(
            figures.iter().all(|figure| figure.variant != "idle" && figure.clients == Some(114))
        );
        let own = analysis.cell("iw-dump", 114).and_then(|cell| cell.cpu.subject);
        let found = figures.iter().find(|figure| figure.variant == "iw-dump");
        assert_eq!(found.map(|figure| figure.estimate), own);
        assert!("nobody: cpu".parse::<Wanted>().unwrap().of(&analysis).is_empty());
    }
}
