//! What single messages say: rates, links, flags, and attributes that are short or garbled.
//!
//! Figures that a real kernel sent are in the recordings; these are what it did not send there.

use linux::{
    netlink::Request,
    nl80211::{
        Count, Interface, InterfaceKind, Rate, RateMode, StationReading, interface, station,
        stations, survey,
    },
};
use proptest::prelude::*;

use crate::kernel::{address, attributes, station as message};

fn read(info: &Request) -> StationReading {
    station(message(19, 1, info).body()).unwrap()
}

fn rate(nest: &Request) -> Rate {
    read(&attributes().nest(8, nest)).tx_rate.unwrap()
}

fn byte(request: Request, kind: u16, value: u8) -> Request {
    request.attribute(kind, &[value])
}

#[test]
fn an_absent_attribute_is_none_and_not_zero() {
    let empty = read(&attributes());
    let known = StationReading { generation: Some(7), ..StationReading::default() };
    assert_eq!(empty, StationReading { interface: 4, address: address(1), ..known });
}

#[test]
fn a_320_mhz_rate_is_not_taken_for_20() {
    let nest = attributes().number(5, 57_647).attribute(18, &[]);
    let nest = byte(byte(byte(nest, 19, 13), 20, 2), 21, 1);
    let expected = Rate {
        kbps: Some(5_764_700),
        mode: RateMode::Eht,
        mcs: Some(13),
        streams: Some(2),
        width_mhz: 320,
        short_guard: false,
        guard_ns: Some(1600),
    };
    assert_eq!(rate(&nest), expected);
}

#[test]
fn each_family_of_rates_is_known_by_its_scheme() {
    let ht = byte(attributes().attribute(1, &1300_u16.to_ne_bytes()), 2, 15);
    let ht = rate(&ht.attribute(3, &[]).attribute(4, &[]));
    assert_eq!((ht.kbps, ht.mode, ht.streams), (Some(130_000), RateMode::Ht, Some(2)));
    assert_eq!((ht.width_mhz, ht.short_guard), (40, true));
    let vht = rate(&byte(byte(attributes(), 6, 9), 7, 4).attribute(8, &[]));
    assert_eq!((vht.mode, vht.mcs, vht.streams), (RateMode::Vht, Some(9), Some(4)));
    let he = rate(&byte(byte(byte(attributes(), 13, 11), 14, 8), 15, 2).attribute(10, &[]));
    assert_eq!((he.mode, he.guard_ns, he.width_mhz), (RateMode::He, Some(3200), 160));
    let old = rate(&attributes().attribute(1, &60_u16.to_ne_bytes()));
    assert_eq!((old.kbps, old.mode, old.mcs), (Some(6_000), RateMode::Legacy, None));
    assert_eq!(rate(&byte(attributes(), 2, 32)).streams, Some(1), "MCS 32 is one stream");
}

#[test]
fn the_wide_rate_is_preferred_wherever_it_stands() {
    let narrow = 1000_u16.to_ne_bytes();
    let before = attributes().number(5, 70_000).attribute(1, &narrow);
    let behind = attributes().attribute(1, &narrow).number(5, 70_000);
    assert_eq!(rate(&before).kbps, Some(7_000_000));
    assert_eq!(rate(&behind).kbps, Some(7_000_000));
    assert_eq!(rate(&attributes().number(5, u32::MAX)).kbps, Some(u32::MAX), "no wrap");
}

#[test]
fn the_wide_counter_is_preferred_wherever_it_stands() {
    let wide = 0x1_0000_0001_u64.to_ne_bytes();
    let expected = Some(Count { value: 0x1_0000_0001, wide: true });
    assert_eq!(read(&attributes().number(2, 1).attribute(23, &wide)).rx_bytes, expected);
    assert_eq!(read(&attributes().attribute(24, &wide).number(3, 1)).tx_bytes, expected);
    let narrow = read(&attributes().number(2, 5).attribute(23, &[1, 2, 3]));
    assert_eq!(narrow.rx_bytes, Some(Count { value: 5, wide: false }), "a cut counter is none");
}

