//! Brings the access point up, phase by phase, and then serves its signals. Each phase is a module of its own.

use std::{fs, panic, process::ExitCode, thread};

use signal_hook::iterator::Signals;

use super::{
    airspace::Airspace,
    associate,
    console::say,
    error::{Doing, Error},
    hostapd, modules, mounts, port, power, scrub,
    services::{Ending, Output, Service, Services},
    shell, supplicant,
    topology::{ConsoleMode, Topology},
};

const AGENT: &str = "/sbin/headroom-agent";

/// Lives pid 1's machine; it does not come back while the machine runs.
pub fn run() -> ExitCode {
    // A panic of pid 1 would take the machine with it, and the console with the reason.
    match panic::catch_unwind(begin) {
        Ok(Ok(mut machine)) => machine.serve(),
        Ok(Err(error)) => say(format_args!("failed: {}", error)),
        Err(_) => say("failed: headroom-init panicked"),
    }
    loop {
        thread::park();
    }
}

fn plan() -> Result<Topology, Error> {
    let line = fs::read_to_string("/proc/cmdline").doing(|| "read /proc/cmdline".into())?;
    Topology::from_command_line(&line)
}

struct Machine {
    signals: Signals,
    services: Services,
}

/// Everything up to the first signal that is waited for.
fn begin() -> Result<Machine, Error> {
    mounts::prepare()?;
    mounts::make_folders()?;
    let mut machine = Machine {
        signals: power::signals().doing(|| "ask for signals".into())?,
        services: Services::default(),
    };
    let topology = plan()?;
    say("booted");
    reported(machine.bring_up(&topology));
    reported(machine.start_console(topology.console));
    Ok(machine)
}

/// Tells the host what failed. The machine stays: it can still be looked at, and turned off.
fn reported(result: Result<(), Error>) {
    if let Err(error) = result {
        say(format_args!("failed: {}", error));
    }
}

impl Machine {
    fn bring_up(&mut self, topology: &Topology) -> Result<(), Error> {
        modules::load(topology)?;
        mounts::make_nodes()?;
        mounts::let_groups_be_bounded(topology)?;
        scrub::free_memory()?;
        let mut airspace = Airspace::prepare(topology)?;
        port::open_line(topology)?;
        // Long before the first client has settled, so that no trial begins while they are made.
        let applets = shell::applets().doing(|| "prepare busybox's applets".into())?;
        self.services.start(applets)?;
        self.start_network(topology)?;
        associate::wait_for_beacons(topology, &mut self.services)?;
        associate::associate(topology, &mut airspace, &mut self.services)?;
        say("ready");
        self.start_agent()
    }

    fn start_network(&mut self, topology: &Topology) -> Result<(), Error> {
        self.services.start(hostapd::prepare(topology)?)?;
        for radio in 0..topology.radios {
            if let Some(service) = supplicant::prepare(topology, radio)? {
                self.services.start(service)?;
            }
        }
        Ok(())
    }

    fn start_agent(&mut self) -> Result<(), Error> {
        // A machine without the port is one to play with; it has nobody to talk to.
        let Some(port) = port::open()? else { return Ok(()) };
        self.services.start(Service {
            environment: vec![("PATH", shell::search_path().into())],
            output: Output::Port(port),
            ending: Ending::StartAgain,
            ..Service::new("agent", AGENT)
        })
    }

    fn start_console(&mut self, mode: ConsoleMode) -> Result<(), Error> {
        match mode {
            ConsoleMode::None => Ok(()),
            ConsoleMode::Shell => self.services.start(shell::shell()),
        }
    }

    fn serve(&mut self) {
        // What ended before the signals are waited for is seen off first.
        self.services.reap();
        for signal in self.signals.forever() {
            power::obey(signal);
            self.services.reap();
        }
    }
}
