//! A page of metrics as the programs read it that others scrape with. For tests alone.

use std::{
    io::{self, Write},
    process::{Command, Stdio},
};

/// Reads a page as strictly as the specification allows: a line for each family, with how many samples it has.
const STRICT: &str = "
import sys
from prometheus_client.openmetrics.parser import text_string_to_metric_families
for family in text_string_to_metric_families(sys.stdin.read()):
    print(family.name, len(family.samples))
";

/// What `promtool check metrics` says of a page in Prometheus' format.
pub fn promtool(page: &str) -> Result<String, &'static str> {
    let (_, said) = given("promtool", &["check", "metrics"], page)
        .map_err(|_| "no promtool (Debian package prometheus)")?;
    Ok(said)
}

/// What the strict parser of OpenMetrics finds in a page: families, and how many samples each has.
///
/// # Panics
///
/// It refuses the page.
pub fn families(page: &str) -> Result<Vec<(String, usize)>, &'static str> {
    // Debian's own Python has Debian's packages.
    let (fine, said) =
        given("/usr/bin/python3", &["-c", STRICT], page).map_err(|_| "no python3")?;
    if said.contains("No module named 'prometheus_client'") {
        return Err("no Debian package python3-prometheus-client");
    }
    let family = |line: &str| {
        let (name, samples) = line.split_once(' ')?;
        Some((name.to_owned(), samples.parse().ok()?))
    };
    let read: Option<Vec<_>> = said.lines().map(family).collect();
    assert!(fine && read.is_some(), "{said}");
    Ok(read.unwrap_or_default())
}

/// Whether a program ends well on a text, and what it says.
fn given(program: &str, words: &[&str], text: &str) -> io::Result<(bool, String)> {
    let mut command = Command::new(program);
    command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn()?;
    if let Some(mut input) = child.stdin.take() {
        // A program that refuses the page may not read all of it.
        let _ = input.write_all(text.as_bytes());
    }
    let output = child.wait_with_output()?;
    let said = [output.stdout, output.stderr].concat();
    Ok((output.status.success(), String::from_utf8_lossy(&said).into_owned()))
}
