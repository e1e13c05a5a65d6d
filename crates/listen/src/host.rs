//! Which `Host` is served: the defence against DNS rebinding.
//!
//! A web page can make a name of its own mean 127.0.0.1, and read what a browser gets there as its own. But the browser
//! sends that name: addresses, `localhost` and the owner's names are served, any other name is not.

use std::net::{Ipv4Addr, Ipv6Addr};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hosts {
    /// No browser comes this way: nothing is checked.
    any: bool,
    names: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadHost {
    /// There is none, or several, or it is no host: HTTP/1.1 wants exactly one (RFC 9112, section 3.2).
    Malformed,
    Foreign,
}

impl Hosts {
    /// Addresses, `localhost`, and these names.
    pub fn named(names: impl IntoIterator<Item = String>) -> Self {
        Self { any: false, names: names.into_iter().collect() }
    }

    /// Any host: for a UNIX socket, which no browser opens.
    pub fn any() -> Self {
        Self { any: true, names: Vec::new() }
    }

    /// Whether a request with these values of `Host` is served. `required`: HTTP/1.1, where one is to be there.
    pub fn check<'a>(
        &self,
        mut values: impl Iterator<Item = &'a [u8]>,
        required: bool,
    ) -> Result<(), BadHost> {
        if self.any {
            return Ok(());
        }
        let value = match (values.next(), values.next()) {
            (Some(value), None) => value,
            (None, None) if !required => return Ok(()),
            _ => return Err(BadHost::Malformed),
        };
        let name = std::str::from_utf8(value).ok().and_then(without_port);
        let name = name.filter(|name| !name.is_empty()).ok_or(BadHost::Malformed)?;
        if self.serves(name) { Ok(()) } else { Err(BadHost::Foreign) }
    }

    fn serves(&self, name: &str) -> bool {
        if let Some(inner) = name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            return inner.parse::<Ipv6Addr>().is_ok();
        }
        // A dot at its end makes a name absolute, and means the same.
        let name = name.strip_suffix('.').unwrap_or(name);
        name.parse::<Ipv4Addr>().is_ok()
            || name.eq_ignore_ascii_case("localhost")
            || self.names.iter().any(|known| known.eq_ignore_ascii_case(name))
    }
}

/// A host without its port; `None` where what stands behind the colon is none.
fn without_port(value: &str) -> Option<&str> {
    let value = value.trim();
    let end = value.find(']').map_or(0, |bracket| bracket + 1);
    let Some(colon) = value[end..].find(':') else { return Some(value) };
    let port = &value[end + colon + 1..];
    port.bytes().all(|byte| byte.is_ascii_digit()).then_some(&value[..end + colon])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(value: &str) -> Result<(), BadHost> {
        Hosts::named(["router.lan".to_owned()]).check([value.as_bytes()].into_iter(), true)
    }

    #[test]
    fn addresses_localhost_and_given_names_are_served() {
        let addresses = "127.0.0.1 127.0.0.1:9810 192.168.1.1:80 [::1] [::1]:9810";
        let names = "localhost LocalHost:9810 localhost.:9810 router.lan";
        for value in addresses.split(' ').chain(names.split(' ')).chain([" Router.LAN:1 "]) {
            assert_eq!(check(value), Ok(()), "{value}");
        }
    }

    #[test]
    fn any_other_name_is_foreign() {
        let names = "evil.example evil.example:9810 localhost.evil.example 127.0.0.1.evil.example xrouter.lan";
        for value in
            names.split(' ').chain(["0x7f000001", "127.1", "[evil]", "localhost@evil.example"])
        {
            assert_eq!(check(value), Err(BadHost::Foreign), "{value}");
        }
    }

    #[test]
    fn a_host_that_is_none_is_malformed() {
        for value in ["", ":9810", "localhost:evil", "::1", "localhost:80:80"] {
            assert_eq!(check(value), Err(BadHost::Malformed), "{value}");
        }
        let check = |values: &[&'static [u8]], required| {
            Hosts::default().check(values.iter().copied(), required)
        };
        assert_eq!(check(&[], true), Err(BadHost::Malformed));
        assert_eq!(check(&[], false), Ok(()));
        assert_eq!(check(&[b"localhost", b"evil.example"], false), Err(BadHost::Malformed));
        assert_eq!(check(&[b"local\xffhost"], true), Err(BadHost::Malformed));
        assert_eq!(Hosts::any().check([&b"evil"[..]].into_iter(), true), Ok(()));
    }
}
