//! Paths: what a consumer asks for or subscribes to.
//!
//! ```text
//! WiFi.AccessPoint.1.AssociatedDevice.3.SignalStrength           one parameter
//! WiFi.AccessPoint.*.AssociatedDevice.*.SignalStrength           of all stations
//! Device.WiFi.AccessPoint.2.AssociatedDevice.3.Stats.            everything below
//! WiFi.AccessPoint.1.AssociatedDevice.[MACAddress=="02:00:…"].   of the station of this address
//! ```
//!
//! It parses and compares; whether there is such an instance is not its business.

use linux::nl80211::Address;

use super::{schema::Tree, store::ObjectPath};
use crate::address;

/// A text that is no path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{path}` is not a path: at character {at}, instead of `{found}`, {right} would be right")]
pub struct PathError {
    /// The text; of a very long one, its beginning.
    pub path: Box<str>,
    /// Where it goes wrong, counted from 1.
    pub at: usize,
    pub found: Box<str>,
    pub right: &'static str,
}

/// How much of a wrong text is repeated.
const REPEATED: usize = 200;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Select {
    Any,
    /// The one of this number.
    One(u32),
    /// The one of this address.
    Address(Address),
}

impl Select {
    pub(super) fn has(self, number: u32, address: Address) -> bool {
        match self {
            Self::Any => true,
            Self::One(one) => one == number,
            Self::Address(one) => one == address,
        }
    }
}

/// Which parameters of a station.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leaves {
    All,
    /// Those below `Stats.`.
    Stats,
    /// The one at this place among the tree's leaves.
    One(usize),
}

/// What of the access points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    Everything,
    /// One parameter of their own, by its place.
    Own(usize),
    Stations(Select, Leaves),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Path {
    pub(super) tree: Tree,
    pub(super) points: Select,
    pub(super) what: What,
}

impl Path {
    pub(super) fn parse(text: &str) -> Result<Self, PathError> {
        let mut words = Words { text, at: 0, last: 0 };
        words.path().map_err(|right| words.error(right))
    }

    /// Whether an access point is at or below it, or has something that is.
    pub(super) fn has_point(&self, number: u32) -> bool {
        // An access point is not looked for by address.
        self.points.has(number, Address::default())
    }

    /// Whether a station is at or below it, or has something that is.
    pub(super) fn has_station(&self, path: ObjectPath, address: Address) -> bool {
        self.has_point(path.point)
            && match self.what {
                What::Everything => true,
                What::Own(_) => false,
                What::Stations(select, _) => select.has(path.instance, address),
            }
    }

    /// Whether a parameter of the stations that it has is at or below it.
    pub(super) fn has_leaf(&self, place: usize) -> bool {
        match self.what {
            What::Everything | What::Stations(_, Leaves::All) => true,
            What::Own(_) => false,
            What::Stations(_, Leaves::Stats) => self.tree.leaves()[place].name.starts_with(STATS),
            What::Stations(_, Leaves::One(one)) => one == place,
        }
    }

    /// Whether a parameter of the access points that it has is at or below it.
    pub(super) fn has_own(&self, place: usize) -> bool {
        match self.what {
            What::Everything => true,
            What::Own(own) => own == place,
            What::Stations(..) => false,
        }
    }
}

const STATS: &str = "Stats.";

/// What would be right, where a path is wrong.
type Right = &'static str;

/// The words of a path, one after the other.
struct Words<'a> {
    text: &'a str,
    at: usize,
    /// Where the last word began.
    last: usize,
}

impl<'a> Words<'a> {
    /// The next word, and whether a dot follows it.
    fn next(&mut self) -> (&'a str, bool) {
        self.last = self.at;
        let rest = &self.text[self.at..];
        let from = if rest.starts_with('[') { rest.find(']').unwrap_or(0) } else { 0 };
        let (word, dot) = match rest[from..].find('.') {
            Some(end) => (&rest[..from + end], true),
            None => (rest, false),
        };
        self.at += word.len() + usize::from(dot);
        (word, dot)
    }

