//! The broker of ubus: whether it is there, lets this user add objects, and has our names free.

use std::{
    io::{self, ErrorKind},
    path::Path,
};

use super::{Finding, State};
use crate::{
    points::Points,
    ubus::probe::{self, Answer},
};

const ABOUT: &str = "ubus";

/// Which broker is asked, and about what.
pub(super) struct Asked<'a> {
    pub(super) path: &'a Path,
    /// What the names of the field's objects begin with.
    pub(super) prefix: &'a str,
    /// Whether a stationd runs, which has the names.
    pub(super) is_running: bool,
}

pub(super) fn look(asked: &Asked<'_>, points: &Points) -> Finding {
    let answer = probe::ask(asked.path, asked.prefix, points);
    judge(asked, answer, rustix::process::geteuid().is_root())
}

fn judge(asked: &Asked<'_>, answer: io::Result<Answer>, is_root: bool) -> Finding {
    let shown = asked.path.display();
    let answer = match answer {
        Ok(answer) => answer,
        Err(error) => return unanswered(&shown.to_string(), &error),
    };
    if answer.takes_objects == Some(false) {
        let what = format!("the broker at {shown} takes no objects from this user");
        let how = "install /usr/share/acl.d/stationd.json for the user, and let ubusd read it (kill -HUP)";
        return Finding::new(State::Missing, ABOUT, what).remedy(how);
    }
    let names = answer.taken.join(", ");
    if !answer.taken.is_empty() && !asked.is_running {
        let what = format!("at {shown} somebody has {names}");
        let how = match asked.prefix {
            "" => "end who has them, or set ubus-names=own",
            _ => "end the other stationd",
        };
        return Finding::new(State::Missing, ABOUT, what).remedy(how);
    }
    let rights = match answer.takes_objects {
        Some(_) => "takes our objects",
        None if is_root => "takes objects from root",
        None => "answers; whether this user may have the field's names shows when stationd begins",
    };
    let names = match (names.as_str(), asked.prefix) {
        ("", _) => "all names are free".to_owned(),
        (names, "") => format!("the running stationd, or others, have {names}"),
        (names, _) => format!("the running stationd has {names}"),
    };
    Finding::new(State::Works, ABOUT, format!("the broker at {shown} {rights}; {names}"))
}

fn unanswered(shown: &str, error: &io::Error) -> Finding {
    let finding = |state, what| Finding::new(state, ABOUT, what);
    match error.kind() {
        ErrorKind::NotFound | ErrorKind::ConnectionRefused => {
            let what = format!("no broker is at {shown}; stationd looks for it every 5 s");
            finding(State::Absent, what).remedy("start ubusd, or set ubus to its socket or off")
        }
        ErrorKind::PermissionDenied => {
            let what = format!("the broker at {shown} may not be asked by this user");
            finding(State::Missing, what)
                .remedy("let the user write to the socket, or set ubus=off")
        }
        _ => {
            let what = format!("what is at {shown} does not answer as a broker: {error}");
            finding(State::Missing, what).remedy("set ubus to the socket of ubusd")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_answer_of_a_broker_has_its_line() {
        let line = |prefix, is_running, answer| {
            let asked = Asked { path: Path::new("/b"), prefix, is_running };
            let Finding { state, what, remedy, .. } = judge(&asked, answer, false);
            format!(
                "{state:?}: {what}{}",
                remedy.map(|how| format!(" → {how}")).unwrap_or_default()
            )
        };
        let answer = |taken: &[&str], takes_objects| {
            Ok(Answer {
                taken: taken.iter().map(|name| (*name).to_owned()).collect(),
                takes_objects,
            })
        };
        let lines = [
            line("stationd.", false, answer(&[], Some(true))),
            line("stationd.", true, answer(&["stationd"], Some(true))),
            line("stationd.", false, answer(&["stationd"], Some(true))),
            line("stationd.", false, answer(&[], Some(false))),
            line("", false, answer(&[], None)),
            line("", true, answer(&["iwinfo"], None)),
            line("", false, answer(&["iwinfo", "usteer"], None)),
            line("", false, Err(ErrorKind::NotFound.into())),
            line("", false, Err(ErrorKind::PermissionDenied.into())),
            line("", false, Err(ErrorKind::TimedOut.into())),
        ];
        insta::assert_snapshot!(lines.join("\n"), @"
        Works: the broker at /b takes our objects; all names are free
        Works: the broker at /b takes our objects; the running stationd has stationd
        Missing: at /b somebody has stationd → end the other stationd
        Missing: the broker at /b takes no objects from this user → install /usr/share/acl.d/stationd.json for the user, and let ubusd read it (kill -HUP)
        Works: the broker at /b answers; whether this user may have the field's names shows when stationd begins; all names are free
        Works: the broker at /b answers; whether this user may have the field's names shows when stationd begins; the running stationd, or others, have iwinfo
        Missing: at /b somebody has iwinfo, usteer → end who has them, or set ubus-names=own
        Absent: no broker is at /b; stationd looks for it every 5 s → start ubusd, or set ubus to its socket or off
        Missing: the broker at /b may not be asked by this user → let the user write to the socket, or set ubus=off
        Missing: what is at /b does not answer as a broker: timed out → set ubus to the socket of ubusd
        ");
    }
}
