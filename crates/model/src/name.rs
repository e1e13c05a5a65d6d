//! Names from outside that become parts of paths, each parsed where its bytes come in.
//!
//! A device, a run folder and a study file say what files are called. Only these types may name one: a value of
//! such a type is a single plain name (or, for [`RelativePath`], plain names with slashes), whatever was sent.
//! They know nothing of folders; `linux::folder` opens what they name.

use std::{borrow::Borrow, fmt, ops::Deref, str::FromStr};

use crate::span::as_text;

/// The longest name of a variant, bytes: it is a part of names of files.
const LONGEST_VARIANT: usize = 128;

/// A text that is no such name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is no {what}: use {rule}", shown(text))]
pub struct Wrong {
    what: &'static str,
    rule: &'static str,
    text: String,
}

/// The text, as far as a line has room for it, without what a terminal would obey.
fn shown(text: &str) -> String {
    const LONGEST: usize = 80;
    let shown: String = text.chars().take(LONGEST).flat_map(char::escape_debug).collect();
    if text.chars().count() > LONGEST { shown + "…" } else { shown }
}

/// A name type: its docs, its name, what it is in messages, the rule in words, and the rule.
macro_rules! name {
    ($(#[$doc:meta])* $name:ident, $what:literal, $rule:literal, $holds:expr) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(String);

        as_text!($name);

        impl $name {
            /// A name that stands in the source.
            ///
            /// # Panics
            ///
            /// Where the literal is no such name.
            pub fn literal(text: &str) -> Self {
                text.parse().unwrap_or_else(|wrong| panic!("{wrong}"))
            }

            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = Wrong;

            fn from_str(text: &str) -> Result<Self, Wrong> {
                let (holds, text): (fn(&str) -> bool, _) = ($holds, text.to_owned());
                if holds(&text) { Ok(Self(text)) } else { Err(Wrong { what: $what, rule: $rule, text }) }
            }
        }

        impl Deref for $name {
            type Target = str;

            fn deref(&self) -> &str {
                &self.0
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl AsRef<std::path::Path> for $name {
            fn as_ref(&self) -> &std::path::Path {
                self.0.as_ref()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }

        impl<T: AsRef<str> + ?Sized> PartialEq<T> for $name {
            fn eq(&self, other: &T) -> bool {
                self.0 == other.as_ref()
            }
        }

        impl PartialEq<$name> for String {
            fn eq(&self, other: &$name) -> bool {
                *self == other.0
            }
        }
    };
}

name! {
    /// A SHA-256 as text: 64 hexadecimal digits, small letters.
    Sha256Hex, "SHA-256", "64 digits of 0-9 and a-f", |text| text.len() == 64 && is_hexadecimal(text)
}

name! {
    /// What a kernel's symbols are known by: a SHA-256 of the kernel, where it lies, and its modules.
    BootId, "name of a kernel", "64 digits of 0-9 and a-f", |text| text.len() == 64 && is_hexadecimal(text)
}

impl Sha256Hex {
    pub fn of(digest: &[u8; 32]) -> Self {
        let digits = digest.iter().flat_map(|byte| [byte >> 4, byte & 0xf]);
        Self(digits.filter_map(|digit| char::from_digit(digit.into(), 16)).collect())
    }
}

impl VariantName {
    /// The name of a variant of this one: what a name cannot hold is a hyphen, and what is too long is cut.
    pub fn with(&self, ending: &str) -> Self {
        let letters = ending.to_lowercase().chars().map(plain).collect::<String>();
        let mut name = format!("{}{letters}", self.0);
        name.truncate(LONGEST_VARIANT);
        Self(name)
    }
}

fn plain(letter: char) -> char {
    if letter.is_ascii() && is_of_a_variant(letter as u8) { letter } else { '-' }
}

impl From<Sha256Hex> for BootId {
    fn from(digest: Sha256Hex) -> Self {
        Self(digest.0)
    }
}

name! {
    /// A variant's name. It names files, curves and lines of output.
    VariantName, "name of a variant", "1 to 128 of a-z, 0-9, - and ., not beginning with a dot or a hyphen",
    |text| text.len() <= LONGEST_VARIANT && is_plain(text) && text.bytes().all(is_of_a_variant)
}

name! {
    /// A cell's name. It names files and lines of output.
    CellName, "name of a cell", "1 to 128 of a-z, 0-9, -, + and ., not beginning with a dot or a hyphen",
    |text| text.len() <= LONGEST_VARIANT && is_plain(text)
        && text.bytes().all(|byte| is_of_a_variant(byte) || byte == b'+')
}

impl CellName {
    /// The name nearest to a text.
    pub fn of(text: &str) -> Self {
        let letter = |letter| if letter == '+' { letter } else { plain(letter) };
        let mut name: String = text.to_lowercase().chars().map(letter).collect();
        name.truncate(LONGEST_VARIANT);
        Self(name.trim_start_matches(['.', '-']).to_owned())
    }
}

name! {
    /// Plain names with slashes between them: a path that leads nowhere but down.
    RelativePath, "path below a folder", "names with / between them, none beginning with a dot",
    |text| text.len() <= 1024 && text.split('/').all(is_plain)
}

name! {
    /// A Debian package (Debian Policy, section 5.6.1): one that apt reads as nothing but a name, as it would an
    /// option, a pattern, a path or a list.
    PackageName, "name of a Debian package", "2 to 128 of a-z, 0-9, +, - and ., beginning with a letter or digit",
    |text| (2..=128).contains(&text.len())
        && text.starts_with(|first: char| first.is_ascii_lowercase() || first.is_ascii_digit())
        // A name that ends so would tell apt to remove, or to install, the package before it.
        && !text.ends_with('-')
        && text.bytes().all(|byte| is_of_a_variant(byte) || byte == b'+')
}

fn is_hexadecimal(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

fn is_of_a_variant(byte: u8) -> bool {
    matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.')
}

/// One name that is not hidden, no option and no path.
fn is_plain(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= 255
        && !text.starts_with(['.', '-'])
        && !text.contains('/')
        && !text.chars().any(char::is_control)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_leads_elsewhere_is_no_name() {
        let sha = "0".repeat(64);
        assert!(sha.parse::<Sha256Hex>().is_ok());
        for wrong in ["", "..", "/", "/etc/x", "../x", "a/../b", ".a", "a\0b", "a\nb", "\u{1b}[31m"]
        {
            assert!(wrong.parse::<VariantName>().is_err(), "{wrong:?}");
            assert!(wrong.parse::<Sha256Hex>().is_err(), "{wrong:?}");
            assert!(wrong.parse::<BootId>().is_err(), "{wrong:?}");
            assert!(wrong.parse::<RelativePath>().is_err(), "{wrong:?}");
        }
        for wrong in ["A".repeat(64), "0".repeat(63), "0".repeat(65), "g".repeat(64)] {
            assert!(wrong.parse::<Sha256Hex>().is_err(), "{wrong}");
        }
        assert!("a/b/stationd".parse::<RelativePath>().is_ok());
        assert!("a//b".parse::<RelativePath>().is_err());
        assert!("trace-gate.2".parse::<VariantName>().is_ok());
        assert!("-rf".parse::<VariantName>().is_err());
    }

    #[test]
    fn a_package_is_named_and_nothing_else_is_asked_of_apt() {
        for right in ["lldpd", "g++", "libstdc++6", "prometheus-node-exporter", "linux-image-6.1"] {
            assert!(right.parse::<PackageName>().is_ok(), "{right}");
        }
        let wrong =
            "|a|-oX=y|./x.deb|/x.deb|?essential|~n|a,b|a b|a=1|a/sid|a:i386|Lldpd|lldpd-|a\n|*";
        for wrong in wrong.split('|') {
            assert!(wrong.parse::<PackageName>().is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn a_wrong_name_is_shown_without_what_a_terminal_obeys() {
        let wrong = "\u{1b}]0;title\u{7}".parse::<VariantName>().unwrap_err().to_string();
        assert!(wrong.starts_with("`\\u{1b}]0;title\\u{7}` is no name of a variant: use 1 to 128"));
        let long = "x/".repeat(4000).parse::<Sha256Hex>().unwrap_err().to_string();
        assert!(long.len() < 200, "{long}");
    }

    #[test]
    fn a_name_is_parsed_where_bytes_come_in() {
        assert!(serde_json::from_str::<VariantName>("\"../../x\"").is_err());
        assert!(postcard::from_bytes::<BootId>(&postcard::to_stdvec("/../..").unwrap()).is_err());
    }

    #[test]
    fn a_name_from_a_device_may_end_one() {
        let found = VariantName::literal("found");
        assert_eq!(found.with(".Station_Monitor"), "found.station-monitor");
        assert_eq!(found.with("./../é"), "found.-..--");
        assert_eq!(found.with(&"x".repeat(999)).len(), LONGEST_VARIANT);
    }

    proptest! {
        #[test]
        fn every_name_is_one_part_of_a_path(text: String) {
            let made = VariantName::literal("a").with(&text);
            prop_assert_eq!(made.parse::<VariantName>(), Ok(made));
            let parts = |path: &std::path::Path| path.components().count();
            if let Ok(name) = text.parse::<VariantName>() {
                prop_assert_eq!(parts(name.as_ref()), 1);
            }
            if let Ok(path) = text.parse::<RelativePath>() {
                let path: &std::path::Path = path.as_ref();
                prop_assert!(path.components().all(|part| matches!(part, std::path::Component::Normal(_))));
            }
        }
    }
}
