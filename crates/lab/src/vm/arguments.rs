//! QEMU's arguments, one function a group. Pure: the same shape gives the same words.

use std::path::Path;

use model::{architecture::Architecture, perturbation::Perturbation, study::Mode, wire::Mailbox};

use super::Platform;
use crate::plan::Start;

/// File descriptors that QEMU finds open. They have no names, so nothing is left in a file system.
pub(super) const AGENT_FD: i32 = 3;
pub(super) const CONSOLE_FD: i32 = 4;
pub(super) const QMP_FD: i32 = 5;
pub(super) const INCOMING_FD: i32 = 6;
pub(super) const MAILBOX_FD: i32 = 7;

/// What a virtual access point is, as far as QEMU and pid 1 are concerned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    pub arch: Architecture,
    pub mode: Mode,
    pub accelerator: Accelerator,
    pub radios: u32,
    pub clients: u32,
    pub shell: bool,
    /// Whether the guest has a WAN side, from which traffic is forwarded to the clients.
    pub wan: bool,
    /// Whether its control groups count memory, from before the first service starts.
    pub memory: bool,
    /// A line from the host to the guest. A measured guest has none.
    pub forward: Option<Forward>,
    /// Memory that its root takes beyond Debian's, MiB. The snapshot fills it in, which knows the image.
    pub root_mib: u32,
    /// What is different in it, where it is an access point of a perturbed state.
    pub perturbed: Option<Perturbation>,
}

impl Shape {
    /// The machine that trials with this start need, by the accelerator that every host has.
    pub(crate) fn of(arch: Architecture, radios: u32, start: Start) -> Self {
        let Start { clients, mode, wan, perturbed } = start;
        Self { wan, perturbed, ..Self::new(arch, mode, radios, clients) }
    }
}

/// A TCP port of the host, on its loopback only, that leads to one of the guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Forward {
    pub host: u16,
    pub guest: u16,
}

impl Forward {
    /// What the guest's shell must run for the port to be reached: QEMU leads to the guest's address, but
    /// what is worth looking at listens on the guest's loopback only.
    pub fn relay(&self) -> String {
        let from = format!("TCP-LISTEN:{RELAY},bind={GUEST},fork,reuseaddr");
        format!("socat {from} TCP:127.0.0.1:{} >/dev/null 2>&1 &", self.guest)
    }
}

/// Where the guest listens for the host's port; whatever it is for, it is none that a service would have.
const RELAY: u16 = 20_000;

/// The network of that line, apart from those of the radios (10.K.0.0/16), and the guest in it. The
/// guest's address is pid 1's to set: `agent::init`.
const NETWORK: &str = "192.168.76.0/24";
const GUEST: &str = "192.168.76.15";

/// What runs the guest's instructions in real-time mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accelerator {
    Kvm,
    /// QEMU's translator, one thread for each virtual CPU.
    Tcg,
}

impl Accelerator {
    pub const fn name(self) -> &'static str {
        match self {
            Accelerator::Kvm => "kvm",
            Accelerator::Tcg => "tcg",
        }
    }
}

impl Shape {
    /// An access point with clients and nothing else, emulated.
    pub const fn new(arch: Architecture, mode: Mode, radios: u32, clients: u32) -> Self {
        Self {
            arch,
            mode,
            accelerator: Accelerator::Tcg,
            radios,
            clients,
            shell: false,
            wan: false,
            memory: false,
            forward: None,
            root_mib: 0,
            perturbed: None,
        }
    }

    /// Memory of the guest, MiB: the in-memory root twice while it is unpacked, the kernel, and what
    /// each client's supplicant and mac80211 take.
    pub fn memory_mib(&self) -> u32 {
        let needed = 640 + self.root_mib + self.clients;
        // Whole quarters of a gibibyte, so that nearby counts share what the host has cached.
        needed.div_ceil(256) * 256
    }

    /// Everything that a snapshot's content depends on besides the image and QEMU.
    pub fn key(&self) -> String {
        // The ports are no part of the guest: one snapshot serves them all.
        let arguments = [self.machine(), self.line_to_host(false)].concat().join(" ");
        format!("{} {} {arguments} {}", self.radios, self.clients, self.command_line())
    }

    /// Whether the agent stops the machine for its snapshot, and its orders lie in a mailbox. In real time the moment
    /// means nothing.
    pub(super) fn holds_itself(&self) -> bool {
        self.mode == Mode::Counted
    }

    pub(super) fn boot(&self, kernel: &Path, root: &Path) -> Vec<String> {
        let (kernel, root) = (kernel.to_string_lossy(), root.to_string_lossy());
        let own = ["-kernel", &*kernel, "-initrd", &*root, "-append", &self.command_line()];
        [self.machine(), self.line_to_host(false), own.map(str::to_owned).to_vec()].concat()
    }

