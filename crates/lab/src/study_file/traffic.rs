//! The rules of traffic, applications and controls that their types cannot say. Pure.

use model::{
    span::Span,
    traffic::{Application, Control, Flow, Traffic},
};
use toml::de::DeTable;

use super::lines::Checked;

/// The smallest and the largest payload of a datagram that crosses the road in one packet, bytes: iperf3's own
/// header, and an Ethernet packet without those of IPv4 and UDP.
const PAYLOADS: std::ops::RangeInclusive<u32> = 16..=1472;

/// iperf3 opens no more streams (its `MAX_STREAMS`).
const MOST_STREAMS: u32 = 128;

/// Shares of a control group: 2 and 262144 are the kernel's `MIN_SHARES` and `MAX_SHARES`.
const WEIGHTS: std::ops::RangeInclusive<u32> = 2..=262_144;

/// Applications with more workers for each CPU measure the scheduler and nothing else.
const MOST_WORKERS: u32 = 64;

/// Round trips in a second beyond which the probes are traffic themselves.
const MOST_PROBES: u32 = 1000;

pub(super) fn traffic(traffic: &Traffic, window: Span) -> Checked {
    let is_udp = traffic.flow == Flow::Udp;
    if traffic.rate.is_some() && traffic.paced.is_some() {
        let why = "`rate` and `paced` both say how fast; leave one out";
        return Err(("paced", why.to_owned()));
    }
    for (key, is_said) in [("rate", traffic.rate.is_some()), ("paced", traffic.paced.is_some())] {
        if is_said && !is_udp {
            return Err((key, "TCP finds its own rate; a rate is for flow = \"udp\"".to_owned()));
        }
    }
    if traffic.rate == Some(0) || traffic.link_limit == Some(0) {
        let key = if traffic.rate == Some(0) { "rate" } else { "link-limit" };
        return Err((
            key,
            "0 bits in a second is no traffic; leave it out for no limit".to_owned(),
        ));
    }
    if let Some(paced) = traffic.paced.filter(|paced| !(0.01..=1.0).contains(&paced.get())) {
        return Err(("paced", format!("{paced} of the rate alone; write 1% to 100%")));
    }
    if !PAYLOADS.contains(&traffic.bytes) {
        let (least, most) = (PAYLOADS.start(), PAYLOADS.end());
        let why =
            format!("{} bytes; a datagram in one packet has {least} to {most}", traffic.bytes);
        return Err(("bytes", why));
    }
    if let Flow::Tcp(streams) = traffic.flow
        && !(1..=MOST_STREAMS).contains(&streams)
    {
        return Err(("flow", format!("{streams} streams; iperf3 has 1 to {MOST_STREAMS}")));
    }
    if traffic.probes > MOST_PROBES {
        let why = format!("{} probes in a second; at most {MOST_PROBES}", traffic.probes);
        return Err(("probes", why));
    }
    bursts(traffic, window)
}

/// A window that ends in the middle of a burst would lose what a control only made later.
fn bursts(traffic: &Traffic, window: Span) -> Checked {
    let Some((on, off)) = traffic.bursts else { return Ok(()) };
    if on.as_nanos() == 0 || off.as_nanos() == 0 {
        return Err(("bursts", "a burst and a pause are longer than 0s".to_owned()));
    }
    let round = on.as_nanos().saturating_add(off.as_nanos());
    if !window.as_nanos().is_multiple_of(round) {
        let round = Span::from_nanos(round);
        let why = format!("a window of {window} is not a whole number of rounds of {round}");
        return Err(("bursts", why));
    }
    Ok(())
}

pub(super) fn application(application: &Application) -> Checked {
    stressor("stressor", &application.stressor)?;
    if !(1..=MOST_WORKERS).contains(&application.workers) {
        let why =
            format!("{} workers for each CPU; write 1 to {MOST_WORKERS}", application.workers);
        return Err(("workers", why));
    }
    let ours = ["--timeout", "-t", "--metrics", "--metrics-brief"];
    if let Some(word) = application.words.iter().find(|word| ours.contains(&word.as_str())) {
        return Err(("words", format!("`{word}` is said by headroom itself; leave it out")));
    }
    match &application.swap {
        Some((_, every)) if every.as_nanos() == 0 => {
            Err(("swap", "each takes its turn for longer than 0s".to_owned()))
        }
        Some((word, _)) if !word.is_empty() => stressor("swap", word),
        _ => Ok(()),
    }
}

fn stressor(key: &'static str, word: &str) -> Checked {
    let plain = |name: &str| {
        !name.is_empty()
            && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
    };
    match word.strip_prefix("--") {
        Some(name) if plain(name) => Ok(()),
        _ => Err((key, format!("`{word}` is not a stressor; write stress-ng's word, as --stream"))),
    }
}

pub(super) fn control(control: &Control) -> Checked {
    match control {
        Control::None => Ok(()),
        Control::Together(parts) => together(parts),
        alone => control_alone(alone),
    }
}

/// Several at once: each kind once, and none that is more than a setting or a rule.
fn together(parts: &[Control]) -> Checked {
    let wrong = |why: &str| Err(("control", why.to_owned()));
    if parts.len() < 2 {
        return wrong("`together` has at least two controls; write one alone without it");
    }
    let is_more =
        |part: &Control| matches!(part, Control::None | Control::Guard(_) | Control::Together(_));
    if parts.iter().any(is_more) {
        return wrong("`together` is of settings and rules; guard and no control stand alone");
    }
    let kinds: Vec<_> = parts.iter().map(std::mem::discriminant).collect();
    if (1..kinds.len()).any(|at| kinds[..at].contains(&kinds[at])) {
        return wrong("`together` has one kind of control twice; keep one of them");
    }
    let is_quota = |part: &&Control| matches!(part, Control::Quota(_) | Control::Headroom(_));
    if parts.iter().filter(is_quota).count() > 1 {
        return wrong("`quota` and `headroom` set the same figure; keep one of them");
    }
    parts.iter().try_for_each(control_alone)
}

fn control_alone(control: &Control) -> Checked {
    let wrong = |why: String| Err(("control", why));
    match control {
        Control::Weight(weight) if !WEIGHTS.contains(weight) => {
            wrong(format!("a weight of {weight}; the kernel has 2 to 262144, 1024 is the default"))
        }
        Control::Quota(share) if !(0.001..=1.0).contains(&share.get()) => {
            wrong(format!("a quota of {share}; write 0.1% to 100% of all CPUs"))
        }
        Control::Headroom(share) if !(0.0..1.0).contains(&share.get()) => {
            wrong(format!("headroom of {share}; write less than 100%"))
        }
        Control::PacketNice(nice) if !(-20..=19).contains(nice) => {
            wrong(format!("a nice value of {nice}; the kernel has -20 to 19, 0 is the default"))
        }
        Control::FreezeAbove(0) => {
            wrong("frozen above 0 packets a second is frozen always; write at least 1".to_owned())
        }
        Control::Guard(policy) => match DeTable::parse(policy) {
            Ok(_) => Ok(()),
            Err(error) => {
                wrong(format!("the policy is no TOML: {}", error.message().replace('\n', "; ")))
            }
        },
        _ => Ok(()),
    }
}
