//! A million samples of a thousand processes, from a recording to a page that is open.
//!
//! `cargo bench -p headroom --bench million [-- VARIANT]`. A real recording from the lab, of a variant of
//! `studies/station-stats.toml`, is written again and again until it is that long: 7 GB in the temporary
//! folder for hostapd, 14 GB for stationd. The product reads it as it would perf's, alongside a plain read of
//! the same file. It judges nothing. Needs `make build`'s programs for the device, and Chromium for
//! the last line.

#![expect(clippy::print_stdout, reason = "a bench prints its figures")]

#[path = "../../report/tests/chromium/mod.rs"]
mod chromium;

use std::{
    error::Error,
    fs::{self, File},
    io::{BufWriter, Read, Write},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

const SAMPLES: u32 = 1_000_000;
const PROCESSES: u32 = 1000;
const FIRST_PID: u32 = 100_000;

/// The kernel's kinds of records, and perf's one.
const COMM: u32 = 3;
const SAMPLE: u32 = 9;
const MMAP2: u32 = 10;
const FINISHED_ROUND: [u8; 8] = [68, 0, 0, 0, 0, 0, 8, 0];

/// Where a recording's head says how many bytes of records follow where.
const DATA_AT: usize = 40;
const DATA_BYTES: usize = 48;

/// Bytes that end each record but samples: process, thread, time, CPU.
const TRAILER: usize = 24;

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let folder = tempfile::tempdir()?;
    let run = folder.path().join("run");
    // cargo adds a flag of its own.
    let variant = std::env::args().skip(1).find(|word| !word.starts_with('-'));
    record(variant.as_deref().unwrap_or("hostapd-cli"), &run)?;
    let base = Base::read(&recording_of(&run)?)?;
    let distinct = said(headroom().arg("export").arg(&run))?.lines().count();
    println!(
        "{SAMPLES} samples made of {}, {distinct} distinct stacks in each of {PROCESSES} processes",
        base.samples.len()
    );
    let million = folder.path().join("million.data");
    base.write(&million)?;
    let bytes = fs::metadata(&million)?.len();
    let plain = plain_read(&million)?;
    println!("plain read   {:7.1} s   {:.2} GB", plain.as_secs_f64(), bytes as f64 / 1e9);
    let page = folder.path().join("page.html");
    let (took, peak_kib) = report(&run, &million, &page)?;
    let ratio = took.as_secs_f64() / plain.as_secs_f64();
    println!("report       {:7.1} s   {ratio:.1} times as long", took.as_secs_f64());
    println!("peak memory  {:7.0} MiB", peak_kib as f64 / 1024.0);
    println!("page         {:7.2} MB", fs::metadata(&page)?.len() as f64 / 1e6);
    match opened(&page)? {
        Some(said) => println!("open         {said}"),
        None => println!("open         not measured"),
    }
    Ok(())
}

fn headroom() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_headroom"));
    command.arg("--quiet").current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    command
}

