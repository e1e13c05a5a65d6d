//! Text from outside, made inert for where it is written.
//!
//! Names of processes and functions, questions and answers of devices can hold anything: escape sequences that move a
//! terminal's cursor or set its title, marks that turn the order of letters round. They are shown as what they are,
//! by their numbers. Which text is whose is not asked: anyone who writes to a terminal sends everything through here.
//! Markdown, XML and HTML have their own rules, in `report`.

use std::borrow::Cow;

/// Whether a letter does something where it is shown: the controls of ASCII and of Latin-1 (with ESC, BEL, DEL and
/// CSI), separators of lines that are none in a file, and the marks of Unicode's bidirectional algorithm (UAX #9).
/// A line's end and a tab are among them.
pub const fn acts(letter: char) -> bool {
    matches!(
        letter,
        '\u{0}'..='\u{1f}'
            | '\u{7f}'..='\u{9f}'
            | '\u{61c}'
            | '\u{200e}'
            | '\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}'
    )
}

/// Text of several lines for a terminal. Ends of lines and tabs stay.
pub fn lines(text: &str) -> Cow<'_, str> {
    shown(text, |letter| acts(letter) && !matches!(letter, '\n' | '\t'), escaped)
}

/// One line for a terminal: an end of a line within it is shown, too.
pub fn line(text: &str) -> Cow<'_, str> {
    shown(text, acts, escaped)
}

/// A JSON text for a terminal. What acts can only stand within its strings, where JSON has numbers for it.
pub fn json(text: &str) -> Cow<'_, str> {
    let escaped = |letter| format!("\\u{:04x}", u32::from(letter));
    // serde_json has written those below the space as numbers already, and pretty text has line ends.
    shown(text, |letter| acts(letter) && letter > ' ', escaped)
}

fn escaped(letter: char) -> String {
    letter.escape_unicode().to_string()
}

fn shown(
    text: &str,
    acts: impl Fn(char) -> bool,
    escaped: impl Fn(char) -> String,
) -> Cow<'_, str> {
    if !text.contains(&acts) {
        return Cow::Borrowed(text);
    }
    let each = |letter| if acts(letter) { escaped(letter) } else { letter.into() };
    Cow::Owned(text.chars().map(each).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_acts_is_shown_by_its_number() {
        assert_eq!(lines("a\u{1b}]0;x\u{7}b\n\tc"), "a\\u{1b}]0;x\\u{7}b\n\tc");
        assert_eq!(lines("\u{9b}1\u{202e}\u{2066}\r"), "\\u{9b}1\\u{202e}\\u{2066}\\u{d}");
        assert_eq!(line("one\nheadroom: two"), "one\\u{a}headroom: two");
        let plain = "µs – 5 %, `x`, “ ”; 漢字\n";
        assert!(matches!(lines(plain), Cow::Borrowed(same) if same == plain));
    }

    #[test]
    fn json_stays_json() {
        let value = serde_json::json!({ "name": "a\u{1b}\u{9b}\u{202e}\nb" });
        let text = value.to_string();
        let shown = json(&text);
        assert!(!shown.contains(acts), "{shown}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), value);
    }

    proptest::proptest! {
        #[test]
        fn nothing_that_acts_is_left(text: String) {
            assert!(!line(&text).contains(acts));
            assert!(!lines(&text).contains(|letter| acts(letter) && !matches!(letter, '\n' | '\t')));
        }
    }
}
