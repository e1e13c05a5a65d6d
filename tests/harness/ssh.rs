//! Real ssh: a client with a key and names of its own, devices behind real servers, and the link in between.
//!
//! A device is a root with BusyBox and nothing else, on a mount that no one else sees; an OpenSSH or a dropbear server
//! leads to it on the loopback. With the server's end it is gone. What runs on it is known by that mount, whatever its
//! parent and its environment are.

use std::{
    collections::BTreeSet,
    env,
    fmt::Write as _,
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use rustix::process::Signal;

use super::{
    headroom::Headroom,
    place::Place,
    processes::{Process, eventually, free_port, send},
};

/// Nothing of headroom may be left on a device longer than this after its end.
const GRACE: Duration = Duration::from_secs(5);

/// ssh as headroom finds it, with a configuration and a key of the test's own.
#[derive(Debug)]
pub(crate) struct Client {
    folder: PathBuf,
    key: PathBuf,
}

impl Client {
    pub(crate) fn new(place: &Place) -> Self {
        let client = Self { folder: place.path("path"), key: place.path("key") };
        make_key(&client.key);
        let names = client.names();
        let script = format!("#!/bin/sh\nexec /usr/bin/ssh -F {} \"$@\"\n", names.display());
        place.script("path/ssh", &script);
        client
    }

    /// headroom with these words, which finds this ssh.
    pub(crate) fn headroom(&self, place: &Place, words: &str) -> Headroom {
        let path = env::var_os("PATH").unwrap();
        let folders = [self.folder.clone()].into_iter().chain(env::split_paths(&path));
        place.headroom(words).env("PATH", env::join_paths(folders).unwrap())
    }

    /// A name for what listens on a port of the loopback. The first value holds, as always in ssh's files: `more` comes
    /// before what names have in common.
    pub(crate) fn name(&self, name: &str, port: u16, more: &str) {
        let mut names = fs::read_to_string(self.names()).unwrap_or_default();
        let key = self.key.display();
        writeln!(
            names,
            "Host {name}\nHostName 127.0.0.1\nPort {port}\n{more}\nUser root\nIdentityFile {key}\n\
             IdentitiesOnly yes\nStrictHostKeyChecking no\nUserKnownHostsFile /dev/null\nLogLevel ERROR"
        )
        .unwrap();
        fs::write(self.names(), names).unwrap();
    }

    pub(crate) fn program(&self) -> PathBuf {
        self.folder.join("ssh")
    }

    /// The key that it shows; `.pub` is its public half.
    pub(crate) fn key(&self) -> &Path {
        &self.key
    }

    pub(crate) fn can(&self, name: &str, command: &str) -> bool {
        let output = Command::new(self.program()).args([name, command]).output();
        output.unwrap().status.success()
    }

    /// `ap.toml`, the file of a device that this client's configuration leads to.
    pub(crate) fn device_file(&self, place: &Place, address: &str, more: &str) {
        let names = self.names().display().to_string();
        let text = format!("address = \"{address}\"\nssh-config = \"{names}\"\n{more}");
        place.write("ap.toml", &text);
    }

    pub(crate) fn names(&self) -> PathBuf {
        self.folder.join("config")
    }
}

fn make_key(path: &Path) {
    let words = ["-q", "-t", "ed25519", "-N", "", "-f", path.to_str().unwrap()];
    assert!(Command::new("ssh-keygen").args(words).status().unwrap().success());
}

/// Whose server leads to a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Server {
    OpenSsh,
    Dropbear,
}

impl Server {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Server::OpenSsh => "openssh",
            Server::Dropbear => "dropbear",
        }
    }

    fn make_key(self, path: &Path) {
        match self {
            Server::OpenSsh => make_key(path),
            Server::Dropbear => {
                let mut command = Command::new("dropbearkey");
                command.args(["-t", "ed25519", "-f"]).arg(path);
                assert!(command.output().unwrap().status.success());
            }
        }
    }
}

