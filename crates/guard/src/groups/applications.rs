//! Which processes and groups each application of the policy is, and where it can be bounded.
//!
//! A rule leads to groups that the device has already (a service's, a unit's, a container's, a path), or to
//! processes without one. Processes that are in no group of their own are strays: `act` moves them into a
//! group of guard's when it first has to. What must never be bounded is refused here, by who is in it.
//!
//! A procd service's processes are strays, too: their group is below `services`, where a weight counts against
//! other services only, and procd ends what it started by process and not by group. systemd and the
//! runtimes of containers do it by group, so theirs stay where they are.

use std::path::{Path, PathBuf};

use linux::{
    cgroup::{self, Version},
    proc::comm_is,
};

use super::{
    Controller, Hierarchies, OWN, Refusal,
    processes::{Process, Processes},
    protected::Protected,
};
use crate::policy::{Policy, Rule};

/// Where an application is in the hierarchy of one controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub controller: Controller,
    pub version: Version,
    pub mount: PathBuf,
    /// The application's groups, the group of guard's own among them once it is there.
    pub groups: Vec<PathBuf>,
    /// Its processes that are in none of them.
    pub strays: Vec<u32>,
    /// The group that guard makes for strays when it has to.
    pub own: PathBuf,
}

/// An application as this device has it now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Application {
    /// Its name in the policy.
    pub name: String,
    /// Its processes that may be bounded, ascending.
    pub pids: Vec<u32>,
    /// Where it is, for each controller that the device has.
    pub places: Vec<Place>,
    /// What a person should know: nothing found, real-time tasks left out, refused since.
    pub notes: Vec<String>,
}

impl Application {
    /// Where it is in the hierarchy of a controller; `None` where the device has none, or it is not there.
    pub fn place(&self, controller: Controller) -> Option<&Place> {
        self.places.iter().find(|place| place.controller == controller)
    }

    /// Its groups in the hierarchy of a controller, with the one that guard may have made since they were looked
    /// for.
    pub(crate) fn groups(&self, controller: Controller) -> Vec<PathBuf> {
        let Some(place) = self.place(controller) else { return Vec::new() };
        let mut groups = place.groups.clone();
        if !groups.contains(&place.own) {
            groups.extend(existing(place.own.clone()));
        }
        groups
    }

    /// Whether neither a process nor a group of it is there.
    pub fn is_absent(&self) -> bool {
        self.pids.is_empty() && self.places.iter().all(|place| place.groups.is_empty())
    }
}

#[derive(Clone, Debug)]
pub struct Applications {
    hierarchies: Hierarchies,
    rules: Vec<Rule>,
    daemons: Vec<String>,
    processes: Processes,
    list: Vec<Application>,
}

impl Applications {
    /// Finds them.
    /// Fails with [`Refusal`] where a rule would bound what must never be bounded.
    pub fn find(policy: &Policy, hierarchies: &Hierarchies) -> Result<Self, Refusal> {
        let mut applications = Self {
            hierarchies: hierarchies.clone(),
            rules: policy.applications.clone(),
            daemons: policy.protect.daemons.clone(),
            processes: Processes::of(hierarchies.proc("")),
            list: Vec::new(),
        };
        applications.processes.refresh();
        let found = applications.look();
        applications.list = found.into_iter().collect::<Result<_, _>>()?;
        Ok(applications)
    }

    /// The applications in the policy's order.
    pub fn list(&self) -> &[Application] {
        &self.list
    }

    pub fn hierarchies(&self) -> &Hierarchies {
        &self.hierarchies
    }

    /// Finds what has started and what has gone. An application that must be refused now is left out, with
    /// the reason in its notes.
    pub fn refresh(&mut self) {
        self.processes.refresh();
        let refused = |refusal: Refusal| Application {
            name: refusal.application.clone(),
            notes: vec![refusal.to_string()],
            ..Application::default()
        };
        self.list = self.look().into_iter().map(|one| one.unwrap_or_else(refused)).collect();
    }

    /// Names of the rules that match nothing here and now.
    pub fn unmatched(&self) -> Vec<&str> {
        let absent = self.list.iter().filter(|one| one.is_absent());
        absent.map(|one| one.name.as_str()).collect()
    }