    /// Whether the path ends here: it means everything below.
    fn is_at_end(&self) -> bool {
        self.at == self.text.len()
    }

    fn path(&mut self) -> Result<Path, Right> {
        let everything = |tree| Path { tree, points: Select::Any, what: What::Everything };
        let tree = match self.next() {
            ("WiFi", true) => Tree::Field,
            ("Device", true) if self.is_at_end() => return Ok(everything(Tree::Standard)),
            ("Device", true) => {
                (self.next() == ("WiFi", true)).then_some(Tree::Standard).ok_or("`WiFi.`")?
            }
            _ => return Err("`WiFi.` or `Device.WiFi.`"),
        };
        if self.is_at_end() {
            return Ok(everything(tree));
        }
        if self.next() != ("AccessPoint", true) {
            return Err("`AccessPoint.`");
        }
        if self.is_at_end() {
            return Ok(everything(tree));
        }
        let points = match self.instance()? {
            Select::Address(_) => return Err("the access point's number, or `*`, and a dot"),
            points => points,
        };
        let what = if self.is_at_end() { What::Everything } else { self.of_point(tree)? };
        Ok(Path { tree, points, what })
    }

    fn of_point(&mut self, tree: Tree) -> Result<What, Right> {
        match self.next() {
            ("AssociatedDevice", true) if self.is_at_end() => {
                Ok(What::Stations(Select::Any, Leaves::All))
            }
            ("AssociatedDevice", true) => {
                let select = self.instance()?;
                let leaves = if self.is_at_end() { Leaves::All } else { self.leaves(tree)? };
                Ok(What::Stations(select, leaves))
            }
            (name, false) => {
                let place = tree.point_parameters().iter().position(|one| one.name == name);
                let right =
                    "`AssociatedDevice.`, or a parameter as `AssociatedDeviceNumberOfEntries`";
                place.map(What::Own).ok_or(right)
            }
            _ => Err("`AssociatedDevice.`"),
        }
    }

    fn leaves(&mut self, tree: Tree) -> Result<Leaves, Right> {
        let rest = &self.text[self.at..];
        self.last = self.at;
        if tree == Tree::Standard && rest == STATS {
            return Ok(Leaves::Stats);
        }
        let place = tree.leaves().iter().position(|leaf| leaf.name == rest);
        place.map(Leaves::One).ok_or(match tree {
            Tree::Field => "a parameter, as `SignalStrength` or `TxBytes`,",
            Tree::Standard => "a parameter, as `SignalStrength` or `Stats.BytesSent`,",
        })
    }

    fn instance(&mut self) -> Result<Select, Right> {
        const RIGHT: Right = "a number, `*` or `[MACAddress==\"02:00:00:00:00:01\"]`, and a dot";
        match self.next() {
            ("*", true) => Ok(Select::Any),
            (word, true) if word.starts_with('[') => search(word).map(Select::Address).ok_or(RIGHT),
            // `+1` is a number to the library and no number to a reader.
            (word, true) if word.bytes().all(|byte| byte.is_ascii_digit()) => {
                word.parse().map(Select::One).map_err(|_| RIGHT)
            }
            _ => Err(RIGHT),
        }
    }

    fn error(&self, right: Right) -> PathError {
        let cut = |text: &str| text.chars().take(REPEATED).collect::<String>().into();
        let found = &self.text[self.last..];
        let found = if found.is_empty() { "the end" } else { found };
        PathError {
            path: cut(self.text),
            at: self.text[..self.last].chars().count() + 1,
            found: cut(found),
            right,
        }
    }
}