/// Makes the root in `$1`, which has what its server needs of this machine and BusyBox, and becomes the server.
const RAISE: &str = r#"
set -e
mount -t tmpfs -o mode=755 device "$1"
cd "$1"
mkdir -p bin dev etc proc root/.ssh run/sshd sys tmp usr/lib usr/lib64 usr/sbin
chmod 700 root root/.ssh
chmod 1777 tmp
ln -s usr/lib usr/lib64 .
cp -a "$MADE/bin/." bin
cp /usr/sbin/sshd /usr/sbin/dropbear usr/sbin
for folder in usr/lib usr/lib64; do mount --bind "/$folder" "$folder"; done
for file in null zero urandom random; do : >"dev/$file"; mount --bind "/dev/$file" "dev/$file"; done
mount --rbind /proc proc
mount --rbind /sys sys
cat /proc/sys/kernel/random/uuid >etc/boot_id
mount --bind etc/boot_id proc/sys/kernel/random/boot_id
printf 'root:x:0:0::/root:/bin/sh\nsshd:x:100:65534::/run/sshd:/bin/false\n' >etc/passwd
cp "$MADE/key.pub" root/.ssh/authorized_keys
cp "$MADE/host_key" etc
chmod 600 root/.ssh/authorized_keys etc/host_key
printf 'ListenAddress 127.0.0.1\nPort %s\nHostKey /etc/host_key\nPidFile none\nUsePAM no\n' "$PORT" >etc/sshd_config
eval "$MORE"
case $SERVER in
openssh) exec ${UNDER-} chroot . /usr/sbin/sshd -D -e -f /etc/sshd_config ;;
dropbear) exec ${UNDER-} chroot . /usr/sbin/dropbear -F -E -s -p "127.0.0.1:$PORT" -r /etc/host_key -P /run/dropbear.pid ;;
esac
"#;

/// A device that ssh reaches. It ends when the value is dropped.
#[derive(Debug)]
pub(crate) struct Device {
    server: Child,
    kind: Server,
    /// What its root is made of.
    made: PathBuf,
    pub(crate) port: u16,
    more: String,
    files: BTreeSet<PathBuf>,
}

impl Device {
    /// A place of its own with a client and a device behind dropbear.
    pub(crate) fn alone(more: &str) -> Option<(Place, Client, Self)> {
        let place = Place::without_guests();
        let client = Client::new(&place);
        let device = Self::start(&place, &client, Server::Dropbear, more)?;
        Some((place, client, device))
    }

    /// A device that this client may log into, and knows by the server's name. `more` is a shell's, in the device's root
    /// before it is there: what else is to be mounted. `None`, with the reason, where there can be none.
    pub(crate) fn start(
        place: &Place,
        client: &Client,
        server: Server,
        more: &str,
    ) -> Option<Self> {
        if let Some(why) = missing() {
            skip::skip!("no device behind a real ssh here: {why}");
            return None;
        }
        let made = place.folder(server.name());
        make_applets(&made.join("bin"));
        fs::copy(client.key().with_extension("pub"), made.join("key.pub")).unwrap();
        server.make_key(&made.join("host_key"));
        fs::create_dir(made.join("root")).unwrap();
        let port = free_port();
        client.name(server.name(), port, "");
        let (kind, more) = (server, more.to_owned());
        let server = raise(kind, &made, port, &more);
        let mut device = Self { server, kind, made, port, more, files: BTreeSet::new() };
        device.await_answer(client);
        Some(device)
    }

    pub(crate) fn server_pid(&self) -> i32 {
        self.server.id().cast_signed()
    }

    /// Turns it on, or off: then it stops answering.
    pub(crate) fn turn(&self, is_on: bool) {
        send(self.server_pid(), if is_on { Signal::CONT } else { Signal::STOP });
    }

    fn await_answer(&mut self, client: &Client) {
        let answers = || client.can(self.kind.name(), "true").then_some(());
        if eventually(Duration::from_secs(10), answers).is_none() {
            let said = fs::read_to_string(self.made.join("said")).unwrap();
            panic!("{:?}: {said}", self.kind);
        }
        self.files = self.files_now();
    }

    /// Turns it off in the midst of whatever it does, and on again: another boot, with nothing of the one before.
    pub(crate) fn reboot(&mut self, client: &Client) {
        self.turn_off();
        self.server = raise(self.kind, &self.made, self.port, &self.more);
        self.await_answer(client);
    }

    fn turn_off(&mut self) {
        self.processes().iter().for_each(Process::kill);
        let _ = self.server.kill();
        let _ = self.server.wait();
    }

    /// A file of its, as it is now.
    pub(crate) fn file(&self, path: &str) -> String {
        let root = format!("/proc/{}/root", self.server.id());
        fs::read_to_string(Path::new(&root).join(path)).unwrap()
    }

    /// What runs on it, the server that waits for connections left aside.
    pub(crate) fn processes(&self) -> Vec<Process> {
        let server = self.server.id().cast_signed();
        let there = |pid: i32| fs::read_link(format!("/proc/{pid}/ns/mnt")).ok();
        let here = there(server);
        let mut all = Process::all(|pid| pid != server && there(pid) == here);
        all.retain(|process| fs::read_link(format!("/proc/{}/exe", process.pid)).is_ok());
        all
    }

