//! No circles between the modules of a crate: of two modules at most one knows the other, parent and child excepted.
//!
//! A module knows what its `use` and its paths name. Tests are left out, and what a macro is given is not read.

use std::collections::{BTreeMap, BTreeSet};

use petgraph::{algo::tarjan_scc, graphmap::DiGraphMap};
use syn::{
    Attribute, Item, ItemMod, ItemUse, Path, UseTree,
    visit::{self, Visit},
};

use crate::{fault::Fault, source::Source};

/// A module by its names from the crate's root.
type Name = Vec<String>;

/// The modules of one crate: what each knows, and its file.
#[derive(Default)]
struct Crate<'a> {
    files: BTreeMap<Name, &'a Source>,
    known: BTreeMap<Name, BTreeSet<Name>>,
}

/// One fault for each circle.
pub(super) fn faults(sources: &[Source]) -> Vec<Fault> {
    let mut crates = BTreeMap::<&str, Crate<'_>>::new();
    for source in sources {
        if let Some((root, file)) = source.path.split_once("/src/") {
            crates.entry(root).or_default().files.insert(module(file), source);
        }
    }
    crates.values_mut().flat_map(Crate::faults).collect()
}

/// The module of a file below `src/`.
fn module(file: &str) -> Name {
    let mut names: Name = file.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    if matches!(names.last().map(String::as_str), Some("mod" | "lib" | "main")) {
        names.pop();
    }
    names
}

impl Crate<'_> {
    fn faults(&mut self) -> Vec<Fault> {
        let mut tests = BTreeSet::new();
        for (name, source) in &self.files {
            // What does not parse is a fault of the compiler's.
            let Ok(file) = syn::parse_file(&source.text) else { continue };
            let mut paths = Paths { module: name.clone(), known: Vec::new(), tests: Vec::new() };
            paths.visit_file(&file);
            tests.extend(paths.tests);
            let known = paths.known.into_iter().filter_map(|path| self.home(path));
            self.known.insert(name.clone(), known.collect());
        }
        self.known.retain(|name, _| !(1..=name.len()).any(|end| tests.contains(&name[..end])));
        self.circles().iter().map(|circle| self.fault(circle)).collect()
    }

    /// The module in which a path ends.
    fn home(&self, mut path: Name) -> Option<Name> {
        while !self.files.contains_key(&path) {
            path.pop()?;
        }
        Some(path)
    }

    /// Modules that know each other, by whatever way; each circle from its first name on.
    fn circles(&self) -> Vec<Vec<&Name>> {
        let names: Vec<&Name> = self.known.keys().collect();
        let number = |name: &Name| names.binary_search(&name).ok();
        let edges = names.iter().enumerate().flat_map(|(from, name)| {
            let known = self.known[*name].iter().filter(|other| !is_family(name, other));
            known.filter_map(number).map(move |to| (from, to))
        });
        let graph: DiGraphMap<usize, ()> = edges.collect();
        let circles = tarjan_scc(&graph).into_iter().filter(|circle| circle.len() > 1);
        circles.map(|circle| walk(&graph, &circle).iter().map(|at| names[*at]).collect()).collect()
    }

    fn fault(&self, circle: &[&Name]) -> Fault {
        let names: Vec<String> = circle.iter().map(|name| name.join("::")).collect();
        Fault::at(&self.files[circle[0]].path, 1).is(
            format!("modules know each other in a circle: {}", names.join(" → ")),
            "move what both need into a module below both",
        )
    }
}

/// One way round in modules that all reach each other: from the first on, each to the first that it knows.
fn walk(graph: &DiGraphMap<usize, ()>, circle: &[usize]) -> Vec<usize> {
    let mut way: Vec<usize> = circle.iter().min().copied().into_iter().collect();
    loop {
        let known = way.last().into_iter().flat_map(|last| graph.neighbors(*last));
        let Some(next) = known.filter(|next| circle.contains(next)).min() else { return way };
        let seen = way.iter().position(|before| *before == next);
        way.push(next);
        if let Some(begin) = seen {
            return way.split_off(begin);
        }
    }
}

fn is_family(one: &Name, other: &Name) -> bool {
    one.starts_with(other) || other.starts_with(one)
}

/// The paths of a file that begin in its own crate.
struct Paths {
    module: Name,
    known: Vec<Name>,
    /// Modules that are only in tests.
    tests: Vec<Name>,
}