    /// All arguments for a restore: the machine waits, restored and still.
    pub(super) fn restore(&self) -> Vec<String> {
        let incoming = words(&format!("-S -incoming fd:{INCOMING_FD}"));
        [self.machine(), self.line_to_host(true), incoming].concat()
    }

    /// The machine itself, the same for boot and restore.
    ///
    /// Agent, console and control are each on a socket that is already connected. `ioeventfd=off` makes a write of the
    /// guest end in the instruction that made it, instead of at whatever moment QEMU's main loop sees it.
    fn machine(&self) -> Vec<String> {
        let memory = format!("-m {}", self.memory_mib());
        let channels = format!(
            "-device virtio-serial-pci,ioeventfd=off -chardev socket,id=agent,fd={AGENT_FD} \
             -device virtserialport,chardev=agent,name=headroom.agent,id=agent \
             -chardev socket,id=console,fd={CONSOLE_FD} -serial chardev:console \
             -chardev socket,id=qmp,fd={QMP_FD} -mon chardev=qmp,mode=control"
        );
        let mailbox = if self.holds_itself() { mailbox() } else { Vec::new() };
        let begin = words("-nodefaults -no-user-config -display none -no-reboot");
        [begin, self.processor(), words(&memory), words(&channels), mailbox].concat()
    }

    fn platform(&self) -> &'static Platform {
        Platform::of(self.arch)
    }

    /// The network card of a guest with a line to the host. `restrict`: nothing else goes in or out.
    fn line_to_host(&self, open: bool) -> Vec<String> {
        let Some(Forward { host, .. }) = self.forward else { return Vec::new() };
        let rule = format!(",hostfwd=tcp:127.0.0.1:{host}-{GUEST}:{RELAY}");
        let rule = if open { &*rule } else { "" };
        words(&format!(
            "-netdev user,id=line,restrict=on,ipv6=off,net={NETWORK}{rule} -device virtio-net-pci,netdev=line,romfile="
        ))
    }

    fn processor(&self) -> Vec<String> {
        let platform @ Platform { machine, .. } = *self.platform();
        let other = (self.perturbed == Some(Perturbation::Cpu)).then_some(platform.other);
        let (accelerator, cpu) = match (self.mode, self.accelerator) {
            (Mode::Counted, _) => return counted(machine, other.unwrap_or(platform.counted)),
            (Mode::RealTime, Accelerator::Kvm) => ("kvm", other.unwrap_or("host")),
            (Mode::RealTime, Accelerator::Tcg) => {
                ("tcg,thread=multi", other.unwrap_or(platform.emulated))
            }
        };
        words(&format!("-machine {machine} -accel {accelerator} -cpu {cpu} -smp 2"))
    }

    fn command_line(&self) -> String {
        let console = if self.shell { "shell" } else { "none" };
        // An oops ends the trial as a panic does: a machine in that state measures nothing.
        // `norandmaps` and `nokaslr`: one layout, so that a repetition repeats. `mitigations=off`: the
        // emulated CPU has no leaks, and an access point's core has none of x86's mitigations.
        // `cryptomgr.notests`: two seconds of self-tests that no one reads.
        let forward = if self.forward.is_some() { " headroom.forward=yes" } else { "" };
        let wan = if self.wan { " headroom.wan=yes" } else { "" };
        let memory = if self.memory { " headroom.memory=yes" } else { "" };
        let is = |state| self.perturbed == Some(state);
        let layout = if is(Perturbation::Layout) { "" } else { ONE_LAYOUT };
        let seed = if is(Perturbation::Seed) { OTHER_SEED } else { "" };
        let port = self.platform().console;
        format!(
            "console={port} quiet loglevel=1 oops=panic panic=-1 {layout}nokaslr mitigations=off cryptomgr.notests \
             headroom.clients={} headroom.radios={} headroom.console={console}{forward}{wan}{memory}{seed}",
            self.clients, self.radios
        )
    }
}

const ONE_LAYOUT: &str = "norandmaps ";
/// For pid 1, which draws other clients. The kernel mixes its command line into its random numbers, too.
const OTHER_SEED: &str = " headroom.seed=27182";

/// What is different in the access point of a perturbed state, as its run keeps it; `None` where that is not in the
/// machine's words.
pub(crate) fn difference(arch: Architecture, perturbed: Perturbation) -> Option<String> {
    match perturbed {
        Perturbation::Phase => None,
        Perturbation::Seed => Some(OTHER_SEED.trim().to_owned()),
        Perturbation::Layout => Some(format!("without {}", ONE_LAYOUT.trim())),
        Perturbation::Cpu => Some(format!("-cpu {}", Platform::of(arch).other)),
    }
}