/// The address of `[MACAddress=="02:00:00:00:00:01"]`.
fn search(word: &str) -> Option<Address> {
    let inner = word.strip_prefix('[')?.strip_suffix(']')?;
    let (name, text) = inner.split_once("==")?;
    if name.trim() != "MACAddress" {
        return None;
    }
    let text = text.trim();
    let quoted = |quote| text.strip_prefix(quote)?.strip_suffix(quote);
    address::parse(quoted('"').or_else(|| quoted('\''))?)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn what(text: &str) -> What {
        Path::parse(text).unwrap().what
    }

    #[test]
    fn a_path_that_ends_with_a_dot_is_everything_below() {
        for text in ["WiFi.", "WiFi.AccessPoint.", "Device.", "Device.WiFi.AccessPoint.*."] {
            assert_eq!(what(text), What::Everything, "{text}");
        }
        assert_eq!(Path::parse("WiFi.AccessPoint.2.").unwrap().points, Select::One(2));
        let all = What::Stations(Select::Any, Leaves::All);
        assert_eq!(what("WiFi.AccessPoint.2.AssociatedDevice."), all);
        assert_eq!(what("WiFi.AccessPoint.*.AssociatedDevice.*."), all);
        let stats = "Device.WiFi.AccessPoint.1.AssociatedDevice.3.Stats.";
        assert_eq!(what(stats), What::Stations(Select::One(3), Leaves::Stats));
    }

    #[test]
    fn a_station_is_found_by_its_address() {
        for text in [
            "WiFi.AccessPoint.1.AssociatedDevice.[MACAddress==\"02:00:00:00:0A:01\"].",
            "WiFi.AccessPoint.1.AssociatedDevice.[MACAddress == '02:00:00:00:0a:01'].TxBytes",
        ] {
            let What::Stations(select, _) = what(text) else { panic!("{text}") };
            assert_eq!(select, Select::Address([2, 0, 0, 0, 10, 1]));
        }
    }

    #[test]
    fn each_tree_has_its_own_names() {
        assert!(Path::parse("WiFi.AccessPoint.1.AssociatedDevice.1.TxBytes").is_ok());
        assert!(Path::parse("Device.WiFi.AccessPoint.1.AssociatedDevice.1.TxBytes").is_err());
        assert!(Path::parse("WiFi.AccessPoint.1.AssociatedDevice.1.Stats.").is_err());
        assert!(
            Path::parse("Device.WiFi.AccessPoint.1.AssociatedDevice.1.Stats.BytesSent").is_ok()
        );
        assert!(matches!(what("WiFi.AccessPoint.1.SSID"), What::Own(_)));
    }

    #[test]
    fn a_wrong_path_is_reported_with_its_place_and_what_would_be_right() {
        let said = |text: &str| Path::parse(text).unwrap_err().to_string();
        assert_eq!(
            said("WiFi.AccessPoint.x.SSID"),
            "`WiFi.AccessPoint.x.SSID` is not a path: at character 18, instead of `x.SSID`, a number, `*` \
             or `[MACAddress==\"02:00:00:00:00:01\"]`, and a dot would be right"
        );
        assert_eq!(
            said("WiFi.AccessPoint.1.AssociatedDevice.3.TxByte"),
            "`WiFi.AccessPoint.1.AssociatedDevice.3.TxByte` is not a path: at character 39, instead of \
             `TxByte`, a parameter, as `SignalStrength` or `TxBytes`, would be right"
        );
        assert_eq!(
            said(""),
            "`` is not a path: at character 1, instead of `the end`, `WiFi.` or `Device.WiFi.` would be right"
        );
        for text in [
            "WiFi",
            "Device.Wifi.",
            "WiFi.AccessPoint.1",
            "WiFi.AccessPoint.+1.",
            "WiFi..",
            "WiFi.AccessPoint.4294967296.",
            "WiFi.AccessPoint.1.AssociatedDevice.[",
            "WiFi.AccessPoint.1.AssociatedDevice.[MACAddress==\"02:00\"].",
            "WiFi.AccessPoint.1.Foo.",
        ] {
            assert!(Path::parse(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_panic(text: String) {
            let _ = Path::parse(&text);
        }

        #[test]
        fn any_text_after_a_right_beginning_is_read_without_panic(text: String) {
            let start = "Device.WiFi.AccessPoint.1.AssociatedDevice.";
            if let Err(error) = Path::parse(&format!("{start}{text}")) {
                prop_assert!(error.to_string().len() < 2048);
            }
        }
    }
}
