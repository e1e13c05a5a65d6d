//! `headroom count`: calls of functions in a study's variants, or in one process.

use model::{
    study::{Count, Function},
    trial::Purpose,
};

use super::place;
use crate::{
    failure::{Failure, Verdict},
    flags,
    options::Options,
};

pub(crate) fn count(options: &Options, flags: &flags::Count) -> Result<Verdict, Failure> {
    let mut file = place::study_of(options, &flags.place, Purpose::Counts)?;
    let functions = functions(flags);
    if !functions.is_empty() {
        let names: Vec<&str> = functions.iter().map(|function| function.name.as_str()).collect();
        file.overrides.push(format!("count = {}", names.join(", ")));
        file.study.count =
            Some(Count { repetitions: 1, clients: Vec::new(), variants: Vec::new(), functions });
    }
    file.study.question = format!("How often does {} call what is counted?", file.study.process());
    if let Some(count) = &mut file.study.count {
        count.repetitions = flags.place.repetitions.unwrap_or(count.repetitions);
        if !flags.place.clients.is_empty() {
            count.clients.clone_from(&flags.place.clients);
        }
    }
    place::carry_out(options, &flags.place, file)
}

/// The functions that were typed.
fn functions(flags: &flags::Count) -> Vec<Function> {
    let user = flags.function.iter().map(|symbol| Function {
        name: symbol.clone(),
        symbol: Some(symbol.clone()),
        of: flags.of.clone(),
        kernel: None,
        per: None,
        census: flags.census,
        argument: flags.argument,
    });
    let kernel = flags.kernel_function.iter().map(|name| Function {
        name: name.clone(),
        symbol: None,
        of: None,
        kernel: Some(name.clone()),
        per: None,
        census: flags.census,
        argument: flags.argument,
    });
    user.chain(kernel).collect()
}