#[test]
fn a_short_attribute_is_absent_and_the_others_are_read() {
    let info = attributes()
        .attribute(9, &[1, 2])
        .attribute(7, &[])
        .attribute(17, &[0xff; 7])
        .attribute(28, &[0; 4])
        .attribute(8, &[9])
        .number(10, 77);
    let reading = read(&info);
    assert_eq!((reading.rx_packets, reading.signal_dbm), (None, None));
    assert_eq!((reading.flags, reading.rx_dropped), (None, None));
    let unknown = Rate { width_mhz: 20, ..Rate::default() };
    assert_eq!(reading.tx_rate, Some(unknown), "a rate of which nothing is known");
    assert_eq!(reading.tx_packets, Some(77));
}

#[test]
fn nests_of_no_interest_are_jumped_over_whatever_is_in_them() {
    let info = attributes().attribute(31, &[0xff; 888]).attribute(200, &[1; 9]).number(9, 3);
    assert_eq!(read(&info).rx_packets, Some(3));
}

#[test]
fn chains_keep_their_numbers_and_a_chain_too_many_is_left_out() {
    let nest = byte(byte(byte(attributes(), 0, 0xd8), 3, 0xd0), 8, 1);
    let chains = read(&attributes().nest(25, &nest)).chain_signal;
    assert_eq!(chains.iter().collect::<Vec<_>>(), [(0, -40), (3, -48)]);
    assert_eq!((chains.get(1), chains.get(8), chains.is_empty()), (None, None, false));
}

#[test]
fn a_flag_counts_only_where_the_kernel_knows_it() {
    let flags = |known: u32, set: u32| {
        let bytes = [known.to_ne_bytes(), set.to_ne_bytes()].concat();
        read(&attributes().attribute(17, &bytes)).flags.unwrap()
    };
    let all = flags(0xfe, 0xa2);
    assert!(all.authorised() && all.authenticated() && all.associated());
    assert_eq!(all.known & all.set, 0xa2);
    assert!(!flags(0xfc, 0x02).authorised());
}

#[test]
fn the_link_that_a_station_associated_over_is_not_that_of_its_figures() {
    let both = message(19, 1, &attributes()).attribute(313, &[2]).attribute(314, &address(9));
    let reading = station(both.body()).unwrap();
    assert_eq!((reading.link, reading.mld_address), (None, Some(address(9))));
}

fn link(id: u8, packets: u32) -> Request {
    attributes().attribute(313, &[id]).nest(21, &attributes().number(9, packets))
}

fn all(message: &Request) -> Vec<StationReading> {
    let mut readings = Vec::new();
    stations(message.body(), |reading| readings.push(*reading));
    readings
}

#[test]
fn a_fragment_for_one_link_is_that_links_and_not_an_empty_station() {
    let fragment = message(19, 1, &attributes()).nest(312, &attributes().nest(2, &link(1, 50)));
    let readings = all(&fragment);
    assert_eq!(readings.len(), 1);
    let StationReading { address: whole, link, rx_packets, .. } = readings[0];
    assert_eq!((whole, link, rx_packets), (address(1), Some(1), Some(50)));
    assert_eq!(station(fragment.body()), Some(readings[0]));
}

#[test]
fn links_within_a_stations_message_follow_it() {
    let links = attributes().nest(1, &link(0, 20)).nest(3, &link(2, 30));
    let whole = message(19, 1, &attributes().number(9, 50).number(10, 7)).nest(312, &links);
    let readings = all(&whole);
    let seen: Vec<_> = readings.iter().map(|one| (one.link, one.rx_packets)).collect();
    assert_eq!(seen, [(None, Some(50)), (Some(0), Some(20)), (Some(2), Some(30))]);
    assert_eq!(readings[1].tx_packets, None, "the whole's figures are not the link's");
}

