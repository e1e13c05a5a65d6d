//! `headroom doctor`: what can be measured here, what cannot, and how to repair it.
//!
//! The host is looked at, then an access point is raised, or a device is reached, and asked. A finding is a value; printing
//! it comes last.

mod device;

use std::fs;

use lab::{
    Lab, cache_model, host, image,
    vm::{self, Accelerator, Platform, Shape, snapshot},
};
use model::{
    architecture::Architecture,
    facts::{Cgroup, Facts},
    inert,
    plural::count,
    study::Mode,
};
use serde::Serialize;
use serde_json::json;

use crate::{
    failure::{Failure, Verdict},
    flags::{self, On},
    options::Options,
    output,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum State {
    Works,
    /// It is not there, and nothing in headroom needs it today.
    Absent,
    /// It is not there, and something is impossible without it.
    Missing,
}

#[derive(Clone, Debug, Serialize)]
struct Finding {
    about: &'static str,
    state: State,
    what: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    remedy: Option<String>,
}

impl Finding {
    fn new(about: &'static str, state: State, what: impl Into<String>) -> Self {
        Self { about, state, what: what.into(), remedy: None }
    }

    fn works(about: &'static str, what: impl Into<String>) -> Self {
        Self::new(about, State::Works, what)
    }

    fn absent(about: &'static str, what: impl Into<String>) -> Self {
        Self::new(about, State::Absent, what)
    }

    fn missing(about: &'static str, what: impl Into<String>) -> Self {
        Self::new(about, State::Missing, what)
    }

    fn remedy(mut self, how: impl Into<String>) -> Self {
        self.remedy = Some(how.into());
        self
    }
}

pub(crate) fn examine(options: &Options, flags: &flags::Doctor) -> Result<Verdict, Failure> {
    let host = match &flags.on {
        On::Vm => look_at_host(options),
        On::Device(named) => device::look_at_host(options, named),
    };
    let able = host.iter().all(|finding| finding.state != State::Missing);
    let looked = match (able && !flags.host, &flags.on) {
        (true, On::Vm) => look_at_access_point(options),
        (true, On::Device(named)) => device::look(options, named),
        (false, _) => Ok(Vec::new()),
    };
    let (access_point, failure) = match looked {
        Ok(findings) => (findings, None),
        // What was found before is reported all the same.
        Err(failure) => (Vec::new(), Some(failure)),
    };
    if options.json {
        let findings = json!({"host": host, "access_point": access_point});
        output::json_text(&format!("{findings:#}"));
    } else {
        print("This machine", &host);
        match &flags.on {
            On::Vm if access_point.is_empty() && !flags.host => {
                output::line("The virtual access point was not raised.");
            }
            _ if access_point.is_empty() => {}
            On::Vm => print("The virtual access point", &access_point),
            On::Device(named) => print(&format!("The device {named}"), &access_point),
        }
    }
    match failure {
        Some(failure) => Err(failure),
        None if able => Ok(Verdict::Pass),
        None => Err(Failure::Environment(
            "studies cannot run here until what is missing is installed or fixed".to_owned(),
        )),
    }
}

fn look_at_host(options: &Options) -> Vec<Finding> {
    let platform = Platform::of(options.arch.unwrap_or_default());
    let mut all = vec![
        program("virtual access point", platform.qemu, platform.package),
        program("QEMU ends with headroom", "setpriv", "util-linux"),
        program("making the image", "mmdebstrap", "mmdebstrap"),
        program("unpacking the image's kernel", "xz", "xz-utils"),
    ];
    if !rustix::process::geteuid().is_root() {
        all.push(program("making the image without root", "newuidmap", "uidmap"));
    }
    all.push(optional_program("studies on a loaded host", "stress-ng", "stress-ng"));
    all.push(optional_program("traffic on this machine", "iperf3", "iperf3"));
    all.push(cache_model(options));
    all.push(optional_program("devices over ssh", "ssh", "openssh-client"));
    all.push(device_programs(options));
    all.push(cores(options));
    all.push(memory());
    all.push(kvm());
    all.push(cache(options));
    all
}

fn program(about: &'static str, name: &str, package: &str) -> Finding {
    match host::find(name) {
        Some(path) => Finding::works(about, path.display().to_string()),
        None => Finding::missing(about, format!("{name} is not installed"))
            .remedy(format!("apt-get install {package}")),
    }
}

/// A program without which some studies cannot be carried out.
fn optional_program(about: &'static str, name: &str, package: &str) -> Finding {
    let found = program(about, name, package);
    match found.state {
        State::Missing => Finding { state: State::Absent, ..found },
        _ => found,
    }
}

/// It is compiled and run: whether it works depends on the QEMU that is to load it.
fn cache_model(options: &Options) -> Finding {
    let about = "the cache model";
    let compiler = optional_program(about, "cc", "gcc libc6-dev");
    if compiler.state == State::Absent {
        return compiler;
    }
    match cache_model::try_plugin(options.arch.unwrap_or_default()) {
        Ok(()) => Finding::works(about, "QEMU loads it"),
        Err(error) => {
            Finding::absent(about, format!("there is none, and no count from outside: {error}"))
                .remedy("counted mode does not need it; `headroom improve` does")
        }
    }
}

fn device_programs(options: &Options) -> Finding {
    let about = "agent and pid 1";
    let folders = options.device_folders();
    let found = folders.iter().find(|folder| folder.join("headroom-agent").is_file());
    match found.and_then(|folder| folder.canonicalize().ok()) {
        Some(folder) => Finding::works(about, folder.display().to_string()),
        None => Finding::missing(about, "the device's static programs are not next to headroom")
            .remedy(again(options.arch.unwrap_or_default())),
    }
}

/// How headroom's own programs come back, as this one came.
fn again(arch: Architecture) -> &'static str {
    let here = std::env::current_exe().unwrap_or_default();
    match (here.starts_with("/usr/bin"), arch) {
        (true, arch) if arch.is_own() => "apt-get install --reinstall headroom",
        (_, Architecture::X86_64) => "make build, or name their folder with --device",
        (_, Architecture::Arm64) => "make arm64, or name their folder with --device",
    }
}

