//! Sees to it that access-point interfaces are there, enabled in hostapd, up, and on their channel.
//!
//! Talks to rtnetlink, nl80211 and hostapd's control socket. It makes no interface and writes no configuration.

use linux::{
    error::chain,
    link::Links,
    nl80211::{Interface, Nl80211},
};
use model::{
    topology::{Correction, InterfaceOrder},
    wire::Refusal,
};

use super::{
    Fault,
    channel::{Preserved, switch},
};
use crate::{
    census,
    hostapd::{self, Control},
    session::{End, Polling, Session},
};

/// hostapd may take this long until an access point is on the air, and how often it is looked at, ns. It
/// scans for its neighbours before it uses wide channels of 2.4 GHz.
const ENABLED: Polling = Polling { for_ns: 20_000_000_000, every_ns: 100_000_000 };

/// A channel switch is announced for half a second.
const SWITCHED: Polling = Polling { for_ns: 10_000_000_000, every_ns: 100_000_000 };

/// Looks at these interfaces, or where none is named at those that there are, and repairs them.
pub(super) fn assert(
    session: &mut Session,
    orders: &[InterfaceOrder],
    corrections: &mut Vec<Correction>,
) -> Result<(), End> {
    if orders.is_empty() {
        for name in census::names() {
            let order = InterfaceOrder { name, megahertz: None };
            Radio { session, order: &order, corrections, is_named: false }.assert()?;
        }
    }
    for order in orders {
        Radio { session, order, corrections, is_named: true }.assert()?;
    }
    Ok(())
}

/// An interface that is looked at and repaired.
struct Radio<'a> {
    session: &'a mut Session,
    order: &'a InterfaceOrder,
    corrections: &'a mut Vec<Correction>,
    /// Whether the study names this interface: hostapd must then answer for it.
    is_named: bool,
}

impl Radio<'_> {
    fn assert(mut self) -> Result<(), End> {
        let mut links = Links::open().map_err(|error| Refusal::plain(chain(&error)))?;
        self.is_up(&mut links)?;
        // First, because hostapd brings up what it enables.
        self.enable()?;
        self.bring_up(&mut links)?;
        self.pin()
    }

    fn fault<'a>(&'a self, how: &'a str) -> Fault<'a> {
        Fault { what: &self.order.name, how }
    }

    fn repaired(&mut self, how: &str, done: impl Into<String>) {
        let correction = self.fault(how).repaired(done);
        self.corrections.push(correction);
    }

    /// Whether it is up; refused where it is not there.
    fn is_up(&self, links: &mut Links) -> Result<bool, Refusal> {
        let up = links.is_up(&self.order.name);
        up.map_err(|error| Refusal::plain(chain(&error)))?
            .ok_or_else(|| self.fault("not there").refused(others(&census::names())))
    }

    fn enable(&mut self) -> Result<(), End> {
        let name = self.order.name.as_str();
        let status = match hostapd::status(name) {
            Ok(status) => status,
            Err(error) if self.is_named => {
                return Err(self.fault("without an answer of hostapd").refused(error).into());
            }
            Err(_) => return Ok(()),
        };
        let state = status.state().unwrap_or("without a state");
        if state == "ENABLED" {
            return Ok(());
        }
        let (how, is_off) = (format!("{state} in hostapd"), is_off(state));
        if is_off {
            let enabled = Control::of(name).and_then(|hostapd| hostapd.order("ENABLE"));
            enabled.map_err(|why| self.fault(&how).refused(why))?;
        }
        let enabled = || {
            let status = hostapd::status(name).ok()?;
            (status.state() == Some("ENABLED")).then_some(())
        };
        if self.session.until(ENABLED, enabled)?.is_none() {
            let why = format!("it is not enabled after {} s", ENABLED.for_ns / 1_000_000_000);
            return Err(self.fault(&how).refused(why).into());
        }
        self.repaired(&how, if is_off { "enabled" } else { "waited for" });
        Ok(())
    }

    fn bring_up(&mut self, links: &mut Links) -> Result<(), Refusal> {
        if self.is_up(links)? {
            return Ok(());
        }
        let refused = |error| self.fault("down").refused(chain(&error));
        let index = links.index(&self.order.name).map_err(refused)?;
        links.set_up(index.unwrap_or(0)).map_err(refused)?;
        if !self.is_up(links)? {
            return Err(self.fault("down").refused("it goes down again"));
        }
        self.repaired("down", "set up");
        Ok(())
    }

    /// Sees to it that it is on its channel, where one is ordered.
    fn pin(&mut self) -> Result<(), End> {
        let Some(wanted) = self.order.megahertz else { return Ok(()) };
        let name = self.order.name.as_str();
        // One that has just been enabled is on the air a moment later.
        let on_air = self.session.until(SWITCHED, || on_air(name))?;
        let Some((megahertz, width)) = on_air else {
            return Err(self
                .fault("on no channel")
                .refused("its access point does not beacon")
                .into());
        };
        if megahertz == wanted {
            return Ok(());
        }
        let how = format!("on {megahertz} MHz");
        let refused = |why: String| self.fault(&how).refused(why);
        let status = hostapd::status(name).map_err(|error| refused(error.to_string()))?;
        let words = switch(wanted, Preserved::of(width, &status));
        let ordered = Control::of(name).and_then(|hostapd| hostapd.order(&words));
        ordered.map_err(|error| refused(error.to_string()))?;
        let there = || on_air_at(name, wanted);
        if self.session.until(SWITCHED, there)?.is_none() {
            let why = format!(
                "it is not on {wanted} MHz {} s after `{words}`",
                SWITCHED.for_ns / 1_000_000_000
            );
            return Err(self.fault(&how).refused(why).into());
        }
        self.repaired(&how, format!("switched to {wanted} MHz"));
        Ok(())
    }
}

/// Whether hostapd stays in this state until it gets a command; it leaves other states unprompted.
fn is_off(state: &str) -> bool {
    matches!(state, "DISABLED" | "UNINITIALIZED")
}

/// The primary channel and the width of an interface, MHz, while it is on the air.
fn on_air(name: &str) -> Option<(u32, u32)> {
    let interfaces = Nl80211::open().ok()?.interfaces().ok()?;
    place_of(interfaces.iter().find(|interface| interface.name == name)?)
}

fn on_air_at(name: &str, megahertz: u32) -> Option<()> {
    on_air(name).filter(|(at, _)| *at == megahertz).map(drop)
}

fn place_of(interface: &Interface) -> Option<(u32, u32)> {
    let channel = interface.channel?;
    Some((channel.frequency_mhz, channel.width_mhz.map_or(20, Into::into)))
}

fn others(names: &[String]) -> String {
    match names {
        [] => "no access point is there; is hostapd running?".to_owned(),
        names => format!("access points are: {}", names.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_hostapd_does_not_leave_by_itself_is_enabled() {
        let states = ["DISABLED", "UNINITIALIZED", "COUNTRY_UPDATE", "without a state"];
        assert_eq!(states.map(is_off), [true, true, false, false]);
    }

    #[test]
    fn who_is_not_there_is_reported_with_those_who_are() {
        assert_eq!(
            others(&["wlan0".to_owned(), "wlan1".to_owned()]),
            "access points are: wlan0, wlan1"
        );
        assert!(others(&[]).contains("hostapd"));
    }
}
