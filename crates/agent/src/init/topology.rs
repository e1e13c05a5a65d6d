//! The plan: how many clients, on how many radios, on which channels and with which addresses.
//!
//! Pure. Reads the words `headroom.clients=`, `headroom.radios=`, `headroom.console=`,
//! `headroom.forward=`, `headroom.wan=`, `headroom.memory=` and `headroom.seed=` of the kernel
//! command line; all that is derived from them is derived here.

use std::{net::Ipv4Addr, str::FromStr};

use super::error::Error;

/// hwsim itself could make more, but the channels that need no radar detection end here.
const MOST_RADIOS: u32 = 8;
/// 802.11 numbers the associations of one access point from 1 to 2007.
const MOST_CLIENTS_A_RADIO: u32 = 2007;
/// Client addresses of a radio: 250 in each 10.K.x, from x = 1.
const ADDRESSES_A_BLOCK: u32 = 250;

/// Primary channels, in the order in which the radios take them: neighbours come last.
const CHANNELS: [u32; MOST_RADIOS as usize] = [1, 36, 149, 44, 157, 40, 153, 161];

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Topology {
    pub(super) clients: u32,
    /// Radios of the access point; the clients have as many of their own.
    pub(super) radios: u32,
    /// What the serial console offers once the access point is ready.
    pub(super) console: ConsoleMode,
    /// Whether the machine has a line to the host.
    pub(super) forward: bool,
    /// Whether the machine can have a WAN side, and applications that are bounded beside it.
    pub(super) wan: bool,
    /// Whether control groups count memory.
    pub(super) memory: bool,
    /// What the clients' addresses and their order are drawn from; 0 draws nothing, and they are as they are numbered.
    pub(super) seed: u16,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum ConsoleMode {
    /// Only the lines for the host.
    #[default]
    None,
    Shell,
}

/// Where a radio is on the air.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Channel {
    /// The primary channel's number.
    pub(super) number: u32,
    pub(super) megahertz: u32,
    /// The width of the whole channel, in MHz.
    pub(super) width_megahertz: u32,
}

impl Topology {
    /// Reads the kernel command line; words that are missing have defaults: no client, three radios.
    pub(super) fn from_command_line(line: &str) -> Result<Self, Error> {
        let mut topology = Self { radios: 3, ..Self::default() };
        for word in line.split_ascii_whitespace() {
            match word.split_once('=') {
                Some(("headroom.clients", value)) => topology.clients = number(word, value)?,
                Some(("headroom.radios", value)) => topology.radios = number(word, value)?,
                Some(("headroom.console", value)) => topology.console = console(word, value)?,
                Some(("headroom.forward", value)) => topology.forward = value == "yes",
                Some(("headroom.wan", value)) => topology.wan = value == "yes",
                Some(("headroom.memory", value)) => topology.memory = value == "yes",
                Some(("headroom.seed", value)) => topology.seed = number(word, value)?,
                _ => {}
            }
        }
        topology.possible()
    }

    fn possible(self) -> Result<Self, Error> {
        let Self { clients, radios, .. } = self;
        if !(1..=MOST_RADIOS).contains(&radios) {
            let line = format!("{radios} radios: an access point has 1 to {MOST_RADIOS}");
            return Err(Error::new(line));
        }
        let most = radios * MOST_CLIENTS_A_RADIO;
        if clients > most {
            let line = format!("{clients} clients: {radios} radios carry at most {most}");
            return Err(Error::new(line));
        }
        Ok(self)
    }

    /// The clients of a radio, in the order in which they join; they are dealt out like cards, so what is over goes to
    /// the first.
    pub(super) fn clients_of(&self, radio: u32) -> impl Iterator<Item = Client> + use<> {
        let Self { radios, seed, .. } = *self;
        let step = usize::try_from(radios).unwrap_or(usize::MAX);
        let numbers = (radio..self.clients).step_by(step);
        let mut clients: Vec<Client> =
            numbers.map(|number| Client { number, radios, seed }).collect();
        clients.sort_by_key(|client| client.drawn());
        clients.into_iter()
    }

