//! Flame graphs for the page: which pictures there are, which is shown first, and the data of all.
//!
//! The pictures themselves are drawn by `templates/flames.js` from what [`encode`] writes. Numbers come
//! from the analysis; what a page cannot carry is folded, and reported. Pure.

pub(crate) mod encode;
pub(crate) mod still;

use analysis::{
    profiles::{Difference, ProfileFigures},
    quantity,
};

use self::encode::{EncodedTree, Flat, Folded};

/// Bytes that all trees of a page may have: with it a page stays below 10 MB.
const BUDGET: usize = 8_500_000;

/// All flame graphs of a page.
pub(crate) struct Flames {
    /// Names of all frames, encoded.
    pub(crate) names: String,
    pub(crate) differences: Vec<View>,
    pub(crate) profiles: Vec<View>,
    /// Whether anything was folded, in a sentence each.
    pub(crate) folded: Vec<String>,
    /// The main profile, for print and without script.
    pub(crate) still: String,
    pub(crate) still_title: String,
}

/// One picture's data, and what it is called.
pub(crate) struct View {
    /// As the choice names it.
    pub(crate) label: String,
    /// What the panes are called: one name, or the one before and the one after.
    pub(crate) before: String,
    pub(crate) after: String,
    /// Clients; empty where no one counted them.
    pub(crate) clients: String,
    /// Whether costs are CPU; otherwise they are samples.
    pub(crate) cpu: bool,
    pub(crate) tree: EncodedTree,
    /// Whether it is shown first.
    pub(crate) first: bool,
}

impl Flames {
    /// From everything that was profiled.
    pub(crate) fn of(profiles: &[ProfileFigures], differences: &[Difference]) -> Self {
        let of_differences = differences.iter().map(|each| Flat::of_difference(&each.tree));
        let of_profiles = profiles.iter().map(|each| Flat::of_profile(&each.tree));
        let trees: Vec<_> = of_differences.chain(of_profiles).collect();
        let encoded = encode::encode(&trees, BUDGET);
        let mut trees = encoded.trees.into_iter();
        let mut view = |label, sides: [&str; 2], clients: Option<u32>, cpu| View {
            label,
            before: sides[0].to_owned(),
            after: sides[1].to_owned(),
            clients: clients.map_or(String::new(), |clients| clients.to_string()),
            cpu,
            tree: trees.next().unwrap_or_default(),
            first: false,
        };
        let mut of_differences: Vec<View> = differences
            .iter()
            .map(|one| view(label(one), [&one.before, &one.after], one.clients, one.cpu_measured))
            .collect();
        let mut of_profiles: Vec<View> = profiles
            .iter()
            .map(|one| view(named(one), [&named(one), ""], one.clients, one.cpu_measured()))
            .collect();
        let folded = of_differences.iter().chain(&of_profiles).filter_map(folded_line).collect();
        let main = main_profile(profiles);
        match (largest_change(differences), main) {
            (Some(at), _) => of_differences[at].first = true,
            (None, Some(at)) => of_profiles[at].first = true,
            (None, None) => {}
        }
        let mut seen = profiles.iter().map(is_seen);
        of_profiles.retain(|_| seen.next().unwrap_or_default());
        let title = main
            .map_or(String::new(), |at| format!("Where the CPU of {} goes", named(&profiles[at])));
        Self {
            names: encoded.names,
            differences: of_differences,
            profiles: of_profiles,
            folded,
            still: main.map_or(String::new(), |at| still::draw(&profiles[at], &title)),
            still_title: title,
        }
    }
}

/// Whether there is anything to draw.
pub(crate) fn is_seen(profile: &ProfileFigures) -> bool {
    profile.unknown.samples > 0
}

/// `netlink at 114 clients`.
pub(crate) fn named(profile: &ProfileFigures) -> String {
    with_clients(&profile.variant, profile.clients)
}

/// `forks → netlink at 114 clients`.
pub(crate) fn label(difference: &Difference) -> String {
    with_clients(&format!("{} → {}", difference.before, difference.after), difference.clients)
}

fn with_clients(name: &str, clients: Option<u32>) -> String {
    match clients {
        Some(clients) => format!("{name} at {}", quantity::count(clients, "client")),
        None => name.to_owned(),
    }
}

/// The place of the profile with the most CPU.
pub(crate) fn main_profile(profiles: &[ProfileFigures]) -> Option<usize> {
    let cost = |profile: &ProfileFigures| -> f64 {
        let roots = profile.tree.nodes.iter().filter(|node| node.depth == 0);
        roots.map(|node| node.us_per_s).sum()
    };
    first_largest(profiles.iter().map(cost))
}

/// The place of the difference in which some function changed most.
pub(crate) fn largest_change(differences: &[Difference]) -> Option<usize> {
    let change = |each: &Difference| {
        each.functions
            .iter()
            .map(|function| (function.after - function.before).abs())
            .fold(0.0, f64::max)
    };
    first_largest(differences.iter().map(change))
}

fn first_largest(sizes: impl Iterator<Item = f64>) -> Option<usize> {
    let larger = |best: Option<(usize, f64)>, (at, size): (usize, f64)| match best {
        Some((_, most)) if most >= size => best,
        _ => Some((at, size)),
    };
    sizes.enumerate().fold(None, larger).map(|(at, _)| at)
}

fn folded_line(View { label, cpu, tree, .. }: &View) -> Option<String> {
    let Folded { paths, of_paths, cost, of_cost } = tree.folded;
    if paths == 0 {
        return None;
    }
    let cost_text = match cpu {
        true => format!("{} of CPU a second", quantity::cpu_short(cost)),
        false => format!("{cost:.0} samples"),
    };
    let share = quantity::percent(if of_cost > 0.0 { cost / of_cost } else { 0.0 });
    Some(format!(
        "{label}: {paths} of {of_paths} paths, together {cost_text} ({share}), are drawn as their callers’ own, and no search finds them."
    ))
}
