//! `headroom manual` and `headroom completions`: a manual page for each verb, and what a shell completes, from the words of
//! `--help`.

use std::{fs, io, path::Path};

use clap::{Command, builder::PossibleValuesParser};
use clap_complete::Shell;
use clap_mangen::Man;

use crate::{
    failure::{Failure, Verdict},
    flags, output, shipped,
};

const EXIT_STATUS: &str = ".SH \"EXIT STATUS\"
0 pass, 1 fail, 2 usage, 3 invalid (could not measure), 4 environment, 130 interrupted.
";

pub(crate) fn write(flags: &flags::Manual) -> Result<Verdict, Failure> {
    let folder = &flags.folder;
    let written = fs::create_dir_all(folder).and_then(|()| pages(&flags::command(), folder));
    written.map(|()| Verdict::Pass).map_err(|error| {
        let folder = folder.display();
        Failure::Environment(format!("cannot write the manual into {folder}: {error}"))
    })
}

fn pages(command: &Command, folder: &Path) -> io::Result<()> {
    let name = command.get_display_name().unwrap_or_else(|| command.get_name());
    // The name is a verb's; it never leaves the folder.
    fs::write(folder.join(format!("{name}.1")), page(command)?)?;
    command
        .get_subcommands()
        .filter(|verb| verb.get_name() != "help")
        .try_for_each(|verb| pages(verb, folder))
}

fn page(command: &Command) -> io::Result<Vec<u8>> {
    let notes = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let (examples, description) = match notes.strip_prefix("Examples:\n") {
        Some(notes) => notes.split_once("\n\n").unwrap_or((notes, "")),
        None => ("", notes.as_str()),
    };
    let man = Man::new(command.clone());
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    page.extend(format!(".PP\n{}\n", escaped(description)).bytes());
    man.render_options_section(&mut page)?;
    if command.get_subcommands().next().is_some() {
        man.render_subcommands_section(&mut page)?;
    }
    page.extend(format!(".SH EXAMPLES\n.nf\n{}\n.fi\n", escaped(examples)).bytes());
    page.extend(EXIT_STATUS.bytes());
    page.extend(environment(command).bytes());
    Ok(page)
}

fn environment(command: &Command) -> String {
    let variables = command.get_arguments().filter_map(|arg| {
        let name = arg.get_env()?.to_string_lossy();
        let what = arg.get_help().map(ToString::to_string).unwrap_or_default();
        Some(format!(".TP\n{name}\n{}\n", escaped(&what)))
    });
    let variables: String = variables.collect();
    if variables.is_empty() { variables } else { format!(".SH ENVIRONMENT\n{variables}") }
}

/// Text as roff takes it: a line of it is no request.
fn escaped(text: &str) -> String {
    let lines = text.lines().map(|line| {
        let line = line.replace('\\', "\\\\").replace('-', "\\-");
        if line.starts_with(['.', '\'']) { format!("\\&{line}") } else { line }
    });
    lines.collect::<Vec<_>>().join("\n")
}

pub(crate) fn completions(flags: &flags::Completions) -> Result<Verdict, Failure> {
    let mut script = Vec::new();
    // Into memory first: clap_complete panics where its reader has left.
    let mut command = flags::command().mut_subcommands(with_studies);
    clap_complete::generate(flags.shell, &mut command, "headroom", &mut script);
    let mut script = String::from_utf8_lossy(&script).into_owned();
    if flags.shell == Shell::Zsh {
        script = with_files(&script);
    }
    output::line(script.trim_end());
    Ok(Verdict::Pass)
}

/// The verb, with the names of the built-in studies where it takes a study; bash and fish complete a path as well.
fn with_studies(verb: Command) -> Command {
    if verb.get_arguments().all(|argument| argument.get_id() != "study") {
        return verb;
    }
    let names = PossibleValuesParser::new(shipped::ALL.iter().map(|study| study.name));
    verb.mut_arg("study", |study| study.value_parser(names))
}

/// The script for zsh, which offers possible values alone: there a study is one of these names or a file.
fn with_files(script: &str) -> String {
    let names = shipped::ALL.iter().map(|study| study.name).collect::<Vec<_>>().join(" ");
    let either = format!("_alternative 'studies:study:({names})' 'files:file:_files'");
    script.replace(&format!("study file:({names})'"), "study file:_headroom_study'").replacen(
        "\n_headroom() {",
        &format!("\n_headroom_study() {{\n    {either}\n}}\n\n_headroom() {{"),
        1,
    )
}