    /// A process is the first application's that matches it.
    fn look(&mut self) -> Vec<Result<Application, Refusal>> {
        let protected = Protected::new(&self.daemons, &self.processes);
        let rules = std::mem::take(&mut self.rules);
        let mut taken: Vec<u32> = Vec::new();
        let mut list = Vec::new();
        for rule in &rules {
            let found = self.one(rule, &protected, &taken);
            taken.extend(found.iter().flat_map(|application| &application.pids));
            list.push(found);
        }
        self.rules = rules;
        list
    }

    fn one(
        &mut self,
        rule: &Rule,
        protected: &Protected,
        taken: &[u32],
    ) -> Result<Application, Refusal> {
        let refuse = |why| Refusal { application: rule.name.clone(), why };
        let groups = self.groups_of(rule).map_err(refuse)?;
        let mut pids = self.processes_of(rule);
        pids.extend(groups.iter().flat_map(|group| cgroup::members_below(group)));
        pids.sort_unstable();
        pids.dedup();
        pids.retain(|pid| !taken.contains(pid));
        let mut application = Application { name: rule.name.clone(), ..Application::default() };
        let mut realtime = Vec::new();
        for pid in pids {
            let Some(process) = self.processes.look_again(pid) else { continue };
            if let Some(why) = protected.why_not(pid, process) {
                return Err(refuse(format!("it would bound {why}; name it more narrowly")));
            }
            if process.realtime {
                realtime.push(pid);
            } else {
                application.pids.push(pid);
            }
        }
        if !realtime.is_empty() {
            application.notes.push(left_out(&realtime));
        }
        application.places = self.places(rule, &groups, &application.pids);
        if application.is_absent() {
            application.notes.push(format!("{} has no process and no group now", described(rule)));
        }
        Ok(application)
    }

    /// The groups that a rule names and that this device has, in any hierarchy.
    fn groups_of(&self, rule: &Rule) -> Result<Vec<PathBuf>, String> {
        let mut groups = Vec::new();
        for tree in self.hierarchies.trees() {
            if let Some(service) = &rule.service {
                groups.extend(existing(tree.folder(&format!("services/{service}"))));
            }
            if let Some(path) = &rule.group {
                groups.extend(existing(tree.folder(below_root(path)?)));
            }
            if let Some(unit) = &rule.unit {
                let unit = unit_name(unit);
                groups.extend(search(&tree.mount, &|name| name == unit));
            }
            if let Some(container) = &rule.container {
                groups.extend(search(&tree.mount, &|name| is_of_container(name, container)));
            }
        }
        Ok(groups)
    }

    fn processes_of(&self, rule: &Rule) -> Vec<u32> {
        if let Some(program) = &rule.process {
            return self.processes.matching(|process| runs(process, program));
        }
        let Some(user) = rule.user.as_deref().and_then(|user| self.user(user)) else {
            return Vec::new();
        };
        self.processes.matching(|process| process.user == Some(user) && !process.kernel)
    }

    fn user(&self, user: &str) -> Option<u32> {
        if let Ok(number) = user.parse() {
            return Some(number);
        }
        let text = std::fs::read_to_string(self.hierarchies.root().join("etc/passwd")).ok()?;
        let mut fields = text.lines().map(|line| line.split(':'));
        fields.find_map(|mut line| (line.next()? == user).then(|| line.nth(1)?.parse().ok())?)
    }

    /// Where the application can be bounded, by controller.
    fn places(&self, rule: &Rule, named: &[PathBuf], pids: &[u32]) -> Vec<Place> {
        let memberships: Vec<(u32, String)> = pids
            .iter()
            .map(|pid| (*pid, self.hierarchies.proc(&format!("{pid}/cgroup"))))
            .filter_map(|(pid, path)| {
                let text = linux::proc::whole(&path).ok()?;
                Some((pid, String::from_utf8_lossy(&text).into_owned()))
            })
            .collect();
        let place = |controller| {
            let tree = self.hierarchies.tree(controller)?;
            let own = tree.mount.join(format!("{OWN}{}", folder_name(&rule.name)));
            let named = if rule.service.is_some() { &[] } else { named };
            let mut groups = top(named.iter().filter(|group| group.starts_with(&tree.mount)));
            groups.extend(existing(own.clone()));
            let stray = |(pid, text): &(u32, String)| {
                let folder = tree.folder_of(text);
                let inside = folder.is_some_and(|at| groups.iter().any(|one| at.starts_with(one)));
                (!inside).then_some(*pid)
            };
            let strays = memberships.iter().filter_map(stray).collect();
            Some(Place {
                controller,
                version: tree.version,
                mount: tree.mount.clone(),
                groups,
                strays,
                own,
            })
        };
        Controller::ALL.into_iter().filter_map(place).collect()
    }
}

