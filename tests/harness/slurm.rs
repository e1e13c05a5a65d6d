//! A Slurm cluster on the loopback: the real controller with munge, and two nodes, each a PID namespace of its own, so that
//! one can be lost with all that it runs.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Child, Stdio},
    time::Duration,
};

use super::{
    Headroom,
    place::Place,
    processes::{eventually, free_port},
};

/// Timeout of a Slurm server's start on a busy machine.
const START: Duration = Duration::from_secs(60);

pub(crate) const NODES: [&str; 2] = ["one", "two"];

/// A cluster with an empty queue. It ends, with its jobs, when the value is dropped.
#[derive(Debug)]
pub(crate) struct Slurm {
    folder: PathBuf,
    servers: Vec<Child>,
    nodes: [Option<Child>; 2],
}

impl Slurm {
    /// A cluster in the test's place; `None`, with the reason, where that takes rights that this user has not.
    pub(crate) fn start(place: &Place) -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            skip::skip!("nodes of Slurm start jobs for others, which only root may");
            return None;
        }
        if fs::read_dir("/sys/fs/cgroup").is_ok_and(|mut mounted| mounted.next().is_none()) {
            skip::skip!("no control groups are mounted at /sys/fs/cgroup, which slurmd wants");
            return None;
        }
        let folder = place.folder("slurm");
        for name in ["state", "spool.one", "spool.two"] {
            fs::create_dir(folder.join(name)).unwrap();
        }
        place.write("slurm/slurm.conf", conf(&folder));
        let mut cluster = Self { folder, servers: Vec::new(), nodes: [None, None] };
        cluster.serve_keys(place);
        cluster.serve(place, "slurmctld", "-D -c");
        for node in 0..NODES.len() {
            cluster.raise(place, node);
        }
        Some(cluster)
    }

    /// headroom with these words, which finds this cluster.
    pub(crate) fn headroom(&self, place: &Place, words: &str) -> Headroom {
        place.headroom(words).env("SLURM_CONF", self.folder.join("slurm.conf"))
    }

    /// Raises a node, and waits until it takes jobs.
    pub(crate) fn raise(&mut self, place: &Place, node: usize) {
        let words = ["--pid", "--fork", "--kill-child=KILL", "--mount-proc"];
        let mut command = place.command(Path::new("unshare"));
        command.args(words).args(["slurmd", "-D", "-N", NODES[node]]);
        self.nodes[node] = Some(self.started(command, NODES[node]));
        let is_up = || ["idle", "alloc", "mix"].contains(&self.state(node).as_str()).then_some(());
        eventually(START, is_up).unwrap_or_else(|| panic!("no node: {}", self.said()));
    }

    /// Loses a node with all that it runs.
    pub(crate) fn lose(&mut self, node: usize) {
        let mut child = self.nodes[node].take().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// Jobs that wait or run, as `3 RUNNING two`.
    pub(crate) fn queue(&self) -> Vec<String> {
        self.ask("squeue", &["--noheader", "--array", "--format=%K %T %N"])
    }

    pub(crate) fn cancel(&self, name: &str) {
        self.ask("scancel", &[&format!("--name={name}")]);
    }

    /// What the controller says of a node, without marks.
    fn state(&self, node: usize) -> String {
        let said = self.ask("sinfo", &["--noheader", "--Node", "--format=%N %t"]);
        let own = said.iter().find_map(|line| line.strip_prefix(NODES[node])).unwrap_or_default();
        own.trim().trim_end_matches(|sign: char| !sign.is_alphabetic()).to_owned()
    }

    fn ask(&self, client: &str, words: &[&str]) -> Vec<String> {
        let mut command = std::process::Command::new(client);
        command.args(words).env("SLURM_CONF", self.folder.join("slurm.conf"));
        let output = command.output().unwrap();
        String::from_utf8_lossy(&output.stdout).lines().map(|line| line.trim().to_owned()).collect()
    }

    fn serve_keys(&mut self, place: &Place) {
        let key = self.folder.join("munge.key");
        fs::write(&key, [b'k'; 128]).unwrap();
        fs::set_permissions(&key, PermissionsExt::from_mode(0o600)).unwrap();
        let names = ["key-file", "socket", "pid-file", "log-file", "seed-file"];
        let words = names.map(|name| {
            let file = name.trim_end_matches("-file");
            format!("--{name}={}/munge.{file}", self.folder.display())
        });
        self.serve(place, "munged", &format!("--foreground --force {}", words.join(" ")));
        let socket = self.folder.join("munge.socket");
        eventually(START, || socket.exists().then_some(())).expect("munge's socket");
    }

    fn serve(&mut self, place: &Place, program: &str, words: &str) {
        let mut command = place.command(Path::new(program));
        command.args(words.split(' '));
        let server = self.started(command, program);
        self.servers.push(server);
    }

    fn started(&self, mut command: std::process::Command, name: &str) -> Child {
        let said = fs::File::create(self.folder.join(format!("{name}.said"))).unwrap();
        command.env("SLURM_CONF", self.folder.join("slurm.conf")).stdin(Stdio::null());
        command.stdout(said.try_clone().unwrap()).stderr(said).spawn().unwrap()
    }

    fn said(&self) -> String {
        let names = ["munged", "slurmctld", "one", "two"];
        let texts = names.map(|name| fs::read_to_string(self.folder.join(format!("{name}.said"))));
        texts.into_iter().flatten().collect()
    }
}

impl Drop for Slurm {
    fn drop(&mut self) {
        for child in self.nodes.iter_mut().flatten().chain(&mut self.servers) {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Two nodes with a CPU each. One that is silent for ten seconds is lost, and its jobs begin again elsewhere.
fn conf(folder: &Path) -> String {
    let folder = folder.display();
    let [controller, one, two] = [(); 3].map(|()| free_port());
    format!(
        "ClusterName=headroom\nSlurmctldHost=localhost(127.0.0.1)\nSlurmctldPort={controller}\n\
         SlurmUser=root\nSlurmdUser=root\nAuthType=auth/munge\nAuthInfo=socket={folder}/munge.socket\n\
         CredType=cred/munge\nProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\n\
         SwitchType=switch/none\nMpiDefault=none\nSelectType=select/cons_tres\nSelectTypeParameters=CR_CPU\n\
         StateSaveLocation={folder}/state\nSlurmdSpoolDir={folder}/spool.%n\n\
         SlurmctldPidFile={folder}/slurmctld.pid\nSlurmdPidFile={folder}/slurmd.%n.pid\n\
         SlurmdTimeout=10\nKillWait=5\nReturnToService=2\nJobRequeue=1\n\
         SchedulerParameters=sched_interval=2,batch_sched_delay=1,requeue_delay=1\n\
         NodeName=one NodeHostname=localhost NodeAddr=127.0.0.1 Port={one} CPUs=1\n\
         NodeName=two NodeHostname=localhost NodeAddr=127.0.0.1 Port={two} CPUs=1\n\
         PartitionName=lab Nodes=one,two Default=YES MaxTime=INFINITE State=UP\n"
    )
}