fn said(command: &mut Command) -> Outcome<String> {
    let output = command.stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        return Err(format!("{command:?}: {}", output.status).into());
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// The variant's subject with 18 clients, more often than usual.
fn record(variant: &str, run: &Path) -> Outcome<()> {
    let mut command = headroom();
    command.args(["profile", "studies/station-stats.toml", "--variant", variant]);
    command
        .args(["--clients", "18", "--repetitions", "1", "--frequency", "2999"])
        .arg("--out")
        .arg(run);
    said(&mut command).map(drop)
}

/// The one of the window, not the proof's.
fn recording_of(run: &Path) -> Outcome<PathBuf> {
    let files = fs::read_dir(run.join("stacks"))?.flatten().map(|file| file.path());
    let mut recordings = files.filter(|path| path.to_string_lossy().ends_with(".stacks.perf.data"));
    Ok(recordings.next().ok_or("the run has no recording")?)
}

/// A recording, taken apart.
struct Base {
    head: Vec<u8>,
    /// Names and mappings.
    places: Vec<Vec<u8>>,
    samples: Vec<Vec<u8>>,
}

impl Base {
    fn read(path: &Path) -> Outcome<Self> {
        let bytes = fs::read(path)?;
        let data_at = u64::from_le_bytes(bytes[DATA_AT..DATA_AT + 8].try_into()?) as usize;
        let mut base =
            Self { head: bytes[..data_at].to_vec(), places: Vec::new(), samples: Vec::new() };
        let mut rest = &bytes[data_at..];
        while let [a, b, c, d, _, _, low, high, ..] = *rest {
            let (kind, length) =
                (u32::from_le_bytes([a, b, c, d]), usize::from(u16::from_le_bytes([low, high])));
            let (record, behind) = rest.split_at_checked(length.max(8)).ok_or("a cut record")?;
            match kind {
                SAMPLE => base.samples.push(record.to_vec()),
                MMAP2 => base.places.push(record.to_vec()),
                _ => {}
            }
            rest = behind;
        }
        if base.samples.is_empty() { Err("the recording has no samples".into()) } else { Ok(base) }
    }

    /// The same for every process, until there are as many samples as wanted.
    fn write(&self, path: &Path) -> Outcome<()> {
        let mut out = BufWriter::with_capacity(1 << 20, File::create(path)?);
        out.write_all(&self.head)?;
        let mut written = 0_u64;
        let mut put = |bytes: &[u8]| {
            written += bytes.len() as u64;
            out.write_all(bytes)
        };
        for pid in FIRST_PID..FIRST_PID + PROCESSES {
            put(&name(pid))?;
            for place in &self.places {
                put(&of_process(place.clone(), pid))?;
            }
        }
        let every = self.samples.len() as u32;
        for at in 0..SAMPLES {
            let pid = FIRST_PID + at / every % PROCESSES;
            let mut sample = self.samples[(at % every) as usize].clone();
            // Behind the head: instruction, process and thread, time.
            sample[16..20].copy_from_slice(&pid.to_le_bytes());
            sample[20..24].copy_from_slice(&pid.to_le_bytes());
            sample[24..32].copy_from_slice(&(1_000_000 + u64::from(at) * 1000).to_le_bytes());
            put(&sample)?;
            if at % 1024 == 0 {
                put(&FINISHED_ROUND)?;
            }
        }
        let mut file = out.into_inner()?;
        use std::io::Seek;
        file.seek(std::io::SeekFrom::Start(DATA_BYTES as u64))?;
        Ok(file.write_all(&written.to_le_bytes())?)
    }
}

/// A record about a process, of no time: what was there before anybody listened.
fn of_process(mut record: Vec<u8>, pid: u32) -> Vec<u8> {
    let trailer = record.len() - TRAILER;
    for at in [8, 12, trailer, trailer + 4] {
        record[at..at + 4].copy_from_slice(&pid.to_le_bytes());
    }
    record[trailer + 8..trailer + 16].fill(0);
    record
}

fn name(pid: u32) -> Vec<u8> {
    let mut text = format!("process-{pid}").into_bytes();
    text.resize(16, 0);
    let length = (8 + 8 + text.len() + TRAILER) as u16;
    let mut record = COMM.to_le_bytes().to_vec();
    record.extend(2_u16.to_le_bytes());
    record.extend(length.to_le_bytes());
    record.extend([0; 8]);
    record.extend(text);
    record.extend([0; TRAILER]);
    of_process(record, pid)
}

fn plain_read(path: &Path) -> Outcome<Duration> {
    let began = Instant::now();
    let mut file = File::open(path)?;
    let mut buffer = vec![0; 1 << 20];
    while file.read(&mut buffer)? > 0 {}
    Ok(began.elapsed())
}

/// The product's time, and the most memory that it had, KiB.
fn report(run: &Path, recording: &Path, page: &Path) -> Outcome<(Duration, u64)> {
    let kernel = fs::read_dir(run.join("objects"))?.flatten().map(|file| file.path());
    let is_kernel = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("kernel-"))
    };
    let kallsyms = kernel.into_iter().find(is_kernel).ok_or("the run has no kernel symbols")?;
    let began = Instant::now();
    let figures = run.with_file_name("figures.json");
    let mut command = headroom();
    command.args(["--json", "report", "--perf-data"]).arg(recording).arg("--out").arg(page);
    command.arg("--kallsyms").arg(kallsyms).arg("--root").arg(root_of(run)?);
    let mut child = command.stdout(File::create(&figures)?).spawn()?;
    let mut peak = 0;
    let status = loop {
        peak = peak.max(peak_kib(&child).unwrap_or(0));
        if let Some(status) = child.try_wait()? {
            break status;
        }
        thread::sleep(Duration::from_millis(5));
    };
    let took = began.elapsed();
    let figures: serde_json::Value = serde_json::from_slice(&fs::read(figures)?)?;
    let samples = figures[0]["captures"][0]["samples"].as_u64();
    if !status.success() || samples != Some(u64::from(SAMPLES)) {
        return Err(format!("the report has {samples:?} samples, {status}").into());
    }
    Ok((took, peak))
}

/// `VmHWM` of a process that runs; what it grows in its last milliseconds is not seen.
fn peak_kib(child: &Child) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// The run's objects, laid out as on the device.
fn root_of(run: &Path) -> Outcome<PathBuf> {
    let root = run.with_file_name("root");
    for trial in fs::read_dir(run.join("trials"))?.flatten() {
        let trial: serde_json::Value = serde_json::from_slice(&fs::read(trial.path())?)?;
        let files = &trial["outcome"]["measured"]["stacks"]["recorded"]["files"];
        for file in files.as_array().into_iter().flatten() {
            let (Some(path), Some(sha256)) = (file["path"].as_str(), file["sha256"].as_str())
            else {
                continue;
            };
            let to = root.join(path.trim_start_matches('/'));
            fs::create_dir_all(to.parent().unwrap_or(&root))?;
            fs::copy(run.join("objects").join(sha256), to)?;
        }
    }
    Ok(root)
}

/// What Chromium needs until the picture is drawn.
fn opened(page: &Path) -> Outcome<Option<String>> {
    let Some(browser) = chromium::browser() else { return Ok(None) };
    let html = fs::read_to_string(page)?;
    let marked = html.replace(
        "<script>\n// Flame",
        "<script>var began = performance.now();</script><script>\n// Flame",
    );
    let message = "<pre id=out></pre><script>document.getElementById('out').textContent = \
                `${Math.round(performance.now())} ms from the start, ${Math.round(performance.now() - began)} ms of them decoding and drawing`;\
                </script></body>";
    let dom = chromium::dom_of(&browser, &marked.replace("</body>", message));
    let out = dom.split("<pre id=\"out\">").nth(1).and_then(|rest| rest.split("</pre>").next());
    Ok(out.map(str::to_owned))
}
