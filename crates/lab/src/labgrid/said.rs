//! What labgrid-client prints of a place, read.

/// What `show` says of a place.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Shown {
    /// Its whole name; a part of it, or an alias, is enough for labgrid-client.
    pub(super) name: String,
    /// `HOST/USER` who has acquired it.
    pub(super) acquired: Option<String>,
    /// Who may use it alongside them.
    pub(super) allowed: Vec<String>,
    /// The computer through which alone its network service is reached: its exporter's.
    pub(super) proxy: Option<String>,
}

/// Reads what `show` prints; `None` where that is something else.
pub(super) fn shown(text: &str) -> Option<Shown> {
    let name = text.lines().find_map(|line| line.strip_prefix("Place '")?.strip_suffix("':"))?;
    // A comment stands before it, and may say anything.
    let last = |key: &str| text.lines().filter_map(|line| line.strip_prefix(key)).next_back();
    let acquired = last("  acquired: ")?;
    let allowed = last("  allowed: ").unwrap_or_default();
    Some(Shown {
        name: name.to_owned(),
        acquired: (acquired != "None").then(|| acquired.to_owned()),
        allowed: allowed.split(", ").filter(|user| !user.is_empty()).map(str::to_owned).collect(),
        proxy: proxy(text),
    })
}

/// What a network service says of the way to it: its fields stand below it, as Python prints a dictionary.
fn proxy(text: &str) -> Option<String> {
    let lines =
        text.lines().skip_while(|line| !line.contains("/NetworkService/") || line.starts_with(' '));
    let fields: String = lines.skip(1).take_while(|line| line.starts_with(' ')).collect();
    let proxy = fields.split_once("'proxy': '")?.1.split_once('\'')?.0;
    fields.contains("'proxy_required': True").then(|| proxy.to_owned())
}

/// `HOST/USER` in words.
pub(super) fn person(acquired: &str) -> String {
    let (host, user) = acquired.split_once('/').unwrap_or(("another computer", acquired));
    format!("{user} on {host}")
}

/// Where something of the place listens: labgrid's `NetworkService`.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Service {
    pub(super) name: String,
    pub(super) address: String,
    pub(super) username: String,
    pub(super) port: String,
}

/// The network services in what `env` prints: a list of resources, each a class with its fields, one a line.
pub(super) fn services(text: &str) -> Vec<Service> {
    let mut services = Vec::new();
    let mut in_service = false;
    for line in text.lines().map(str::trim) {
        if let Some(class) = line.strip_prefix("- ") {
            in_service = class == "NetworkService:";
            services.extend(in_service.then(Service::default));
        } else if let (true, Some(service), Some((key, value))) =
            (in_service, services.last_mut(), line.split_once(": "))
        {
            let field = match key {
                "name" => &mut service.name,
                "address" => &mut service.address,
                "username" => &mut service.username,
                "port" => &mut service.port,
                _ => continue,
            };
            value.trim_matches(['\'', '"']).clone_into(field);
        }
    }
    services
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As labgrid-client 26.0.1 prints it.
    const SHOWN: &str = "Place 'ap-1':
  comment: mine,
  acquired: None
  matches:
    lab1/ap-1/*
  acquired: lab/alice
  acquired resources:
    lab1/ap-1/NetworkService/NetworkService
  allowed: lab/bob, vm/root
  created: 2026-11-26 02:23:55.293230
  changed: 2026-11-26 02:23:56.806843
Acquired resource 'NetworkService' (lab1/ap-1/NetworkService/NetworkService):
  {'acquired': 'ap-1',
   'avail': True,
   'cls': 'NetworkService',
   'params': {'address': '127.0.0.1',
              'extra': {'proxy': 'exporter-1', 'proxy_required': False},
              'port': 2222,
              'username': 'root'}}
";

    const ENVIRONMENT: &str = "targets:
  ap-1:
    resources:
    - NetworkPowerPort:
        index: 1
        model: rest
        host: http://127.0.0.1:18080/power/{index}
    - NetworkService:
        username: root
        port: 2222
        address: 127.0.0.1
    - NetworkService:
        name: v6
        username: root
        address: '::1'
";

    #[test]
    fn a_place_says_who_has_it_and_who_may_use_it() {
        let place = shown(SHOWN).unwrap();
        assert_eq!((place.name.as_str(), place.acquired.as_deref()), ("ap-1", Some("lab/alice")));
        assert_eq!(place.allowed, ["lab/bob", "vm/root"]);
        assert_eq!(place.proxy, None);
        let isolated = SHOWN.replace("required': False", "required': True");
        assert_eq!(shown(&isolated).unwrap().proxy.as_deref(), Some("exporter-1"));
        let free = SHOWN.replace("lab/alice", "None").replace("lab/bob, vm/root", "");
        let place = shown(&free).unwrap();
        assert_eq!((place.acquired, place.allowed), (None, Vec::new()));
        assert_eq!(shown("something else"), None);
    }

    #[test]
    fn network_services_are_found_among_all_resources() {
        let service = |name: &str, address: &str, port: &str| Service {
            name: name.to_owned(),
            address: address.to_owned(),
            username: "root".to_owned(),
            port: port.to_owned(),
        };
        let wanted = [service("", "127.0.0.1", "2222"), service("v6", "::1", "")];
        assert_eq!(services(ENVIRONMENT), wanted);
        assert_eq!(services("targets: {}"), []);
    }
}
