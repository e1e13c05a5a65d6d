//! The rules of a policy that its types cannot say.
//!
//! Refuses by name what must never be bounded; `groups` refuses the rest, by the processes that it finds.

use super::{Policy, Rule, Target};
use crate::groups::PROTECTED;

/// Programs of ours that are never bounded; [`PROTECTED`] has the others.
const OURS: [&str; 3] = ["guard", "headroom", "headroom-agent"];
/// An interface's name has fewer bytes than this (`IFNAMSIZ`).
const INTERFACE_NAME: usize = 16;
/// No floor above this many CPUs: somebody left out a `%`.
const MOST_CPUS: f64 = 64.0;

/// Each is looked for among all processes, several times a second.
const MOST_APPLICATIONS: usize = 256;

#[derive(Debug)]
pub(super) struct Wrong {
    pub(super) place: Place,
    pub(super) why: String,
}

/// Where it stands.
#[derive(Debug)]
pub(super) enum Place {
    /// Under these keys.
    Key(&'static [&'static str]),
    /// In an application, by its name.
    Application { name: String, key: &'static str },
}

pub(super) fn check(policy: &Policy) -> Result<(), Wrong> {
    knob(policy)?;
    protected(policy)?;
    if policy.applications.len() > MOST_APPLICATIONS {
        let count = policy.applications.len();
        return fault(
            &["application"],
            format!("{count} applications; at most {MOST_APPLICATIONS}"),
        );
    }
    for (at, rule) in policy.applications.iter().enumerate() {
        application(policy, rule)?;
        unlike_others(&policy.applications[..at], rule)?;
    }
    Ok(())
}

fn fault<T>(path: &'static [&'static str], why: String) -> Result<T, Wrong> {
    Err(Wrong { place: Place::Key(path), why })
}

fn knob(policy: &Policy) -> Result<(), Wrong> {
    if policy.aggressiveness > 100 {
        let why = format!("aggressiveness {} is above 100; write 0 to 100", policy.aggressiveness);
        return fault(&["aggressiveness"], why);
    }
    if let Some(Target::Part(share)) = policy.protect.target
        && !(share.get() > 0.0 && share.get() <= 1.0)
    {
        let why = format!("a target of {share} of what Wi-Fi asks for; write 1% to 100%");
        return fault(&["protect", "target"], why);
    }
    if policy.application_floor.is_some_and(|floor| floor.get() > MOST_CPUS) {
        return fault(&["application-floor"], too_many_cpus());
    }
    Ok(())
}

fn too_many_cpus() -> String {
    format!("a floor of more than {MOST_CPUS} CPUs; write for instance 20%, of one CPU")
}

fn protected(policy: &Policy) -> Result<(), Wrong> {
    for name in &policy.protect.interfaces {
        let stem = name.strip_suffix('*').unwrap_or(name);
        let is_name = !name.is_empty()
            && name.len() < INTERFACE_NAME
            && !stem.contains(|c: char| c == '*' || c == '/' || c.is_whitespace());
        if !is_name {
            let why = format!("`{name}` is not an interface; write wlan0, or wlan* for all such");
            return fault(&["protect", "interfaces"], why);
        }
    }
    for name in &policy.protect.daemons {
        if name.trim().is_empty() || name.contains('/') {
            let why =
                format!("`{name}` is not the name of a process; write it as /proc/PID/comm has it");
            return fault(&["protect", "daemons"], why);
        }
    }
    Ok(())
}

impl Rule {
    /// The ways to find it that are given: key and value.
    fn ways(&self) -> Vec<(&'static str, &str)> {
        let all = [
            ("service", &self.service),
            ("unit", &self.unit),
            ("group", &self.group),
            ("process", &self.process),
            ("user", &self.user),
            ("container", &self.container),
        ];
        all.into_iter().filter_map(|(key, value)| Some((key, value.as_deref()?))).collect()
    }