    /// Control groups that what runs on it is in, and that headroom has made.
    pub(crate) fn groups(&self) -> Vec<PathBuf> {
        let groups_of = |process: &Process| {
            fs::read_to_string(format!("/proc/{}/cgroup", process.pid)).unwrap_or_default()
        };
        let lines: String = self.processes().iter().map(groups_of).collect();
        let made = lines.lines().filter(|line| line.contains("/headroom.")).flat_map(|line| {
            let (tree, group) = line.split_once(':').unwrap().1.split_once(':').unwrap();
            // Of the second version, alone or beside the first; and of the first.
            ["", "/unified", &format!("/{tree}")].map(|tree| format!("/sys/fs/cgroup{tree}{group}"))
        });
        made.map(PathBuf::from).filter(|group| group.exists()).collect()
    }

    /// Asserts that soon nothing is there that was not there before headroom.
    pub(crate) fn is_left_as_it_was(&self) {
        self.is_left_but_for("");
    }

    /// The same, whatever processes of this name there are.
    pub(crate) fn is_left_but_for(&self, name: &str) {
        let is_other = |process: &Process| process.name != name;
        let left = || self.processes().into_iter().filter(is_other).collect::<Vec<_>>();
        let is_as_it_was = || (left().is_empty() && self.files_now() == self.files).then_some(());
        if eventually(GRACE, is_as_it_was).is_some() {
            return;
        }
        let files = self.files_now();
        let changed: Vec<_> = files.symmetric_difference(&self.files).collect();
        panic!("left on the device: processes {:?}, files {changed:?}", left());
    }

    /// All files but those that are this machine's.
    fn files_now(&self) -> BTreeSet<PathBuf> {
        let root = PathBuf::from(format!("/proc/{}/root", self.server.id()));
        let mut all = BTreeSet::new();
        let mut folders: Vec<_> =
            ["bin", "dev", "etc", "root", "run", "tmp", "var"].map(|name| root.join(name)).into();
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    folders.push(entry.path());
                }
                all.insert(entry.path().strip_prefix(&root).unwrap().to_owned());
            }
        }
        all
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        self.turn_off();
    }
}

/// Starts a server on a root of its own.
fn raise(server: Server, made: &Path, port: u16, more: &str) -> Child {
    let said = fs::File::create(made.join("said")).unwrap();
    let mut command = Command::new("unshare");
    command.args(["--mount", "--", "sh", "-c", RAISE, "sh"]).arg(made.join("root"));
    command.env("MADE", made).env("PORT", port.to_string()).env("MORE", more);
    command.env("SERVER", server.name()).stdin(Stdio::null());
    command.stdout(said.try_clone().unwrap()).stderr(said);
    command.spawn().unwrap()
}

/// What this machine lacks for a device.
fn missing() -> Option<String> {
    let programs = ["/usr/sbin/sshd", "/usr/sbin/dropbear", "/bin/busybox", "/usr/bin/ssh"];
    if let Some(program) = programs.iter().find(|program| !Path::new(program).exists()) {
        return Some(format!("no {program}"));
    }
    let mount = ["--mount", "--", "mount", "-t", "tmpfs", "tmpfs", "/mnt"];
    let output = Command::new("unshare").args(mount).output().unwrap();
    let said = || String::from_utf8_lossy(&output.stderr).trim().to_owned();
    (!output.status.success()).then(said)
}

/// A folder with BusyBox and a link for each of its applets. A device's own shell would fork for each of them.
fn make_applets(bin: &Path) {
    let busybox = bin.join("busybox");
    fs::create_dir(bin).unwrap();
    fs::write(&busybox, busybox_without_mktemp()).unwrap();
    fs::set_permissions(&busybox, fs::Permissions::from_mode(0o755)).unwrap();
    let list = Command::new(&busybox).arg("--list").output().unwrap().stdout;
    let applets = String::from_utf8(list).unwrap();
    for applet in applets.lines().filter(|applet| *applet != "busybox") {
        symlink("busybox", bin.join(applet)).unwrap();
    }
}

/// BusyBox as a small device has it. Its shell knows all of its applets whatever `PATH` is, so the name is taken away.
fn busybox_without_mktemp() -> Vec<u8> {
    let mut program = fs::read("/bin/busybox").unwrap();
    let name = b"\0mktemp\0";
    while let Some(at) = program.windows(name.len()).position(|bytes| bytes == name) {
        // In the table of names, which is sorted, it stays where it was.
        program[at + name.len() - 2] = b'q';
    }
    program
}