/// The processor of counted mode: time is executed instructions, and idle time costs nothing.
///
/// `shift=1` makes an instruction 2 ns long. The host's entropy and clock are kept out.
pub fn counted_arguments(arch: Architecture) -> Vec<String> {
    let Platform { machine, counted: cpu, .. } = Platform::of(arch);
    counted(machine, cpu)
}

fn counted(machine: &str, cpu: &str) -> Vec<String> {
    words(&format!(
        "-machine {machine} -accel tcg,thread=single -icount shift=1,sleep=off -rtc base=2026-01-01,clock=vm \
         -cpu {cpu} -smp 1"
    ))
}

/// The arguments for a plugin of QEMU's translator. They stand apart from the machine's: a plugin watches a
/// guest and is no part of it, nor of a snapshot's key.
pub(crate) fn plugin(library: &Path, arguments: &[String]) -> Vec<String> {
    // A comma ends a value, and two are one.
    let file = [format!("file={}", library.display())];
    let all: Vec<String> =
        file.iter().chain(arguments).map(|word| word.replace(',', ",,")).collect();
    vec!["-plugin".to_owned(), all.join(",")]
}

/// What orders lie in, and by what the agent stops the machine: in an instruction of its own choosing.
fn mailbox() -> Vec<String> {
    let bytes = Mailbox::LENGTH;
    // Only its master is let out of a snapshot again.
    words(&format!(
        "-object memory-backend-file,id=orders,share=on,size={bytes},mem-path=/proc/self/fd/{MAILBOX_FD} \
         -device ivshmem-plain,memdev=orders,master=on -device pvpanic-pci -action panic=pause"
    ))
}

/// Arguments that have no space in them.
fn words(text: &str) -> Vec<String> {
    text.split_ascii_whitespace().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(clients: u32, mode: Mode) -> Shape {
        Shape::new(Architecture::X86_64, mode, 3, clients)
    }

    fn forwarded(host: u16) -> Shape {
        let forward = Some(Forward { host, guest: 9810 });
        Shape { forward, ..shape(18, Mode::RealTime) }
    }

    #[test]
    fn a_line_to_the_host_is_open_only_where_a_person_plays() {
        let (boot, restore) =
            (forwarded(8080).boot(Path::new("k"), Path::new("r")), forwarded(8080).restore());
        let opens = |words: &[String]| words.iter().any(|word| word.contains("hostfwd="));
        assert!(!opens(&boot) && opens(&restore));
        let rule = "hostfwd=tcp:127.0.0.1:8080-192.168.76.15:20000";
        assert!(restore.iter().any(|word| word.ends_with(rule)), "{restore:?}");
        assert!(forwarded(8080).forward.unwrap().relay().contains(" TCP:127.0.0.1:9810 "));
        // One snapshot for all ports, and another one without the card.
        assert_eq!(forwarded(8080).key(), forwarded(8081).key());
        assert_ne!(forwarded(8080).key(), shape(18, Mode::RealTime).key());
    }

    #[test]
    fn whatever_changes_the_guest_changes_the_key() {
        let base = || shape(18, Mode::Counted);
        let state = |state| Shape { perturbed: Some(state), ..base() };
        let all = [
            base(),
            shape(19, Mode::Counted),
            shape(18, Mode::RealTime),
            Shape { shell: true, ..base() },
            Shape { radios: 2, ..base() },
            Shape { wan: true, ..base() },
            Shape { memory: true, ..base() },
            Shape { arch: Architecture::Arm64, ..base() },
            state(Perturbation::Seed),
            state(Perturbation::Layout),
            state(Perturbation::Cpu),
        ];
        let keys: std::collections::BTreeSet<_> = all.iter().map(Shape::key).collect();
        assert_eq!(keys.len(), all.len());
    }

    #[test]
    fn a_restore_is_the_same_machine_as_the_boot() {
        let shape = shape(18, Mode::Counted);
        let (boot, restore) = (shape.boot(Path::new("k"), Path::new("r")), shape.restore());
        let machine = shape.machine();
        assert!(boot.starts_with(&machine) && restore.starts_with(&machine));
    }

    #[test]
    fn a_plugins_commas_are_its_own() {
        let arguments = ["l2=1:2:3".to_owned(), "out=/a,b/counts".to_owned()];
        let words = plugin(Path::new("/c,d/cache.so"), &arguments);
        assert_eq!(words, ["-plugin", "file=/c,,d/cache.so,l2=1:2:3,out=/a,,b/counts"]);
    }

    #[test]
    fn counted_mode_keeps_the_host_out() {
        for arch in Architecture::ALL {
            let shape = Shape { arch, ..shape(114, Mode::Counted) };
            let words = shape.boot(Path::new("KERNEL"), Path::new("ROOT"));
            insta::assert_snapshot!(format!("counted_{arch}"), words.join("\n"));
        }
    }
}
