//! Where the functions begin whose calls a study counts: looked up before the plan is made.
//!
//! The access point is asked for the files, and anyone who knows symbols for the places in them. A function is
//! counted in the variants that have it: one without a file of its own in each variant whose subject's
//! program has the symbol. Places go into the plan, so that a trial is one order, as every other.

use std::{collections::BTreeMap, path::PathBuf};

use linux::file;
use model::{
    event::Event,
    instrument::{Detail, Located, Place, Probe},
    name::{Sha256Hex, VariantName},
    study::{Function, Study, Subject, Variant},
    trial::BASELINES,
};

use crate::{
    Error, Lab, device::Device, fetch, objects, study_file::StudyFile, uploads::UploadedPrograms,
};

/// Knows where functions begin in files of code.
pub trait Symbols: Sync {
    /// The offset in the file at which a function begins, bytes; else why there is no such place, in one line.
    fn offset(&self, program: Program<'_>, symbol: &str) -> Result<u64, String>;
}

/// A file of code, as the access point has it.
#[derive(Clone, Copy, Debug)]
pub struct Program<'a> {
    /// Its name there, without folders.
    pub name: &'a str,
    pub content: &'a [u8],
    pub sha256: &'a Sha256Hex,
    /// What it lost where headroom stripped it.
    pub debug: Option<&'a [u8]>,
}

/// Who knows symbols: by files on this machine, and of the programs that the run brings.
#[derive(Clone, Copy)]
pub struct SymbolSources<'a> {
    pub symbols: &'a dyn Symbols,
    pub brought: &'a UploadedPrograms,
}

/// The probes of every variant that has any.
pub type Found = BTreeMap<VariantName, Vec<Probe>>;

pub fn find(
    lab: &Lab,
    device: &mut dyn Device,
    file: &StudyFile,
    symbols: SymbolSources<'_>,
) -> Result<Found, Error> {
    let study = &file.study;
    let Some(count) = &study.count else { return Ok(Found::default()) };
    let files = Files::bring(lab, device, study)?;
    let mut found = Found::default();
    for function in &count.functions {
        let mut why_not = None;
        let mut is_somewhere = false;
        for variant in counting(study).iter().filter(|variant| study.counts_in(variant)) {
            let subject = program_of(study.subject_of(variant));
            match files.probe(function, &subject, symbols) {
                Ok(Some(probe)) => {
                    is_somewhere = true;
                    found.entry(variant.name.clone()).or_default().push(probe);
                }
                Ok(None) => {}
                Err(why) => why_not = Some(why),
            }
        }
        if !is_somewhere && file.is_cut {
            lab.emit(Event::Doubt {
                text: format!("no variant that is left has `{}`; it is not counted", function.name),
            });
        } else if !is_somewhere {
            let why = why_not.unwrap_or_else(|| "no variant has the program".to_owned());
            return Err(Error::Usage(format!("cannot count calls of `{}`: {why}", function.name)));
        }
    }
    Ok(found)
}

/// The study's variants, and those that its cells have by themselves.
pub(crate) fn counting(study: &Study) -> Vec<Variant> {
    let own = BASELINES.map(|name| Variant::named(VariantName::literal(name)));
    let own = own.into_iter().filter(|_| !study.is_of_clients());
    study.variants.iter().cloned().chain(own).collect()
}

/// The program that a subject is: what starts it, or its process's name.
fn program_of(subject: &Subject) -> String {
    let started = subject.start.as_deref().and_then(shlex::split);
    let program = started.and_then(|words| words.into_iter().next());
    program.unwrap_or_else(|| subject.process.clone())
}

/// The files in question, by the name that they were looked for.
struct Files(BTreeMap<String, (Located, Option<PathBuf>)>);

impl Files {
    fn bring(lab: &Lab, device: &mut dyn Device, study: &Study) -> Result<Self, Error> {
        let functions = study.count.iter().flat_map(|count| &count.functions);
        let mut names: Vec<String> = functions.filter_map(|function| function.of.clone()).collect();
        names.extend(study.variants.iter().map(|variant| program_of(study.subject_of(variant))));
        names.sort();
        names.dedup();
        let located = objects::locate(device, &names)?;
        let files = located.into_iter().map(|located| {
            let content = objects::bring_located(lab, device, &located)?;
            Ok((located.name.clone(), (located, content)))
        });
        Ok(Self(files.collect::<Result<_, Error>>()?))
    }