#[test]
fn a_link_without_a_number_or_figures_is_passed_over() {
    let nameless = attributes().nest(1, &attributes().number(9, 1));
    let empty = attributes().nest(1, &attributes().attribute(313, &[1]));
    for links in [nameless, empty] {
        assert_eq!(all(&message(19, 1, &attributes()).nest(312, &links)), []);
    }
}

#[test]
fn a_message_without_an_interface_or_a_station_is_none() {
    assert_eq!(station(Request::generic("", 28, 19).number(3, 4).body()), None);
    assert_eq!(station(Request::generic("", 28, 19).attribute(6, &address(1)).body()), None);
    assert_eq!(station(Request::generic("", 28, 19).number(3, 4).attribute(6, &[2]).body()), None);
    assert_eq!(station(&[]), None);
}

#[test]
fn a_survey_keeps_what_is_unknown_unknown() {
    let info = attributes().number(1, 5180).attribute(3, &[]).attribute(4, &900_u64.to_ne_bytes());
    let message = |info: &Request| Request::generic("", 28, 51).number(3, 4).nest(84, info);
    let reading = survey(message(&byte(info.clone(), 2, 0xa1)).body()).unwrap();
    assert_eq!((reading.frequency_mhz, reading.in_use), (5180, true));
    assert_eq!((reading.noise_dbm, reading.active_ms), (Some(-95), Some(900)));
    assert_eq!(reading.busy_ms, None);
    assert_eq!(survey(message(&info).body()).unwrap().noise_dbm, None);
    assert_eq!(survey(message(&attributes()).body()), None, "no channel");
}

fn wlan0() -> Request {
    Request::generic("", 28, 7)
        .number(3, 4)
        .text(4, "wlan0")
        .number(1, 1)
        .number(5, 3)
        .attribute(0xdead & 0x3fff, &[1, 2, 3])
        .attribute(6, &address(9))
}

#[test]
fn an_interface_is_read_among_unknown_attributes() {
    let expected = Interface {
        index: 4,
        name: "wlan0".into(),
        wiphy: 1,
        kind: InterfaceKind::AccessPoint,
        address: address(9),
        ssid: None,
        channel: None,
        first_link: None,
    };
    assert_eq!(interface(wlan0().body()), Some(expected));
}

#[test]
fn an_interface_reports_its_network_and_channel() {
    let air = |request: Request| request.number(38, 5955).number(159, 13);
    let found = interface(air(wlan0().attribute(52, b"caf\xe9")).body()).unwrap();
    assert_eq!(found.ssid.as_deref(), Some(&b"caf\xe9"[..]));
    let channel = found.channel.unwrap();
    assert_eq!((channel.frequency_mhz, channel.width_mhz), (5955, Some(320)));
    let link = air(attributes().attribute(313, &[1]).attribute(6, &address(3)));
    let found = interface(wlan0().nest(312, &attributes().nest(1, &link)).body()).unwrap();
    assert_eq!(found.first_link, Some(channel));
    assert_eq!(found.channel, None, "several links have several channels");
}

#[test]
fn an_interface_that_lacks_what_every_interface_has_is_none() {
    let parts: [fn(Request) -> Request; 5] = [
        |request| request.number(3, 4),
        |request| request.text(4, "wlan0"),
        |request| request.number(1, 1),
        |request| request.number(5, 3),
        |request| request.attribute(6, &[2, 0, 0, 0, 1, 9]),
    ];
    for missing in 0..parts.len() {
        let others = parts.iter().enumerate().filter(|(at, _)| *at != missing);
        let message = others.fold(Request::generic("", 28, 7), |all, (_, part)| part(all));
        assert_eq!(interface(message.body()), None, "without part {missing}");
    }
    let short = wlan0().body().to_vec();
    assert_eq!(interface(&short[..short.len() - 6]), None, "a cut address");
}

proptest! {
    #[test]
    fn any_information_leaves_the_station_its_name(info: Vec<u8>) {
        let reading = station(message(19, 1, &attributes()).attribute(21, &info).body()).unwrap();
        prop_assert_eq!((reading.interface, reading.address), (4, address(1)));
    }
}