fn cores(options: &Options) -> Finding {
    let (all, used) = (host::cores(), options.workers);
    let used = count(used, "trial");
    Finding::works("cores", format!("{all}; {used} at a time in counted mode"))
}

/// One guest with 114 clients needs about 1 GiB.
fn memory() -> Finding {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let free = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kib = free.and_then(|rest| rest.trim().trim_end_matches(" kB").parse::<u64>().ok());
    let about = "memory";
    match kib.map(|kib| kib >> 10) {
        Some(mib) if mib < 1500 => Finding::missing(about, format!("{mib} MiB available"))
            .remedy("a guest needs 1 GiB: end something, or use fewer --jobs"),
        Some(mib) => Finding::works(about, format!("{mib} MiB available")),
        None => Finding::absent(about, "the kernel does not say"),
    }
}

fn kvm() -> Finding {
    let about = "KVM";
    match fs::File::options().read(true).write(true).open("/dev/kvm") {
        Ok(_) => Finding::works(about, "/dev/kvm opens; a guest is tried on it before it is used"),
        Err(error) => {
            Finding::absent(about, format!("/dev/kvm: {error}; real-time mode is emulated"))
                .remedy("counted mode does not need it")
        }
    }
}

fn cache(options: &Options) -> Finding {
    let (about, folder) = ("cache", &options.cache);
    // A look leaves nothing: what was not there before goes again.
    let new: Vec<_> = folder.ancestors().take_while(|one| !one.exists()).collect();
    let made =
        fs::create_dir_all(folder).and_then(|()| rustix::fs::statvfs(folder).map_err(Into::into));
    // A folder that is there says nothing of whether it can be written to.
    let written = tempfile::tempfile_in(folder).map(drop);
    new.into_iter().for_each(|one| drop(fs::remove_dir(one)));
    match made {
        Ok(_) if written.is_err() => {
            let why = written.err().map(|error| error.to_string()).unwrap_or_default();
            let what = format!("{} cannot be written to: {why}", folder.display());
            Finding::absent(about, what)
                .remedy("what is in it is used; for what is not, --cache DIR that you may write to")
        }
        Ok(room) => {
            let free = room.f_bavail * room.f_frsize / 1_000_000;
            let what = format!("{}, {free} MB free", folder.display());
            if free < 1500 {
                return Finding::missing(about, what)
                    .remedy("1.5 GB for image and snapshots, or --cache DIR");
            }
            Finding::works(about, what)
        }
        Err(error) => {
            Finding::missing(about, format!("{}: {error}", folder.display())).remedy("--cache DIR")
        }
    }
}

