//! The second process: a network namespace of its own, in which stations are made and wpa_supplicant lets them join.
//!
//! Is told line by line what to make, and answers each with `+` or with `-` and a reason. Ends when its line does, and with it
//! all that it made.

use std::{
    fs::{self, File},
    io::{self, BufRead, BufReader, Read, Seek, Write},
    os::{
        fd::{AsRawFd, OwnedFd},
        unix::net::UnixStream,
    },
    process::{Child, Command, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use linux::{
    error::chain,
    link::{Links, enter_new_network_namespace},
    nl80211::Nl80211,
    place::Place,
};
use rustix::fs::{MemfdFlags, memfd_create};

use crate::{
    control::Control,
    programs, standby,
    supplicant::{self, Key, Network, Supplicant},
};

/// The word that makes the agent this process.
pub const WORD: &str = "--be-clients";

/// wpa_supplicant makes its socket soon, and its interfaces one after the other.
const PATIENCE: Duration = Duration::from_secs(20);
const PACE: Duration = Duration::from_millis(20);

/// A radio and the clients that are made on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Radio {
    pub(super) wiphy: u32,
    pub(super) network: Network,
    /// Their numbers among all clients.
    pub(super) clients: Vec<u32>,
}

impl Radio {
    /// As the second process is told of it.
    pub(super) fn line(&self) -> String {
        let hex =
            |bytes: &[u8]| -> String { bytes.iter().map(|byte| format!("{byte:02x}")).collect() };
        let (kind, key) = match &self.network.key {
            Key::Open => ("open", ""),
            Key::Psk(key) => ("psk", key.as_str()),
            Key::Passphrase(key) => ("passphrase", key.as_str()),
            Key::Sae(key) => ("sae", key.as_str()),
        };
        let clients: Vec<_> = self.clients.iter().map(u32::to_string).collect();
        let (wiphy, megahertz) = (self.wiphy, self.network.megahertz);
        let (ssid, key) = (hex(&self.network.ssid), hex(key.as_bytes()));
        format!("radio {wiphy} {megahertz} x{ssid} {kind} x{key} {}", clients.join(","))
    }

    fn read(line: &str) -> Option<Self> {
        let mut words = line.strip_prefix("radio ")?.split(' ');
        let mut next = || words.next();
        let (wiphy, megahertz) = (next()?.parse().ok()?, next()?.parse().ok()?);
        let ssid = unhex(next()?)?;
        let (kind, key) = (next()?, String::from_utf8(unhex(next()?)?).ok()?);
        let key = match kind {
            "open" => Key::Open,
            "psk" => Key::Psk(key),
            "passphrase" => Key::Passphrase(key),
            "sae" => Key::Sae(key),
            _ => return None,
        };
        let clients = next()?.split(',').map(|one| one.parse().ok()).collect::<Option<_>>()?;
        Some(Self { wiphy, network: Network { ssid, megahertz, key }, clients })
    }

    fn interfaces(&self) -> Vec<String> {
        self.clients.iter().map(|number| format!("sta{number}")).collect()
    }
}

fn unhex(word: &str) -> Option<Vec<u8>> {
    let digits = word.strip_prefix('x')?;
    let pair = |at: usize| u8::from_str_radix(digits.get(at..at + 2)?, 16).ok();
    (0..digits.len()).step_by(2).map(pair).collect()
}

/// An address of a client's, locally administered and apart from hwsim's own (`02:00:00:00:…`).
fn address(number: u32) -> [u8; 6] {
    let [.., high, low] = number.to_be_bytes();
    [2, 0, 0, 1, high, low]
}

/// The answer to a line: `None` where it is done, else why not.
pub(super) fn answer(mut line: &UnixStream) -> io::Result<Option<String>> {
    let mut text = Vec::new();
    let mut byte = [0];
    while line.read_exact(&mut byte).map(|()| byte[0] != b'\n')? {
        text.push(byte[0]);
    }
    match text.split_first() {
        Some((b'+', _)) => Ok(None),
        Some((b'-', why)) => Ok(Some(String::from_utf8_lossy(why).into_owned())),
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}

/// The second process's whole life.
///
/// # Errors
///
/// Where its standard input is no socket: a person has called it.
pub fn run() -> io::Result<()> {
    let line = linux::standby::stand_by(standby::NAME)?;
    let (mut from, mut to) = (BufReader::new(&line), &line);
    let mut made = enter();
    let mut say = |result: Result<(), String>| {
        let text =
            result.err().map_or("+\n".to_owned(), |why| format!("-{}\n", why.replace('\n', " ")));
        to.write_all(text.as_bytes())
    };
    say(made.as_ref().map(drop).map_err(Clone::clone))?;
    let mut text = String::new();
    while from.read_line(&mut text)? > 0 {
        let done = match &mut made {
            Ok(made) => made.obey(text.trim_end_matches('\n')),
            Err(why) => Err(why.clone()),
        };
        say(done)?;
        text.clear();
    }
    Ok(())
}

/// All that was made here. Its fields' order is the order in which it goes.
struct Stations {
    supplicants: Vec<(Radio, Child)>,
    /// The stations go with it.
    nl80211: Nl80211,
}

fn enter() -> Result<Stations, String> {
    enter_new_network_namespace()
        .map_err(|error| format!("cannot make a network namespace: {error}"))?;
    for scope in ["all", "default"] {
        // No router solicitations: nothing moves on an idle link. A kernel without IPv6 has nothing to disable.
        let _ = fs::write(format!("/proc/sys/net/ipv6/conf/{scope}/disable_ipv6"), "1");
    }
    if let Ok(mut links) = Links::open()
        && let Ok(Some(loopback)) = links.index("lo")
    {
        let _ = links.set_up(loopback);
    }
    let nl80211 = Nl80211::open().map_err(|error| chain(&error))?;
    Ok(Stations { supplicants: Vec::new(), nl80211 })
}

impl Stations {
    fn obey(&mut self, line: &str) -> Result<(), String> {
        match Radio::read(line) {
            Some(radio) => self.populate(radio),
            None if line == "join" => self.join(),
            None => Err(format!("`{line}` is no order")),
        }
    }

    /// Makes the stations of a radio, and starts their wpa_supplicant.
    fn populate(&mut self, radio: Radio) -> Result<(), String> {
        for (number, name) in radio.clients.iter().zip(radio.interfaces()) {
            let made = self.nl80211.lend_station_interface(radio.wiphy, &name, address(*number));
            let index = made.map_err(|error| format!("cannot make {name}: {}", chain(&error)))?;
            // A radio with one client would let it sleep, one with two would not: none sleeps.
            let _ = self.nl80211.set_power_save(index, false);
        }
        let child =
            start(&radio).map_err(|error| format!("cannot start wpa_supplicant: {error}"))?;
        self.supplicants.push((radio, child));
        Ok(())
    }

    fn join(&mut self) -> Result<(), String> {
        for (radio, child) in &mut self.supplicants {
            let control = connect(&name_of(radio), child)?;
            let all = Supplicant::over(control, radio.network.clone(), radio.interfaces());
            let joined = all.and_then(|all| all.associate());
            joined.map_err(|error| format!("wpa_supplicant: {error}"))?;
        }
        Ok(())
    }
}

/// The abstract name of a radio's control socket; abstract names belong to the network namespace.
fn name_of(radio: &Radio) -> String {
    format!("headroom-clients-{}", radio.wiphy)
}

/// Starts wpa_supplicant with a configuration in memory. It ends with us.
fn start(radio: &Radio) -> io::Result<Child> {
    let why =
        || io::Error::new(io::ErrorKind::NotFound, "the device has no program `wpa_supplicant`");
    let program = programs::resolve("wpa_supplicant").ok_or_else(why)?;
    let mut file = File::from(memfd_create("wpa_supplicant.conf", MemfdFlags::empty())?);
    let text = format!("ap_scan=1\nfilter_ssids=1\n{}", radio.network.block());
    file.write_all(text.as_bytes())?;
    file.rewind()?;
    // Its own descriptor of this number is the same file.
    let file = OwnedFd::from(file);
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    let mut command = Command::new(program);
    command.args(["-g", &format!("@abstract:{}", name_of(radio))]);
    command.args(supplicant::arguments(&path, &radio.interfaces()));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    Place::default().ends_with_us().start(command)
}

/// Its control socket, once it is there.
fn connect(name: &str, child: &mut Child) -> Result<Control, String> {
    let until = Instant::now() + PATIENCE;
    loop {
        if let Ok(Some(status)) = child.try_wait() {
            return Err(format!("wpa_supplicant ended at once ({status})"));
        }
        match Control::connect_abstract(name) {
            Ok(control) => return Ok(control),
            Err(error) if Instant::now() > until => return Err(format!("wpa_supplicant: {error}")),
            Err(_) => sleep(PACE),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_radio_is_read_as_it_was_written() {
        for key in [
            Key::Open,
            Key::Psk("00ff".to_owned()),
            Key::Passphrase("a b=c".to_owned()),
            Key::Sae("é".to_owned()),
        ] {
            let network = Network { ssid: b"a \x00b".to_vec(), megahertz: 5180, key };
            let radio = Radio { wiphy: 7, network, clients: vec![0, 3, 6] };
            assert_eq!(Radio::read(&radio.line()), Some(radio));
        }
        assert_eq!(Radio::read("join"), None);
        assert_eq!(Radio::read("radio 1 2 x0 open x 1"), None);
    }
}
