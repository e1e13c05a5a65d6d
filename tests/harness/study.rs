//! Study files for tests: small, quick, and changed one thing at a time.

/// The packages of all tests that want any beyond the image's own: one image, and one access point, has them all.
pub(crate) const PACKAGES: [&str; 4] = ["lldpd", "openssh-server", "snmp", "snmpd"];

const SMALL: &str = "\
question = \"What does the harness ask?\"

[access-point]
radios = 3
clients = [6]

[subject]
process = \"hostapd\"

[trial]
warm-up = \"1s\"
window = \"4s\"
repetitions = 2
perturb = \"start\"

[profile]
repetitions = 0
";

/// The text of a study with six clients, two short repetitions and the variants that a test adds.
#[derive(Clone, Debug)]
pub(crate) struct Study(String);

impl Study {
    pub(crate) const QUESTION: &str = "What does the harness ask?";

    pub(crate) fn small() -> Self {
        Self(SMALL.to_owned())
    }

    /// With another value of a key.
    fn set(self, table: &str, key: &str, value: &str) -> Self {
        let at = self.0.find(&format!("[{table}]")).unwrap();
        let at = at + self.0[at..].find(&format!("\n{key} = ")).unwrap() + 1;
        let end = at + self.0[at..].find('\n').unwrap();
        Self(format!("{}{key} = {value}{}", &self.0[..at], &self.0[end..]))
    }

    /// These keys of its access point, too, in lines after the others.
    pub(crate) fn access_point(self, keys: &str) -> Self {
        self.set("access-point", "clients", &format!("[6]\n{keys}"))
    }

    pub(crate) fn process(self, name: &str) -> Self {
        self.set("subject", "process", &format!("\"{name}\""))
    }

    pub(crate) fn warm_up(self, warm_up: &str) -> Self {
        self.set("trial", "warm-up", &format!("\"{warm_up}\""))
    }

    pub(crate) fn window(self, window: &str) -> Self {
        self.set("trial", "window", &format!("\"{window}\""))
    }

    pub(crate) fn repetitions(self, repetitions: u32) -> Self {
        self.set("trial", "repetitions", &repetitions.to_string())
    }

    /// Stacks of every variant are recorded this many times.
    pub(crate) fn profiles(self, repetitions: u32) -> Self {
        self.set("profile", "repetitions", &repetitions.to_string())
    }

    /// More tables, as they are.
    pub(crate) fn tables(self, text: &str) -> Self {
        Self(format!("{}\n{text}", self.0))
    }

    /// Calls of these functions are counted, each an inline table.
    pub(crate) fn count(self, functions: &str) -> Self {
        self.tables(&format!("[count]\nrepetitions = 1\nfunction = [{functions}]\n"))
    }

    /// Every repetition is the same machine state.
    pub(crate) fn unperturbed(self) -> Self {
        self.set("trial", "perturb", "\"nothing\"")
    }

    pub(crate) fn idle(self) -> Self {
        self.variant("idle", "load = \"none\"")
    }

    /// A variant that runs this every second. The text must hold no `'''`.
    pub(crate) fn load(self, name: &str, run: &str) -> Self {
        self.variant(name, &format!("load = {{ run = '''{run}''' }}"))
    }

    /// A variant of stationd, started with these flags and asked once a second by a monitor with these.
    pub(crate) fn stationd(self, name: &str, flags: &str, monitor: &str) -> Self {
        let keys = format!(
            "subject = {{ process = \"stationd\", ready = \"/run/stationd.sock\", start = \"stationd{flags}\" }}\n\
             load = {{ run = \"station-monitor{monitor} --every 1s\", long-running = true }}"
        );
        self.process("stationd").variant(name, &keys)
    }

    pub(crate) fn variant(self, name: &str, keys: &str) -> Self {
        Self(format!("{}\n[[variant]]\nname = \"{name}\"\n{keys}\n", self.0))
    }

    pub(crate) fn text(&self) -> String {
        self.0.clone()
    }
}