    /// Where a radio is on the air.
    pub(super) fn channel(&self, radio: u32) -> Channel {
        let number = CHANNELS[radio as usize % CHANNELS.len()];
        if number <= 13 {
            return Channel { number, megahertz: 2407 + 5 * number, width_megahertz: 20 };
        }
        let width_megahertz = match self.radios {
            ..=3 => 80,
            4..=5 => 40,
            _ => 20,
        };
        Channel { number, megahertz: 5000 + 5 * number, width_megahertz }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Client {
    pub(super) number: u32,
    radios: u32,
    seed: u16,
}

impl Client {
    pub(super) fn interface(&self) -> String {
        format!("sta{}", self.number)
    }

    /// Its hardware address, locally administered and apart from hwsim's own (`02:00:00:00:…`).
    pub(super) fn hardware_address(&self) -> [u8; 6] {
        let [high, low] = self.drawn().to_be_bytes();
        [2, 0, 0, 1, high, low]
    }

    /// A number of its own that is drawn from the seed: with another seed clients have other addresses, and another
    /// order. An odd factor and a difference make none of the 16 bits' values come twice.
    fn drawn(&self) -> u16 {
        let [.., high, low] = self.number.to_be_bytes();
        u16::from_be_bytes([high, low]).wrapping_mul(self.seed.wrapping_mul(2) | 1) ^ self.seed
    }

    /// Its address in the network of its radio, which is a /16.
    pub(super) fn address(&self) -> Ipv4Addr {
        let place = self.number / self.radios;
        let radio = self.number % self.radios;
        let block = 1 + place / ADDRESSES_A_BLOCK;
        Ipv4Addr::new(10, radio as u8, block as u8, (1 + place % ADDRESSES_A_BLOCK) as u8)
    }
}

pub(super) fn access_point_address(radio: u32) -> Ipv4Addr {
    Ipv4Addr::new(10, radio as u8, 0, 1)
}

fn number<T: FromStr>(word: &str, value: &str) -> Result<T, Error> {
    value.parse().map_err(|_| Error::new(format!("{word}: not a number")))
}

fn console(word: &str, value: &str) -> Result<ConsoleMode, Error> {
    match value {
        "none" => Ok(ConsoleMode::None),
        "shell" => Ok(ConsoleMode::Shell),
        _ => Err(Error::new(format!("{word}: a console is none or shell"))),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn topology(line: &str) -> Topology {
        Topology::from_command_line(line).unwrap()
    }

    fn refusal(line: &str) -> String {
        Topology::from_command_line(line).unwrap_err().to_string()
    }

    #[test]
    fn the_command_line_is_read_among_the_kernels_own_words() {
        let absent = Topology { clients: 0, radios: 3, ..Topology::default() };
        assert_eq!(topology("quiet"), absent);
        let read = topology(
            "console=ttyS0 quiet headroom.clients=114 headroom.radios=2 headroom.console=shell \
             headroom.forward=yes headroom.wan=yes headroom.memory=yes headroom.seed=7\n",
        );
        let console = ConsoleMode::Shell;
        let (clients, radios, seed) = (114, 2, 7);
        assert_eq!(
            read,
            Topology { clients, radios, console, forward: true, wan: true, memory: true, seed }
        );
    }

    #[test]
    fn what_is_not_possible_is_refused_with_the_reason() {
        assert_eq!(refusal("headroom.clients=many"), "headroom.clients=many: not a number");
        assert_eq!(refusal("headroom.radios=9"), "9 radios: an access point has 1 to 8");
        assert_eq!(refusal("headroom.radios=0"), "0 radios: an access point has 1 to 8");
        assert_eq!(
            refusal("headroom.radios=1 headroom.clients=2008"),
            "2008 clients: 1 radios carry at most 2007",
        );
        assert!(refusal("headroom.console=tv").ends_with("none or shell"));
    }

    #[test]
    fn clients_are_spread_evenly_and_the_rest_goes_to_the_first_radios() {
        let count = |line: &str| -> Vec<usize> {
            let topology = topology(line);
            (0..topology.radios).map(|radio| topology.clients_of(radio).count()).collect()
        };
        assert_eq!(count("headroom.clients=18"), [6, 6, 6]);
        assert_eq!(count("headroom.clients=20"), [7, 7, 6]);
        assert_eq!(count("headroom.clients=1"), [1, 0, 0]);
        assert_eq!(count("headroom.clients=0"), [0, 0, 0]);
    }

    #[test]
    fn another_seed_draws_other_addresses_and_another_order() {
        let [plain, drawn] = ["", " headroom.seed=27182"].map(|seed| {
            let topology = topology(&format!("headroom.clients=16056 headroom.radios=8{seed}"));
            topology.clients_of(1).collect::<Vec<_>>()
        });
        let numbers = |clients: &[Client]| -> Vec<u32> {
            clients.iter().map(|client| client.number).collect()
        };
        assert!(numbers(&plain).is_sorted() && !numbers(&drawn).is_sorted());
        let mut sorted = numbers(&drawn);
        sorted.sort_unstable();
        assert_eq!(sorted, numbers(&plain), "nobody is lost");
        let addresses: BTreeSet<_> = drawn.iter().map(Client::hardware_address).collect();
        assert_eq!(addresses.len(), plain.len());
        assert!(plain.iter().any(|client| !addresses.contains(&client.hardware_address())));
    }

    #[test]
    fn no_two_clients_share_a_name_or_an_address() {
        let topology = topology("headroom.clients=16056 headroom.radios=8");
        let all: Vec<Client> =
            (0..8).flat_map(|radio| topology.clients_of(radio).collect::<Vec<_>>()).collect();
        assert_eq!(all.len(), 16056);
        let unique = |set: BTreeSet<String>| assert_eq!(set.len(), all.len());
        unique(all.iter().map(Client::interface).collect());
        unique(all.iter().map(|client| format!("{:?}", client.hardware_address())).collect());
        unique(all.iter().map(|client| client.address().to_string()).collect());
    }

    #[test]
    fn a_client_is_in_the_network_of_its_radio() {
        let last = topology("headroom.clients=114").clients_of(2).last().unwrap();
        assert_eq!(last.interface(), "sta113");
        assert_eq!(last.address(), Ipv4Addr::new(10, 2, 1, 38));
        assert_eq!(last.hardware_address(), [2, 0, 0, 1, 0, 113]);
    }

    #[test]
    fn channels_never_overlap_and_the_first_is_in_2_4_ghz() {
        let topology = topology("headroom.radios=3");
        assert_eq!([0, 1, 2].map(|radio| topology.channel(radio).megahertz), [2412, 5180, 5745]);
        let span = |Channel { megahertz, width_megahertz, .. }: Channel| {
            // A wide channel begins at a multiple of its width above the first of its band.
            let first = if megahertz >= 5745 { 5745 } else { 5180 };
            let place = megahertz.checked_sub(first).map_or(0, |above| above % width_megahertz);
            (megahertz - place - 10, megahertz - place - 10 + width_megahertz)
        };
        for radios in 1..=MOST_RADIOS {
            let topology = self::topology(&format!("headroom.radios={radios}"));
            let mut spans: Vec<(u32, u32)> =
                (0..radios).map(|radio| span(topology.channel(radio))).collect();
            spans.sort_unstable();
            assert!(spans.windows(2).all(|pair| pair[0].1 <= pair[1].0), "{radios}: {spans:?}");
        }
    }
}