    /// The probe of a function where this program is the subject; none where the function belongs to
    /// another program.
    fn probe(
        &self,
        function: &Function,
        subject: &str,
        symbols: SymbolSources<'_>,
    ) -> Result<Option<Probe>, String> {
        let place = match (&function.kernel, &function.symbol) {
            (Some(kernel), _) => Place::Kernel(kernel.clone()),
            (None, Some(symbol)) => {
                let name = function.of.as_deref().unwrap_or(subject);
                if name != subject && self.is_a_subject(name) {
                    return Ok(None);
                }
                self.user_place(name, symbol, symbols)?
            }
            (None, None) => return Ok(None),
        };
        let detail = if function.census { Detail::Spans(function.argument) } else { Detail::Hits };
        Ok(Some(Probe { name: function.name.clone(), place, detail }))
    }

    /// Whether the file is a program, and not a library that programs share.
    fn is_a_subject(&self, name: &str) -> bool {
        let path = self.0.get(name).and_then(|(located, _)| located.path.as_deref());
        path.is_some_and(|path| !path.contains(".so"))
    }

    fn user_place(
        &self,
        name: &str,
        symbol: &str,
        sources: SymbolSources<'_>,
    ) -> Result<Place, String> {
        let absent = || format!("`{name}` was not found on the access point");
        let (located, content) = self.0.get(name).ok_or_else(absent)?;
        let path = located.path.clone().ok_or_else(absent)?;
        let sha256 = located.sha256.clone().ok_or_else(absent)?;
        let content = content.as_ref().ok_or_else(absent)?;
        let bytes = file::bytes(content, fetch::LONGEST)
            .map_err(|error| format!("{}: {error}", content.display()))?;
        let program = Program {
            name: path.rsplit('/').next().unwrap_or_default(),
            content: &bytes,
            sha256: &sha256,
            debug: sources.brought.debug_of(&sha256),
        };
        let offset = sources.symbols.offset(program, symbol)?;
        Ok(Place::User { path, sha256, offset })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study_file::small;

    struct OnlyApply;

    impl Symbols for OnlyApply {
        fn offset(&self, _: Program<'_>, symbol: &str) -> Result<u64, String> {
            let known = symbol == "apply";
            known.then_some(0x1000).ok_or_else(|| format!("no function `{symbol}`"))
        }
    }

    #[test]
    fn a_function_is_counted_where_its_program_is_the_subject() {
        let folder = tempfile::tempdir().unwrap();
        let content = folder.path().join("content");
        std::fs::write(&content, "code").unwrap();
        let file = |path: &str| {
            let name = path.rsplit('/').next().unwrap().to_owned();
            let (path, sha256) = (Some(path.to_owned()), Some(Sha256Hex::of(&[0; 32])));
            let located = Located { name: name.clone(), path, sha256, mapped_by: 1 };
            (name, (located, Some(content.clone())))
        };
        let files = ["/usr/sbin/stationd", "/usr/sbin/hostapd", "/lib/libc.so.6"].map(file);
        let files = Files(BTreeMap::from(files));
        let brought = UploadedPrograms::default();
        let symbols = SymbolSources { symbols: &OnlyApply, brought: &brought };
        for (keys, subject, expected) in [
            ("symbol = \"apply\"", "stationd", "/usr/sbin/stationd"),
            ("symbol = \"apply\"\nof = \"stationd\"", "hostapd", "none"),
            ("symbol = \"apply\"\nof = \"libc.so.6\"", "hostapd", "/lib/libc.so.6"),
            ("kernel = \"nl80211_dump_station\"", "hostapd", "nl80211_dump_station"),
            ("symbol = \"aply\"", "stationd", "no function `aply`"),
            ("symbol = \"apply\"", "wld", "`wld` was not found on the access point"),
        ] {
            let study = small(&format!("[[count.function]]\nname = \"f\"\n{keys}"));
            let function = study.count.unwrap().functions.remove(0);
            let found = match files.probe(&function, subject, symbols) {
                Ok(Some(Probe { place: Place::User { path, offset: 0x1000, .. }, .. })) => path,
                Ok(Some(Probe { place: Place::Kernel(name), .. })) => name,
                Ok(None) => "none".to_owned(),
                other => other.unwrap_err(),
            };
            assert_eq!(found, expected, "{keys} of {subject}");
        }
    }

    #[test]
    fn a_subject_is_what_starts_it() {
        let process = "prometheus-node".to_owned();
        let start = Some("prometheus-node-exporter --all".to_owned());
        let subject = Subject { process, start, ready: None, others: Vec::new() };
        assert_eq!(program_of(&subject), "prometheus-node-exporter");
        assert_eq!(program_of(&Subject { start: None, ..subject }), "prometheus-node");
    }
}