impl Paths {
    fn add(&mut self, path: &[String]) {
        let (first, mut rest) = match path {
            [first, rest @ ..] if !rest.is_empty() => (first.as_str(), rest),
            _ => return,
        };
        let mut base = match first {
            "crate" => Vec::new(),
            "self" => self.module.clone(),
            "super" => self.module[..self.module.len().saturating_sub(1)].to_vec(),
            _ => return,
        };
        while let [first, more @ ..] = rest
            && first == "super"
        {
            base.pop();
            rest = more;
        }
        self.known.push([&base, rest].concat());
    }

    fn add_tree(&mut self, before: &[String], tree: &UseTree) {
        let with = |name: &syn::Ident| [before, &[name.to_string()]].concat();
        match tree {
            UseTree::Path(path) => self.add_tree(&with(&path.ident), &path.tree),
            UseTree::Name(name) if name.ident == "self" => self.add(before),
            UseTree::Name(name) => self.add(&with(&name.ident)),
            UseTree::Rename(rename) => self.add(&with(&rename.ident)),
            UseTree::Group(group) => group.items.iter().for_each(|one| self.add_tree(before, one)),
            _ => self.add(before),
        }
    }
}

impl Visit<'_> for Paths {
    fn visit_item_mod(&mut self, item: &ItemMod) {
        if !is_test(&item.attrs) {
            visit::visit_item_mod(self, item);
        } else if item.content.is_none() {
            self.tests.push([self.module.as_slice(), &[item.ident.to_string()]].concat());
        }
    }

    fn visit_item(&mut self, item: &Item) {
        let attributes: &[Attribute] = match item {
            Item::Use(item) => &item.attrs,
            Item::Fn(item) => &item.attrs,
            Item::Impl(item) => &item.attrs,
            _ => &[],
        };
        if !is_test(attributes) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &ItemUse) {
        self.add_tree(&[], &item.tree);
    }

    fn visit_path(&mut self, path: &Path) {
        let names: Name = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        self.add(&names);
        visit::visit_path(self, path);
    }
}

/// Whether an item is there for tests alone.
fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let list = attribute.meta.require_list();
        let for_tests = |tokens: String| {
            tokens.split(|c: char| !c.is_alphanumeric()).any(|word| word == "test")
                && !tokens.contains("not")
        };
        attribute.path().is_ident("cfg")
            && list.is_ok_and(|list| for_tests(list.tokens.to_string()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let source =
            |(file, text): &(&str, &str)| Source::new(format!("crates/c/src/{file}"), *text);
        faults(&files.iter().map(source).collect::<Vec<_>>()).iter().map(Fault::to_string).collect()
    }

    #[test]
    fn two_modules_that_know_each_other_are_a_circle() {
        let files = [("a.rs", "use crate::b::B;"), ("b.rs", "fn f() { super::a::g() }")];
        assert_eq!(
            found(&files),
            ["crates/c/src/a.rs:1: modules know each other in a circle: a → b → a; \
              move what both need into a module below both"]
        );
    }

    #[test]
    fn a_longer_way_round_is_a_circle_and_what_hangs_on_it_is_not_named() {
        let files = [
            ("a.rs", "use crate::{b::{self, B}, d};"),
            ("b/mod.rs", "use crate::c;"),
            ("c.rs", "use super::a as other;"),
            ("d.rs", ""),
        ];
        let found = found(&files);
        assert_eq!(found.len(), 1);
        assert!(found[0].contains("circle: a → b → c → a;"), "{found:?}");
    }

    #[test]
    fn parent_and_child_and_one_direction_are_none() {
        let files = [
            ("lib.rs", "mod a; mod b; use a::A; pub use b::B;"),
            ("a.rs", "use crate::B; use self::child::C; use crate::b;"),
            ("a/child.rs", "use super::A; use super::super::b::B;"),
            ("b.rs", "use std::collections::BTreeMap;"),
        ];
        assert_eq!(found(&files), Vec::<String>::new());
    }

    #[test]
    fn tests_may_know_all() {
        let files = [
            ("a.rs", "use crate::b;\n#[cfg(test)] mod tests;"),
            ("a/tests.rs", "use crate::b;"),
            ("b.rs", "#[cfg(test)] mod tests { use crate::a; }\n#[cfg(test)] use crate::a;"),
        ];
        assert_eq!(found(&files), Vec::<String>::new());
    }
}
