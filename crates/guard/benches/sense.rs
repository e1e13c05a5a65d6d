//! What a tick costs beside reading the same files: `cargo bench -p guard --bench sense`.
//!
//! Ten groups of our own below version 1's `cpuacct`, each with a sleeping process; one tick of
//! [`guard::sense::Senses`] against opening nothing and reading the same kept-open files into a buffer, in turn in
//! the same run. Prints the median of many ticks, µs. The groups are removed again.

#![expect(clippy::print_stdout, reason = "a benchmark's result is what it prints")]

use std::{
    error::Error,
    fs::{self, File},
    os::unix::fs::FileExt,
    path::PathBuf,
    process::{Child, Command},
    time::Instant,
};

use guard::{
    policy::Policy,
    sense::{Senses, Sources, Watched},
};

const GROUPS: usize = 10;
const TICKS: usize = 1000;

/// A group with one process that sleeps; both go when it is dropped.
struct Group {
    folder: PathBuf,
    child: Child,
}

impl Group {
    fn new(number: usize) -> Result<Self, Box<dyn Error>> {
        let name = format!("headroom-test-{}-bench-{number}", std::process::id());
        let folder = PathBuf::from("/sys/fs/cgroup/cpuacct").join(name);
        fs::create_dir(&folder)?;
        let child = Command::new("sleep").arg("600").spawn()?;
        let group = Self { folder, child };
        fs::write(group.folder.join("cgroup.procs"), group.child.id().to_string())?;
        Ok(group)
    }

    fn watched(&self, number: usize) -> Watched {
        let (folders, pids) = (vec![self.folder.clone()], vec![self.child.id()]);
        Watched { name: format!("app{number}"), folders, pids }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // One that has ended is waited for all the same; the kernel takes a moment to empty the group.
        let _ = self.child.kill();
        let _ = self.child.wait();
        for _ in 0..200 {
            if fs::remove_dir(&self.folder).is_ok() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let groups: Vec<Group> = (0..GROUPS).map(Group::new).collect::<Result<_, _>>()?;
    let watched: Vec<Watched> =
        groups.iter().enumerate().map(|(n, group)| group.watched(n)).collect();
    let policy: Policy = toml::from_str("[protect]\ninterfaces = [\"eth0\", \"lo\"]\n")?;
    let mut senses = Senses::open(&policy, Sources::live())?;
    let files = same_files(&senses.read(&watched), &watched)?;
    let mut buffer = vec![0; 16 * 1024];
    let (mut ticks, mut reads) = (Vec::new(), Vec::new());
    for _ in 0..TICKS {
        ticks.push(micros(|| {
            std::hint::black_box(senses.read(&watched));
        }));
        reads.push(micros(|| {
            for file in &files {
                std::hint::black_box(file.read_at(&mut buffer, 0).is_ok());
            }
        }));
    }
    let (tick, read) = (median(ticks), median(reads));
    println!("{GROUPS} groups, {} files", files.len());
    println!("read {read:6.1} µs");
    println!("tick {tick:6.1} µs, {:.2} x read, queues by netlink within", tick / read);
    println!("at 5 Hz {:.3} % of a CPU", tick * 5.0 / 1e4);
    Ok(())
}

/// The files that a tick reads: the machine's, the workers', the applications'.
fn same_files(
    reading: &guard::reading::Reading,
    watched: &[Watched],
) -> Result<Vec<File>, Box<dyn Error>> {
    let machine = ["stat", "net/softnet_stat", "net/dev", "pressure/cpu", "pressure/memory"];
    let mut paths: Vec<PathBuf> =
        machine.iter().map(|name| PathBuf::from("/proc").join(name)).collect();
    let workers = reading.workers.iter().map(|worker| worker.tid);
    let applications = watched.iter().flat_map(|watched| watched.pids.iter().copied());
    paths.extend(workers.chain(applications).map(|tid| format!("/proc/{tid}/schedstat").into()));
    let folders = watched.iter().flat_map(|watched| &watched.folders);
    paths.extend(folders.map(|folder| folder.join("cpuacct.usage_percpu")));
    Ok(paths.into_iter().map(File::open).collect::<Result<_, _>>()?)
}

fn micros(work: impl FnOnce()) -> f64 {
    let began = Instant::now();
    work();
    began.elapsed().as_secs_f64() * 1e6
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
