//! What packages would have set up if they had been installed and not only unpacked: accounts and folders.
//!
//! Nothing of a package is executed when the image is made. Its `postinst` is read in place of run: what it asks of
//! the programs that [`Accounts`] and [`Folders`] know, in plain words, with variables that it sets itself, is made.
//! So are lines of sysusers.d and tmpfiles.d, and folders that a unit would get from systemd. What a script asks of
//! these programs in any other way is reported as not made; everything else that it does is left undone. Pure.

use std::collections::BTreeMap;

use super::{accounts::Accounts, folders::Folders};

/// No text is longer that is read, bytes.
pub(super) const LONGEST: u64 = 256 << 10;

/// Characters shown of each request that was not met,
const LONGEST_SHOWN: usize = 80;

const MOST_SHOWN: usize = 8;

/// Programs that make accounts, and those that make folders.
const ACCOUNT_PROGRAMS: [&str; 4] = ["adduser", "useradd", "addgroup", "groupadd"];
const FOLDER_PROGRAMS: [&str; 4] = ["mkdir", "install", "chown", "chmod"];

/// Where an unpacked package says what it needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// A maintainer's script.
    Script,
    /// A file of sysusers.d.
    Sysusers,
    /// A file of tmpfiles.d.
    Tmpfiles,
    Unit,
}

/// Everything that packages ask for.
#[derive(Debug, Default)]
pub(super) struct Setup {
    /// Users and groups.
    pub(super) accounts: Accounts,
    folders: Folders,
}

/// One request, in the package's words.
#[derive(Debug)]
pub(super) struct Asked {
    words: String,
    /// Whether it is met; else it cannot be known without running the script.
    is_made: bool,
}

impl Source {
    /// The source that a file of the unpacked packages is, if it is one.
    pub(super) fn of(path: &str, scripts: &str) -> Option<Self> {
        let path = path.strip_prefix("usr/").unwrap_or(path);
        match path {
            _ if path.starts_with(scripts) => Some(Self::Script),
            _ if path.starts_with("lib/sysusers.d/") => Some(Self::Sysusers),
            _ if path.starts_with("lib/tmpfiles.d/") => Some(Self::Tmpfiles),
            _ if path.starts_with("lib/systemd/system/") && path.ends_with(".service") => {
                Some(Self::Unit)
            }
            _ => None,
        }
    }
}

impl Setup {
    /// Adds what a file asks for, and gives each request back.
    pub(super) fn read(&mut self, source: Source, text: &str) -> Vec<Asked> {
        match source {
            Source::Script => {
                commands(text).iter().filter_map(|command| self.command(command)).collect()
            }
            Source::Unit => {
                let made = self.folders.unit(text);
                let made = made.iter().map(|words| Asked::new(words, true));
                made.chain(self.before_start(text)).collect()
            }
            Source::Sysusers | Source::Tmpfiles => {
                let lines = text.lines().map(str::trim).filter(|line| !line.starts_with('#'));
                let lines = lines.filter_map(shlex::split).filter(|words| !words.is_empty());
                lines.filter_map(|words| self.line(source, &words)).collect()
            }
        }
    }

    /// What a unit runs before its daemon: the same programs, without a shell.
    fn before_start(&mut self, unit: &str) -> Vec<Asked> {
        let lines = unit.lines().filter_map(|line| line.trim().strip_prefix("ExecStartPre="));
        let plain = lines.map(|line| line.trim_start_matches(['-', '+', '!', ':', '@']));
        plain.flat_map(commands).filter_map(|words| self.command(&words)).collect()
    }

    fn command(&mut self, words: &[String]) -> Option<Asked> {
        let asks = |of: &[&str], word: &String| of.contains(&program(word));
        let either = |word: &String| asks(&ACCOUNT_PROGRAMS, word) || asks(&FOLDER_PROGRAMS, word);
        let at = words.iter().position(either)?;
        let (name, rest) = (program(&words[at]), &words[at + 1..]);
        let made = match asks(&ACCOUNT_PROGRAMS, &words[at]) {
            true => self.accounts.ask(name, rest),
            false => self.folders.ask(name, rest),
        };
        Some(Asked::new(&format!("{name} {}", rest.join(" ")), made))
    }

    /// A line of sysusers.d or tmpfiles.d; one that only removes or changes what an earlier boot left asks for nothing.
    fn line(&mut self, source: Source, words: &[String]) -> Option<Asked> {
        if source == Source::Tmpfiles && words[0].starts_with(['r', 'R', 'x', 'X', 'e', 'z', 'Z']) {
            return None;
        }
        let made = match source {
            Source::Sysusers => self.accounts.sysusers(words),
            _ => self.folders.tmpfiles(words),
        };
        Some(Asked::new(&words.join(" "), made))
    }

