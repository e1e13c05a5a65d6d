//! Names of marks of a picture, placed so that none covers another or a mark.
//!
//! Greedy: names come in the order of their weight, each takes the first free place around its mark, and one
//! that finds none is left out: the mark's title still has it.

use super::svg::{Point, text};

/// The width of a letter and the height of a line, in pixels of the picture; letters differ, this is wide.
const LETTER: f64 = 7.2;
const LINE: f64 = 12.5;
/// Between two names of one line.
const GAP: f64 = 4.0;
const MARK: f64 = 5.5;

/// A rectangle: left, top, right, bottom.
#[derive(Clone, Copy, Debug)]
struct Area(f64, f64, f64, f64);

impl Area {
    fn meets(&self, other: &Area) -> bool {
        self.0 < other.2 && other.0 < self.2 && self.1 < other.3 && other.1 < self.3
    }

    fn lies_in(&self, other: &Area) -> bool {
        self.0 >= other.0 && self.1 >= other.1 && self.2 <= other.2 && self.3 <= other.3
    }
}

/// Where names may stand.
#[derive(Debug)]
pub(super) struct Labels {
    frame: Area,
    taken: Vec<Area>,
}

impl Labels {
    /// An empty picture: left, top, right, bottom.
    pub(super) fn within(left: f64, top: f64, right: f64, bottom: f64) -> Self {
        Self { frame: Area(left, top, right, bottom), taken: Vec::new() }
    }

    /// A mark that no name may cover.
    pub(super) fn mark(&mut self, Point { x, y }: Point) {
        self.taken.push(Area(x - MARK, y - MARK, x + MARK, y + MARK));
    }

    /// The name of the mark at a place, as SVG; empty where there is no room.
    pub(super) fn place(&mut self, name: &str, at: Point, class: &str) -> String {
        let is_free = |area: &&Area| {
            area.lies_in(&self.frame) && !self.taken.iter().any(|taken| taken.meets(area))
        };
        let places = around(at, name.chars().count() as f64 * LETTER);
        let Some(area) = places.iter().find(is_free).copied() else { return String::new() };
        self.taken.push(Area(area.0 - GAP, area.1, area.2 + GAP, area.3));
        text(class, area.0, area.3 - 3.0, name)
    }
}

/// The place of a name from its upper left corner.
fn area(corner: Point, width: f64) -> Area {
    Area(corner.x, corner.y, corner.x + width, corner.y + LINE)
}

/// The places around a mark, the best first.
fn around(Point { x, y }: Point, width: f64) -> Vec<Area> {
    let reach = MARK + 2.5;
    let (right, left, centre) = (x + reach, x - reach - width, x - width / 2.0);
    let (middle, above, below) = (y - LINE / 2.0, y - reach - LINE + 1.0, y + reach - 1.0);
    [
        (right, middle),
        (left, middle),
        (centre, below),
        (centre, above),
        (right - 3.0, below),
        (left + 3.0, below),
        (right - 3.0, above),
        (left + 3.0, above),
        (right, middle + LINE),
        (left, middle + LINE),
        (right, middle - LINE),
        (left, middle - LINE),
    ]
    .map(|(x, y)| area(Point { x, y }, width))
    .to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn x_of(label: &str) -> f64 {
        let after = label.split("x=\"").nth(1).unwrap();
        after.split('"').next().unwrap().parse().unwrap()
    }

    #[test]
    fn a_name_stands_right_of_its_mark_and_left_at_the_edge() {
        let mut labels = Labels::within(0.0, 0.0, 200.0, 100.0);
        assert!(x_of(&labels.place("ab", Point { x: 50.0, y: 50.0 }, "name")) > 50.0);
        assert!(x_of(&labels.place("abcdef", Point { x: 190.0, y: 20.0 }, "name")) < 190.0);
    }

    #[test]
    fn a_name_without_room_is_left_out() {
        let mut labels = Labels::within(0.0, 0.0, 60.0, 14.0);
        let at = Point { x: 20.0, y: 7.0 };
        assert!(!labels.place("abc", at, "name").is_empty());
        assert!(labels.place("abcd", at, "name").is_empty());
    }
}
