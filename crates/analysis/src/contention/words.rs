//! Contention in words: the headline, and the answer in sentences: harm, cure, price.

use model::{cell::Role, figure::Figure, trial::NONE};

use super::{Arm, Cell, Contention};
use crate::{
    headline::{Bar, Headline},
    metrics::Measure,
    quantity::count,
    stats::median,
};

fn percent(share: f64) -> String {
    Measure::Share.words(share)
}

fn cells(cells: &[&Cell]) -> String {
    count(cells.len() as u32, "cell")
}

/// What is said while no harm is shown and some may be there.
fn undecided_so_far(undecided: &[&Cell], all: &str) -> String {
    let kept = |cell: &&Cell| Some((cell.arm(NONE)?.mean(Figure::Kept)?, cell.blocks));
    let least = undecided.iter().filter_map(kept).min_by(|one, other| one.0.total_cmp(&other.0));
    let so_far = least.map_or_else(
        || "no block is complete".to_owned(),
        |(kept, blocks)| {
            format!("Wi-Fi keeps {} of its traffic in {}", percent(kept), count(blocks, "block"))
        },
    );
    let number = undecided.len();
    format!("Not decided yet in {number} of {all} whether an application harms Wi-Fi: {so_far}.")
}

/// A figure of these cells' arms, in the cell in the middle.
fn middle(cells: &[&Cell], arm: fn(&Cell) -> Option<&Arm>, figure: Figure) -> Option<f64> {
    median(cells.iter().filter_map(|cell| arm(cell)?.mean(figure)).collect())
}

fn without(cell: &Cell) -> Option<&Arm> {
    cell.arm(NONE)
}

impl Contention {
    fn candidates(&self, is: impl Fn(&Cell) -> bool) -> Vec<&Cell> {
        self.cells.iter().filter(|cell| cell.shape.role == Role::Harm && is(cell)).collect()
    }

    /// Of the cells in which harm was shown, the one in the middle.
    pub(crate) fn headline(&self) -> Headline {
        let all = cells(&self.candidates(|_| true));
        let harmed = self.candidates(Cell::is_harmed);
        if harmed.is_empty() {
            let undecided = self.candidates(Cell::is_undecided);
            return Headline::plain(match undecided.is_empty() {
                true => format!("In none of {all} does an application harm Wi-Fi."),
                false => undecided_so_far(&undecided, &all),
            });
        }
        let Some(none) = middle(&harmed, without, Figure::Kept) else {
            let number = harmed.len();
            return Headline::plain(format!("In {number} of {all} an application harms Wi-Fi."));
        };
        let running = "With an application running, Wi-Fi keeps";
        let (sentence, sides) = match middle(&harmed, Cell::cure, Figure::Kept) {
            Some(guard) => (
                format!(
                    "{running} {} of its traffic under guard and {} without.",
                    percent(guard),
                    percent(none)
                ),
                [("without control", none), ("under guard", guard)],
            ),
            None => (
                format!("{running} {} of its traffic.", percent(none)),
                [("alone", 1.0), ("with the application", none)],
            ),
        };
        let of_cells = match harmed.as_slice() {
            [one] => one.name.clone(),
            many => format!("the middle one of {} with shown harm", cells(many)),
        };
        let bars = sides.map(|(name, share)| Bar::new(name, share, percent(share)));
        let of = format!("Wi-Fi kept of what it does alone: {of_cells}");
        Headline { sentence, of, bars: bars.to_vec() }
    }

    /// In how many cells harm is shown, and how many are not decided.
    pub fn harm(&self) -> String {
        let decided = count(self.candidates(|cell| !cell.is_undecided()).len() as u32, "cell");
        let undecided = match self.candidates(Cell::is_undecided).len() {
            0 => String::new(),
            1 => " One more is not decided: it needs more valid trials.".to_owned(),
            more => format!(" {more} more are not decided: they need more valid trials."),
        };
        match (decided.as_str(), self.candidates(Cell::is_harmed).len()) {
            ("0 cells", _) => "Harm is not decided in any cell yet: that needs two blocks of valid trials, alone and \
                               without control."
                .to_owned(),
            (_, 0) => format!("None of {decided} shows harm without control.{undecided}"),
            (_, 1) => format!("1 of {decided} shows harm without control.{undecided}"),
            (_, harmed) => format!("{harmed} of {decided} show harm without control.{undecided}"),
        }
    }

    /// Harm, cure, price.
    pub(crate) fn answer(&self) -> Vec<String> {
        let harmed = self.candidates(Cell::is_harmed);
        let share = |arm, figure| middle(&harmed, arm, figure).map(percent);
        let name = harmed.iter().find_map(|cell| Some(&cell.reported()?.control));
        let kept = [without, Cell::reported, Cell::cure].map(|arm| share(arm, Figure::Kept));
        let [without, reported, guard] = kept;
        let cure = || {
            Some(format!(
                "In the median harm cell Wi-Fi keeps {} without control, {} with the field report's {}, and {} under \
                 guard.",
                without?, reported?, name?, guard?
            ))
        };
        let work = [self::without, Cell::cure].map(|arm| share(arm, Figure::Work));
        let price = || {
            let [none, guard] = work;
            Some(format!(
                "The application pays for it: it keeps {} of what it does alone without control, {} under guard.",
                none?, guard?
            ))
        };
        [Some(self.harm()), cure(), price()].into_iter().flatten().collect()
    }
}