    fn wrong<T>(&self, key: &'static str, why: impl AsRef<str>) -> Result<T, Wrong> {
        let place = Place::Application { name: self.name.clone(), key };
        Err(Wrong { place, why: format!("application `{}`: {}", self.name, why.as_ref()) })
    }
}

fn application(policy: &Policy, rule: &Rule) -> Result<(), Wrong> {
    name(rule)?;
    let ways = rule.ways();
    let (key, value) = match ways[..] {
        [way] => way,
        [] => {
            return rule.wrong(
                "name",
                "nothing says how to find it; give one of service, unit, group, process, user, container",
            );
        }
        [(first, _), (second, _), ..] => {
            return rule
                .wrong(second, format!("found by {first} and by {second}; keep one of them"));
        }
    };
    if value.trim().is_empty() {
        return rule
            .wrong(key, format!("{key} is empty; write what to look for, or leave the rule out"));
    }
    if key == "group" {
        group(rule, value)?;
    } else if key != "process" && value.contains('/') {
        return rule.wrong(key, format!("`{value}` is no {key}: there is a `/` in it"));
    }
    if key == "user" && ["root", "0"].contains(&value) {
        return rule
            .wrong(key, "root runs what keeps the device alive; name its applications one by one");
    }
    if let Some(name) = spared(policy, key, value) {
        return rule.wrong(key, format!("{name} is never bounded; leave it out"));
    }
    if rule.floor.is_some_and(|floor| floor.get() > MOST_CPUS) {
        return rule.wrong("floor", too_many_cpus());
    }
    Ok(())
}

/// Names of applications become names of groups and labels of metrics.
fn name(rule: &Rule) -> Result<(), Wrong> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    if rule.name.is_empty() {
        return rule.wrong("name", "it has no name; write name = \"backup\"");
    }
    if !rule.name.chars().all(is_plain) || rule.name.starts_with('.') || rule.name.len() > 64 {
        return rule
            .wrong("name", "a name has letters, digits, `.`, `_` and `-`, 64 of them at most");
    }
    if rule.name == "wifi" {
        return rule.wrong("name", "that is what guard calls Wi-Fi's own work; take another name");
    }
    Ok(())
}

fn group(rule: &Rule, path: &str) -> Result<(), Wrong> {
    let Some(below) = path.strip_prefix('/') else {
        return rule.wrong("group", format!("`{path}` does not begin with `/`; write /{path}"));
    };
    if below.trim_matches('/').is_empty() {
        return rule.wrong("group", "`/` is the whole device; name a group below it");
    }
    if below.trim_end_matches('/').split('/').any(|part| ["", ".", ".."].contains(&part)) {
        return rule
            .wrong("group", format!("`{path}` goes up or has an empty part; write it in full"));
    }
    Ok(())
}

/// The program that is never bounded and that this would find.
fn spared(policy: &Policy, key: &str, value: &str) -> Option<String> {
    let is_spared = |name: &str| {
        PROTECTED.contains(&name)
            || OURS.contains(&name)
            || policy.protect.daemons.iter().any(|daemon| daemon == name)
    };
    let plain = |part: &str| {
        let part = part.strip_suffix(".service").or_else(|| part.strip_suffix(".scope"));
        part.map(str::to_owned)
    };
    let names: Vec<&str> = match key {
        "process" => value.rsplit('/').take(1).collect(),
        "group" => value.split('/').collect(),
        "service" | "unit" => vec![value],
        _ => Vec::new(),
    };
    names
        .into_iter()
        .map(|part| plain(part).unwrap_or(part.to_owned()))
        .find(|name| is_spared(name))
}

fn unlike_others(before: &[Rule], rule: &Rule) -> Result<(), Wrong> {
    if before.iter().any(|other| other.name == rule.name) {
        return rule.wrong("name", "there are two of this name; give one another name");
    }
    let same = before.iter().find(|other| other.ways() == rule.ways());
    match (same, rule.ways().first()) {
        (Some(other), Some((key, _))) => {
            rule.wrong(key, format!("found as `{}` is; keep one of the two", other.name))
        }
        _ => Ok(()),
    }
}
