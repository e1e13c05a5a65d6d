//! Study files for tests: small, quick, and changed one thing at a time.

/// The packages of all tests that want any beyond the image's own: one image, and one access point, has them all.
pub(crate) const PACKAGES: [&str; 4] = ["lldpd", "openssh-server", "snmp", "snmpd"];

/// A study with six clients, two short repetitions and the variants that a test adds.
#[derive(Clone, Debug)]
pub(crate) struct Study {
    /// Keys of the access point.
    access_point: String,
    process: String,
    window: String,
    repetitions: u32,
    perturb: &'static str,
    /// Recordings of stacks, and the tables of `[count]`.
    profiles: u32,
    count: String,
    variants: String,
}

impl Study {
    pub(crate) const QUESTION: &str = "What does the harness ask?";

    pub(crate) fn small() -> Self {
        Self {
            access_point: String::new(),
            process: "hostapd".to_owned(),
            window: "4s".to_owned(),
            repetitions: 2,
            perturb: "start",
            profiles: 0,
            count: String::new(),
            variants: String::new(),
        }
    }

    /// These keys of its access point, too, in lines after the others.
    pub(crate) fn access_point(mut self, keys: &str) -> Self {
        self.access_point = format!("\n{keys}");
        self
    }

    pub(crate) fn process(mut self, name: &str) -> Self {
        name.clone_into(&mut self.process);
        self
    }

    pub(crate) fn window(mut self, window: &str) -> Self {
        window.clone_into(&mut self.window);
        self
    }

    pub(crate) fn repetitions(mut self, repetitions: u32) -> Self {
        self.repetitions = repetitions;
        self
    }

    /// Stacks of every variant are recorded this many times.
    pub(crate) fn profiles(mut self, repetitions: u32) -> Self {
        self.profiles = repetitions;
        self
    }

    /// Calls are counted as this text says, which begins with `[count]`.
    pub(crate) fn count(mut self, text: &str) -> Self {
        text.clone_into(&mut self.count);
        self
    }

    /// Every repetition is the same machine state.
    pub(crate) fn unperturbed(mut self) -> Self {
        self.perturb = "nothing";
        self
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

    pub(crate) fn variant(mut self, name: &str, keys: &str) -> Self {
        self.variants.push_str(&format!("\n[[variant]]\nname = \"{name}\"\n{keys}\n"));
        self
    }

    pub(crate) fn text(&self) -> String {
        let Self { access_point, process, window, repetitions, perturb, profiles, count, variants } =
            self;
        format!(
            "question = \"{}\"\n\n\
             [access-point]\nradios = 3\nclients = [6]{access_point}\n\n\
             [subject]\nprocess = \"{process}\"\n\n\
             [trial]\nwarm-up = \"1s\"\nwindow = \"{window}\"\nrepetitions = {repetitions}\n\
             perturb = \"{perturb}\"\n\n[profile]\nrepetitions = {profiles}\n{count}\n{variants}",
            Self::QUESTION
        )
    }
}
