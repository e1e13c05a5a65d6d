//! What a device can measure: reached as every verb reaches it, asked, and left as it was.

use lab::{
    device_file::DeviceFile,
    on_device::{self, Look},
    remote::Address,
};
use model::{
    facts::{Facts, Room, Warmth},
    plural::count,
};

use super::{Finding, State, device_programs, facts, program};
use crate::{failure::Failure, options::Options};

/// Programs that studies start or ask on an access point, and what is missing without each.
const PROGRAMS: [(&str, &str); 4] = [
    ("hostapd", "an access point of hostapd's"),
    ("hostapd_cli", "loads that ask hostapd"),
    ("iw", "loads that ask the kernel, parity"),
    ("stationd", "studies of headroom's own daemon"),
];

/// Less than this is left where the agent lies: what studies put there too may not fit, KiB.
const LITTLE_ROOM_KIB: u64 = 8 << 10;

/// A machine as warm as this is soon held back, thousandths of a degree.
const WARM_MC: i32 = 85_000;

/// Clocks that kernels fall back to, each slow to read or coarse.
const POOR_CLOCKS: [&str; 6] = ["jiffies", "refined-jiffies", "pit", "hpet", "acpi_pm", "dummy"];

pub(super) fn look_at_host(options: &Options, named: &DeviceFile) -> Vec<Finding> {
    let mut all = vec![program("what is started ends with headroom", "setpriv", "util-linux")];
    if matches!(named.address, Address::Ssh(_)) {
        all.push(program("the way there", "ssh", "openssh-client"));
    }
    all.push(device_programs(options));
    all
}

pub(super) fn look(options: &Options, named: &DeviceFile) -> Result<Vec<Finding>, Failure> {
    let lab = options.lab_for_devices()?;
    let names = PROGRAMS.map(|(name, _)| name);
    Ok(findings(named, &on_device::look(&lab, named, &names)?))
}

fn findings(named: &DeviceFile, look: &Look) -> Vec<Finding> {
    let mut all = vec![associated(named, look), hostapd(look)];
    all.extend(
        facts(&look.facts).into_iter().map(|finding| with_remedy(finding, named, &look.facts)),
    );
    all.push(warmth(look.facts.warmth));
    all.push(room(look.facts.room.as_ref()));
    let programs = look.programs.iter().zip(PROGRAMS);
    all.extend(programs.filter(|(_, (name, _))| *name != "hostapd").map(
        |(located, (name, what))| match &located.path {
            Some(path) => Finding::works(name, path.clone()),
            None => Finding::absent(name, format!("not there: {what} cannot be had")),
        },
    ));
    all
}

/// Who is there, and how others come.
fn associated(named: &DeviceFile, look: &Look) -> Finding {
    let how = match &named.clients {
        None => "others come of themselves",
        Some(_) => "a command brings others",
    };
    let clients = count(look.census.clients(), "client");
    let about = "clients";
    if look.facts.interfaces.is_empty() {
        return Finding::absent(about, "no access-point interface is on the air")
            .remedy("start hostapd there; a process alone can be measured without");
    }
    Finding::works(about, format!("{clients} on {}; {how}", look.facts.interfaces.join(", ")))
}

fn hostapd(look: &Look) -> Finding {
    let about = "hostapd";
    let answers = |interface: &model::census::InterfaceCensus| interface.hostapd.is_some();
    match look.census.interfaces.iter().filter(|interface| answers(interface)).count() {
        0 if look.census.interfaces.is_empty() => {
            Finding::absent(about, "no interface to ask it about")
        }
        0 => Finding::absent(
            about,
            "it answers for no interface: clients are the kernel's count alone",
        )
        .remedy("ctrl_interface=/run/hostapd in its configuration"),
        some => Finding::works(about, format!("answers for {}", count(some as u32, "interface"))),
    }
}