fn look_at_access_point(options: &Options) -> Result<Vec<Finding>, Failure> {
    let lab: Lab = options.lab_apart_from_output()?;
    let image = image::obtain(&lab, &[])?;
    let shape = Shape::new(lab.settings.arch, Mode::Counted, 3, 18);
    let snapshot = snapshot::obtain(&lab, &image, &shape)?;
    let mut all = facts(&snapshot.born.facts);
    let associated: u32 = snapshot.born.census.interfaces.iter().filter_map(|one| one.kernel).sum();
    let interfaces = snapshot.born.facts.interfaces.join(", ");
    all.insert(0, Finding::works("clients", format!("{associated} associated on {interfaces}")));
    all.push(match vm::accelerator(&lab, &image, Mode::RealTime) {
        Accelerator::Kvm => Finding::works("real-time mode", "KVM; a guest ran on it"),
        Accelerator::Tcg => {
            Finding::works("real-time mode", "emulated, one thread a CPU; KVM ran no guest")
        }
    });
    Ok(all)
}

/// What an access point's facts mean for measuring.
fn facts(facts: &Facts) -> Vec<Finding> {
    let either = |about, there: bool, works: &str, absent: &str| {
        optional(about, there.then_some(works), absent)
    };
    let groups = match facts.cgroup {
        Cgroup::Absent => None,
        Cgroup::V1 => Some("control groups, version 1"),
        Cgroup::V2 => Some("control groups, version 2"),
        Cgroup::Hybrid => Some("control groups, both versions"),
    };
    let events = (!facts.pmu_events.is_empty()).then(|| facts.pmu_events.join(", "));
    let no_events = format!("no PMU: {} are absent", facts.pmu_absent.join(", "));
    let turbo = match facts.turbo {
        None => Finding::absent("turbo", "the kernel does not say"),
        Some(false) => Finding::works("turbo", "off"),
        Some(true) => Finding::works("turbo", "on: CPU time depends on heat and neighbours")
            .remedy("echo 1 > /sys/devices/system/cpu/intel_pstate/no_turbo, or its like"),
    };
    vec![
        Finding::works("kernel", format!("{} {}", facts.kernel, facts.machine)),
        Finding::works("CPU time in ticks", format!("{} a second", facts.clk_tck)),
        either("CPU time in nanoseconds", facts.schedstat, "schedstat", "no schedstat: ticks only"),
        optional("short-lived children", groups, "no control groups: they are not seen"),
        either("IO of a process", facts.task_io, "/proc/PID/io", "no task IO accounting"),
        optional("hardware events", events.as_deref(), &no_events),
        either("sampling by time", facts.cpu_clock, "cpu-clock", "perf_event gives no cpu-clock"),
        optional("probes", facts.tracefs.as_deref(), "no tracefs: no call counts"),
        optional("clock", facts.clock.as_deref(), "the kernel does not name its clock"),
        optional("governor", facts.governor.as_deref(), "no frequency scaling"),
        turbo,
    ]
}

fn optional(about: &'static str, value: Option<&str>, absent: &str) -> Finding {
    value.map_or_else(|| Finding::absent(about, absent), |value| Finding::works(about, value))
}

fn print(title: &str, findings: &[Finding]) {
    let coloured = output::has_colours();
    output::line(format_args!("{title}"));
    for finding in findings {
        let (colour, word) = match finding.state {
            State::Works => (32, "works"),
            State::Absent => (33, "absent"),
            State::Missing => (31, "MISSING"),
        };
        let word = format!("{word:<8}");
        let word = if coloured { format!("\x1b[{colour}m{word}\x1b[0m") } else { word };
        let what = inert::lines(&finding.what);
        output::painted(format_args!("  {word} {:<30} {what}", finding.about));
        let remedy = finding.remedy.iter();
        remedy.for_each(|how| output::line(format_args!("           {:<30} → {how}", "")));
    }
    output::line("");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_access_point_lacks_is_absent_and_never_zero() {
        let facts = facts(&Facts { pmu_absent: vec!["cycles".to_owned()], ..Facts::default() });
        let words: Vec<_> = facts
            .iter()
            .map(|finding| format!("{:?} {}: {}", finding.state, finding.about, finding.what))
            .collect();
        insta::assert_snapshot!(words.join("\n"));
    }
}
