//! Which kind of study a text is, by the table that no other kind has; and keys that stand in a study of another kind.

use model::{experiment::Kind, nearest};
use toml::de::DeTable;

use super::{Fault, line_at};

/// The kind of a study's text, whole or broken.
///
/// # Errors
///
/// The [`Fault`] of a text that has the table of no kind, or of two.
pub fn of(text: &str) -> Result<Kind, Fault> {
    let (document, _) = DeTable::parse_recoverable(text);
    let document = document.get_ref();
    let line_of = |key: &str| {
        document.get_key_value(key).map_or(1, |(key, _)| line_at(text, key.span().start))
    };
    let found: Vec<Kind> =
        Kind::ALL.into_iter().filter(|kind| document.contains_key(kind.table())).collect();
    match found.as_slice() {
        [kind] => Ok(*kind),
        [one, other, ..] => Err(Fault {
            line: line_of(one.table()).max(line_of(other.table())),
            why: format!(
                "both [{}] and [{}]; a study is of one kind: keep one of them",
                one.table(),
                other.table()
            ),
        }),
        [] => Err(unknown(document.keys().map(|key| key.get_ref().as_ref()), line_of)),
    }
}

fn unknown<'a>(keys: impl Iterator<Item = &'a str>, line_of: impl Fn(&str) -> usize) -> Fault {
    let tables = Kind::ALL.map(Kind::table);
    let meant = keys.filter_map(|key| Some((key, nearest::nearest(key, &tables)?))).next();
    match meant {
        Some((key, table)) => Fault {
            line: line_of(key),
            why: format!("unknown key `{key}`; did you mean `{table}`?"),
        },
        None => Fault {
            line: 1,
            why: "no [access-point], [contention] or [completion]: one of them says what kind of study it is"
                .to_owned(),
        },
    }
}

/// The kind whose studies have a key at their top that studies of this kind do not have.
pub(super) fn of_other(key: &str, own: Kind) -> Option<Kind> {
    let mut others = Kind::ALL.into_iter().filter(|kind| *kind != own && !keys(own).contains(&key));
    others.find(|kind| keys(*kind).contains(&key))
}

/// The keys at the top of a study that not all kinds have.
const fn keys(kind: Kind) -> &'static [&'static str] {
    match kind {
        Kind::Clients => &[
            "access-point",
            "subject",
            "load",
            "trial",
            "profile",
            "count",
            "pause",
            "parity",
            "witness",
            "compare",
            "gates",
            "variant",
        ],
        Kind::Contention => {
            &["contention", "caches", "place", "traffic", "application", "control", "cell", "gates"]
        }
        Kind::Completion => &["completion", "place", "load", "gates"],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_study_is_known_by_its_table() {
        assert_eq!(of("[access-point]\n"), Ok(Kind::Clients));
        assert_eq!(of("question = 7\n[contention]\nwindow ="), Ok(Kind::Contention));
        assert_eq!(of("[completion]\n[[load]]\n"), Ok(Kind::Completion));
    }

    #[test]
    fn a_kind_that_does_not_exist_is_reported_with_the_nearest_one() {
        let message = |text: &str| of(text).unwrap_err();
        let fault = message("question = \"?\"\n[contenton]\n");
        assert_eq!(
            (fault.line, &*fault.why),
            (2, "unknown key `contenton`; did you mean `contention`?")
        );
        assert!(message("question = \"?\"\n").why.contains("says what kind of study it is"));
        let both = message("[access-point]\n\n[contention]\n");
        assert_eq!(both.line, 3);
        assert!(both.why.starts_with("both [access-point] and [contention]"), "{}", both.why);
    }

    #[test]
    fn a_key_of_another_kind_is_known() {
        assert_eq!(of_other("cell", Kind::Clients), Some(Kind::Contention));
        assert_eq!(of_other("subject", Kind::Completion), Some(Kind::Clients));
        assert_eq!(of_other("load", Kind::Clients), None);
        assert_eq!(of_other("nothing", Kind::Clients), None);
    }
}