    /// The folders, a line each for pid 1.
    pub(super) fn folder_lines(&self) -> String {
        self.folders.lines(&self.accounts)
    }
}

impl Asked {
    fn new(words: &str, is_made: bool) -> Self {
        let shown: String = words.chars().take(LONGEST_SHOWN).collect();
        let cut = if shown.len() < words.len() { "…" } else { "" };
        Self { words: shown + cut, is_made }
    }

    /// What was made and what was not, in one line; `None` where nothing was asked for.
    pub(super) fn summary(all: &[Self]) -> Option<String> {
        let list = |verb: &str, is_made: bool| {
            let asked: Vec<_> = all.iter().filter(|one| one.is_made == is_made).collect();
            let shown: Vec<_> =
                asked.iter().take(MOST_SHOWN).map(|one| format!("`{}`", one.words)).collect();
            let rest = asked.len().saturating_sub(MOST_SHOWN);
            let more = if rest > 0 { format!(" and {rest} more") } else { String::new() };
            (!asked.is_empty()).then(|| format!("{verb}: {}{more}", shown.join(", ")))
        };
        let parts = [list("made", true), list("not made", false)];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        (!parts.is_empty())
            .then(|| format!("accounts and folders of packages: {}", parts.join("; ")))
    }
}

/// The commands of a script in plain words, with the variables that it has set before. A line that is no plain words,
/// as one with a quote that ends elsewhere, has none.
fn commands(script: &str) -> Vec<Vec<String>> {
    let mut variables = BTreeMap::new();
    let mut commands = Vec::new();
    for line in script.replace("\\\n", " ").lines() {
        let Some(words) = shlex::split(line.trim()) else { continue };
        let words = words.iter().map(|word| expanded(word, &variables)).flat_map(with_end_apart);
        let words: Vec<String> = words.collect();
        if let [word] = words.as_slice()
            && let Some((name, value)) = word.split_once('=')
        {
            variables.insert(name.to_owned(), value.to_owned());
            continue;
        }
        let each = words.split(|word| ends_command(word)).filter(|command| !command.is_empty());
        commands.extend(each.map(<[String]>::to_vec));
    }
    commands
}