/// The groups that are below none of the others.
fn top<'a>(groups: impl Iterator<Item = &'a PathBuf> + Clone) -> Vec<PathBuf> {
    let above =
        |group: &&PathBuf| !groups.clone().any(|other| other != *group && group.starts_with(other));
    groups.clone().filter(above).cloned().collect()
}

fn existing(folder: PathBuf) -> Option<PathBuf> {
    folder.is_dir().then_some(folder)
}

/// A group's path below the root, which is not the root itself.
fn below_root(path: &str) -> Result<&str, String> {
    let inner = path.trim_matches('/');
    if inner.is_empty() {
        return Err("the root group holds the whole device; name a group below it".to_owned());
    }
    if inner.split('/').any(|part| matches!(part, "" | "." | "..")) {
        return Err(format!("`{path}` is not a path below the root of the groups"));
    }
    Ok(inner)
}

/// `backup` is `backup.service`, as systemctl reads it.
fn unit_name(unit: &str) -> String {
    let whole = [".service", ".scope", ".slice"].iter().any(|kind| unit.ends_with(kind));
    if whole { unit.to_owned() } else { format!("{unit}.service") }
}

/// What the runtimes of containers put before an id or a name.
const RUNTIMES: [&str; 6] =
    ["docker-", "libpod-", "crio-", "cri-containerd-", "lxc.payload.", "machine-"];

/// This many digits of an id are enough to mean one container.
const LEAST_ID: usize = 6;

/// Whether a group's name is that of a container: `ID`, `docker-ID.scope`, `libpod-ID`, `lxc.payload.NAME`. Of an
/// id the beginning is enough; a name has to be whole.
fn is_of_container(group: &str, container: &str) -> bool {
    let stem = group.strip_suffix(".scope").unwrap_or(group);
    let own = RUNTIMES.iter().find_map(|runtime| stem.strip_prefix(runtime)).unwrap_or(stem);
    let is_id =
        container.len() >= LEAST_ID && container.bytes().all(|byte| byte.is_ascii_hexdigit());
    own == container || (is_id && own.starts_with(container))
}

/// The groups below `folder`, at any depth, whose names fit; not those below such a one.
fn search(folder: &Path, fits: &dyn Fn(&str) -> bool) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for group in cgroup::below(folder) {
        let name = group.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if fits(&name) {
            found.push(group);
        } else if !name.starts_with(OWN) {
            found.extend(search(&group, fits));
        }
    }
    found
}

/// Whether a process runs a program, named by its file or by its name.
fn runs(process: &Process, program: &str) -> bool {
    match program.starts_with('/') {
        true => process.exe.as_deref() == Some(Path::new(program)),
        false => comm_is(&process.comm, program),
    }
}

/// The name of a group of guard's own, which the kernel takes whatever the application is called. Two
/// applications never share one.
fn folder_name(application: &str) -> String {
    let mut name = String::new();
    for byte in application.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_".contains(&byte) {
            name.push(char::from(byte));
        } else {
            name += &format!("%{byte:02x}");
        }
    }
    name
}

/// How a rule finds its application, for people.
fn described(rule: &Rule) -> String {
    let ways = [
        ("service", &rule.service),
        ("unit", &rule.unit),
        ("group", &rule.group),
        ("process", &rule.process),
        ("user", &rule.user),
        ("container", &rule.container),
    ];
    let way = ways.into_iter().find_map(|(way, value)| Some((way, value.as_deref()?)));
    way.map_or_else(|| "a rule without a way".to_owned(), |(way, value)| format!("{way} {value}"))
}

fn left_out(realtime: &[u32]) -> String {
    let pids: Vec<String> = realtime.iter().map(u32::to_string).collect();
    format!("real-time, so neither moved nor bounded by itself: pid {}", pids.join(", "))
}