/// What can be done about a fact on a device.
fn with_remedy(finding: Finding, named: &DeviceFile, facts: &Facts) -> Finding {
    let is_absent = finding.state == State::Absent;
    let governor = facts.governor.as_deref();
    let how = match finding.about {
        "governor" if governor.is_some_and(|word| word != "performance") => {
            match named.settings.governor {
                Some(_) => "the device file sets it for a run, and it is set back afterwards",
                None => {
                    "CPU time depends on it: `[settings]` with `governor = \"performance\"` in a device file sets it for a run"
                }
            }
        }
        "clock" if facts.clock.as_deref().is_some_and(|word| POOR_CLOCKS.contains(&word)) => {
            "a clock that the kernel fell back to: times are coarse, or slow to read"
        }
        "turbo" if facts.turbo == Some(true) => {
            "`[settings]` with `turbo = false` in a device file turns it off for a run"
        }
        "short-lived children" if is_absent => {
            "mount -t cgroup2 cgroup2 /sys/fs/cgroup, where the kernel has control groups"
        }
        "probes" if is_absent => {
            "run as root, with a kernel that has CONFIG_UPROBE_EVENTS and CONFIG_KPROBE_EVENTS"
        }
        _ => return finding,
    };
    finding.remedy(how)
}

fn warmth(warmth: Option<Warmth>) -> Finding {
    let about = "warmth";
    let Some(Warmth { warmest_mc, is_held_back }) = warmth else {
        return Finding::absent(about, "the kernel does not say");
    };
    let degrees = warmest_mc.map(|mc| format!("{} °C", mc / 1000));
    let degrees = degrees.unwrap_or_else(|| "no thermal zone says how warm it is".to_owned());
    let cool = "let it cool, or give it air: what is held back is slower";
    if is_held_back {
        return Finding::works(about, format!("{degrees}, and CPUs are held back to cool it"))
            .remedy(cool);
    }
    let finding = Finding::works(about, format!("{degrees}; CPUs are not held back"));
    if warmest_mc.is_some_and(|mc| mc >= WARM_MC) { finding.remedy(cool) } else { finding }
}

fn room(room: Option<&Room>) -> Finding {
    let about = "room for the agent";
    let Some(Room { folder, free_kib }) = room else {
        return Finding::absent(about, "the system does not say");
    };
    let finding = Finding::works(about, format!("{folder}, {free_kib} KiB more are free"));
    match *free_kib < LITTLE_ROOM_KIB {
        true => {
            finding.remedy("another build that is compared is put into /run, which must hold it")
        }
        false => finding,
    }
}

#[cfg(test)]
mod tests {
    use model::{
        census::{Census, InterfaceCensus},
        instrument::Located,
    };

    use super::*;

    #[test]
    fn findings_say_what_a_device_can_and_how_to_better_it() {
        let interfaces =
            vec![InterfaceCensus { name: "phy0-ap0".into(), kernel: Some(3), hostapd: None }];
        let facts = Facts {
            kernel: "6.6.52".to_owned(),
            machine: "aarch64".to_owned(),
            governor: Some("ondemand".to_owned()),
            clock: Some("jiffies".to_owned()),
            interfaces: vec!["phy0-ap0".to_owned()],
            warmth: Some(Warmth { warmest_mc: Some(91_000), is_held_back: true }),
            room: Some(Room { folder: "/tmp".to_owned(), free_kib: 2048 }),
            pmu_absent: vec!["cycles".to_owned()],
            ..Facts::default()
        };
        let located = |name: &str| Located {
            name: name.to_owned(),
            path: (name == "iw").then(|| "/usr/sbin/iw".to_owned()),
            sha256: None,
            mapped_by: 0,
        };
        let programs = PROGRAMS.map(|(name, _)| located(name)).to_vec();
        let look = Look { facts, census: Census { interfaces }, programs };
        let named = DeviceFile::of("ssh:ap".parse().unwrap());
        let words: Vec<_> = findings(&named, &look)
            .iter()
            .map(|one| {
                let remedy = one.remedy.as_ref().map(|how| format!(" → {how}")).unwrap_or_default();
                format!("{:?} {}: {}{remedy}", one.state, one.about, one.what)
            })
            .collect();
        insta::assert_snapshot!(words.join("\n"));
    }
}