/// A program's name without its folder.
fn program(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

/// A word, and the end of the command apart where it clings to it.
fn with_end_apart(word: String) -> Vec<String> {
    match word.strip_suffix(';') {
        Some(word) => vec![word.to_owned(), ";".to_owned()],
        None => vec![word],
    }
}

fn ends_command(word: &str) -> bool {
    matches!(word, "||" | "&&" | "|" | ";" | "then" | "fi") || word.starts_with(';')
}

/// A word with the variables that the script has set before: `$NAME` and `${NAME}` alone.
fn expanded(word: &str, variables: &BTreeMap<String, String>) -> String {
    let mut word = word.to_owned();
    // The longest first: `$USER_NAME` is not `$USER`.
    let mut known: Vec<_> = variables.iter().collect();
    known.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
    for (name, value) in known {
        word = word.replace(&format!("${{{name}}}"), value).replace(&format!("${name}"), value);
        // A script that doubles a variable with each line must not fill our memory.
        word.truncate(word.floor_char_boundary(4096));
    }
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(script: &str) -> (Setup, Vec<Asked>) {
        let mut setup = Setup::default();
        let asked = setup.read(Source::Script, script);
        (setup, asked)
    }

    fn accounts(script: &str) -> (String, String) {
        let (Setup { accounts, .. }, _) = of(script);
        (accounts.passwd(), accounts.group_lines())
    }

    #[test]
    fn a_user_that_a_script_makes_over_two_lines_is_there() {
        let (passwd, group) = accounts(
            "case \"$1\" in\n configure)\n  adduser --system --disabled-login --home /run/lldpd \\\n --no-create-home --quiet --force-badname --group _lldpd\n ;;\nesac\n",
        );
        assert_eq!(passwd, "_lldpd:x:110:110::/run/lldpd:/bin/false\n");
        assert_eq!(group, "_lldpd:x:110:\n");
    }

    #[test]
    fn variables_that_the_script_sets_are_known() {
        let (passwd, group) = accounts(
            "DIR=\"/var/lib/snmp\"\nSNMP_USER=\"Debian-snmp\"\nSNMP=\"x\"\nadduser --quiet --system --home \"$DIR\" --shell \"$SH\" \"${SNMP_USER}\"\nif ! getent group ssl-cert >/dev/null; then addgroup --system --force-badname ssl-cert; fi\n",
        );
        assert_eq!(passwd, "Debian-snmp:x:110:110::/var/lib/snmp:/bin/false\n");
        assert_eq!(group, "Debian-snmp:x:110:\nssl-cert:x:111:\n");
    }

    #[test]
    fn what_is_made_and_what_is_not_is_one_line() {
        let summary = |script: &str| Asked::summary(&of(script).1);
        assert_eq!(summary("echo hello"), None);
        assert_eq!(
            summary("adduser --system _lldpd\nadduser --quiet _lldpd adm\nuseradd \"$1\" || true")
                .unwrap(),
            "accounts and folders of packages: made: `adduser --system _lldpd`; not made: `adduser --quiet _lldpd adm`, `useradd $1`"
        );
        let many = "groupadd \"$1\"\n".repeat(10);
        assert!(summary(&many).unwrap().ends_with("`groupadd $1` and 2 more"));
    }

    #[test]
    fn what_is_no_plain_name_makes_nobody() {
        for script in [
            "adduser --system \"$1\"",
            "adduser --system 'a:0:0'",
            "adduser --quiet snmp adm",
            "echo 'run adduser first",
            "adduser --home '/x:y' ../etc",
            "",
        ] {
            assert_eq!(accounts(script), (String::new(), String::new()), "{script}");
        }
        assert_eq!(accounts("adduser --home '/x:y' a").0, "a:x:110:110::/nonexistent:/bin/false\n");
    }

    #[test]
    fn folders_of_a_script_a_unit_and_tmpfiles_stand_in_the_list() {
        let (mut setup, mut asked) = of(
            "DIR=/var/lib/some\nadduser --system some\nif [ ! -d $DIR ]; then mkdir -p $DIR; fi\nchown some: $DIR && rm -rf $DIR/old\nmkdir $OTHER",
        );
        asked.extend(setup.read(Source::Unit, "[Service]\nUser=some\nRuntimeDirectory=some\n"));
        let tmpfiles =
            "# a comment\n\nd /var/log/some 0750 root adm\nL /etc/x - - - - y\nr! /etc/x.lock\n";
        asked.extend(setup.read(Source::Tmpfiles, tmpfiles));
        setup.read(Source::Script, "mkdir /run/quiet\nmkdir $QUIET");
        let lines = "make - - - /run/quiet\nmake - 110 110 /run/some\nmake - 110 110 /var/lib/some\nmake 750 0 4 /var/log/some\n";
        assert_eq!(setup.folder_lines(), lines);
        let summary = "accounts and folders of packages: made: `adduser --system some`, `mkdir -p /var/lib/some`, `chown some: /var/lib/some`, `RuntimeDirectory=some`, `d /var/log/some 0750 root adm`; not made: `mkdir $OTHER`, `L /etc/x - - - - y`";
        assert_eq!(Asked::summary(&asked).unwrap(), summary);
    }

    #[test]
    fn a_folder_that_a_unit_makes_before_its_daemon_is_made() {
        let mut setup = Setup::default();
        let unit = "[Service]\nExecStartPre=-/bin/mkdir -p /run/lldpd\nExecStartPre=/bin/true\n";
        let asked = setup.read(Source::Unit, unit);
        assert_eq!(setup.folder_lines(), "make - - - /run/lldpd\n");
        let summary = "accounts and folders of packages: made: `mkdir -p /run/lldpd`";
        assert_eq!(Asked::summary(&asked).unwrap(), summary);
    }

    #[test]
    fn a_request_that_is_cut_says_so() {
        let long = format!("adduser --system --home /var/lib/{} a", "x".repeat(80));
        assert!(Asked::summary(&of(&long).1).unwrap().ends_with("xx…`"));
    }

    #[test]
    fn sources_are_known_by_their_places() {
        for (path, source) in [
            ("scripts/lldpd.deb", Some(Source::Script)),
            ("usr/lib/sysusers.d/a.conf", Some(Source::Sysusers)),
            ("usr/lib/tmpfiles.d/a.conf", Some(Source::Tmpfiles)),
            ("lib/systemd/system/a.service", Some(Source::Unit)),
            ("usr/lib/systemd/system/a.service", Some(Source::Unit)),
            ("lib/systemd/system/a.timer", None),
            ("etc/passwd", None),
        ] {
            assert_eq!(Source::of(path, "scripts/"), source, "{path}");
        }
    }
}
