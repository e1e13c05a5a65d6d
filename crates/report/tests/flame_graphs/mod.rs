//! Flame graphs: what is clicked, typed and searched gives the analysis' own figures.
//!
//! A script moves the mouse and presses keys on the canvas, as a person would, and writes down what the page says.

use analysis::{
    fixture,
    profiles::{Difference, FunctionCost, Node, ProfileFigures, Tree, TreeFrame},
    quantity::{cpu_short, percent},
    stacks::profile::Naming,
};
use report::Recorded;

use crate::{
    DESKTOP,
    chromium::{Page, browser},
};

/// Words for the steps of the tests.
const GESTURES: &str = include_str!("gestures.js");

/// What the page says while the steps are done, which must go without an error.
fn said(html: &str, steps: &str) -> Option<Vec<String>> {
    let mut page = Page::open(&browser()?, html, DESKTOP);
    let said = page.text(&format!("(() => {{ {GESTURES}{steps}\nreturn said.join('\\n'); }})()"));
    assert_eq!(page.wrong, Vec::<String>::new());
    Some(said.lines().map(str::to_owned).collect())
}

fn page_of(profiles: &[ProfileFigures], differences: &[Difference]) -> String {
    report::profile_html(&Recorded { title: "SYNTHETIC", profiles, differences, notes: &[] })
        .expect("the page is laid out")
}

/// The first node that is wanted: its place among all, and where its middle is, as a share of the whole. Nodes
/// are depth, width and whether it is wanted, each before those below it.
pub(crate) fn middle(nodes: impl IntoIterator<Item = (u32, f64, bool)>) -> (usize, f64) {
    let nodes: Vec<_> = nodes.into_iter().collect();
    let whole: f64 =
        nodes.iter().filter(|(depth, ..)| *depth == 0).map(|(_, width, _)| width).sum();
    let mut begins = vec![0.0];
    for (at, (depth, width, is_wanted)) in nodes.into_iter().enumerate() {
        begins.truncate(depth as usize + 1);
        let Some(next) = begins.last_mut() else { continue };
        let from = *next;
        *next += width;
        begins.push(from);
        if is_wanted {
            return (at, (from + width / 2.0) / whole);
        }
    }
    panic!("no such frame");
}

/// A frame of a tree: its node, and where its middle is, as a share of the whole.
fn find<'a>(tree: &'a Tree, name: &str) -> (&'a Node, f64) {
    let called = |node: &Node| tree.frames[node.frame as usize].name == name;
    let (at, share) =
        middle(tree.nodes.iter().map(|node| (node.depth, node.us_per_s, called(node))));
    (&tree.nodes[at], share)
}

#[test]
fn a_tooltip_has_the_figures_of_the_analysis() {
    let (_, analysis) = fixture::profiled();
    let profile = &analysis.profiles[1];
    let (node, share) = find(&profile.tree, "nl80211_dump_station");
    let steps = format!("mouse('mousemove', {share}, {}); write(tip());", node.depth + 1);
    let Some(said) = said(&page_of(&analysis.profiles[1..2], &[]), &steps) else { return };
    let samples = profile.captures.iter().map(|capture| capture.samples).sum::<u64>();
    let clients = f64::from(profile.clients.unwrap());
    let expected = format!(
        "nl80211_dump_station; [kernel], kernel; samples {} of {samples}; share {}; CPU {}/s; per client {}/s",
        node.samples,
        percent(node.samples as f64 / samples as f64),
        cpu_short(node.us_per_s),
        cpu_short(node.us_per_s / clients),
    );
    assert_eq!(said, [expected]);
}

#[test]
fn a_click_zooms_and_keys_move_go_up_and_reset() {
    let (_, analysis) = fixture::profiled();
    let profile = &analysis.profiles[1];
    let (node, share) = find(&profile.tree, "station::netlink::dump");
    let (child, _) = find(&profile.tree, "recvmsg");
    let all: f64 =
        profile.tree.nodes.iter().filter(|node| node.depth == 0).map(|node| node.us_per_s).sum();
    let steps = format!(
        "mouse('click', {share}, {}); write(title()); canvas().focus();\
         key('ArrowDown'); write(q('says').textContent.split(' (')[0]);\
         key('Enter'); write(title()); key('Backspace'); write(title());\
         key('ArrowUp'); write(q('says').textContent.split(' (')[0]);\
         key('Escape'); write(title()); write(q('reset').disabled);\
         key('/'); write(document.activeElement.id);",
        node.depth + 1
    );
    let Some(said) = said(&page_of(&analysis.profiles[1..2], &[]), &steps) else { return };
    let name = "found at 114 clients";
    let zoomed = format!("{name} · station::netlink::dump · {}/s", cpu_short(node.us_per_s));
    let expected = [
        &*zoomed,
        "recvmsg",
        &format!("{name} · recvmsg · {}/s", cpu_short(child.us_per_s)),
        &zoomed,
        "station::run",
        &format!("{name} · {}/s", cpu_short(all)),
        "true",
        "flames-search",
    ];
    assert_eq!(said, expected);
}

#[test]
fn it_opens_where_ways_part_and_bottom_up_begins_with_the_function_that_costs_most_itself() {
    let (_, analysis) = fixture::profiled();
    let profile = &analysis.profiles[1];
    let nodes = &profile.tree.nodes;
    let parts = |pair: &&[Node]| {
        pair[1].depth <= pair[0].depth || pair[1].us_per_s < 0.999 * pair[0].us_per_s
    };
    let first = nodes.windows(2).find(parts).map(|pair| pair[0].frame).unwrap();
    let own = |function: &&FunctionCost| function.own.map_or(0.0, |own| own.mean);
    let dearest = profile.functions.iter().max_by(|a, b| own(a).total_cmp(&own(b))).unwrap();
    let steps = "write(title()); document.activeElement.blur(); key('b'); write(title());\
                 mouse('mousemove', 0.01, 1); write(tip());";
    let Some(said) = said(&page_of(&analysis.profiles[1..2], &[]), steps) else { return };
    let first = &profile.tree.frames[first as usize].name;
    assert!(said[0].starts_with(&format!("found at 114 clients · {first} · ")), "{said:?}");
    assert!(!said[1].contains(&**first), "{said:?}");
    let cpu = format!("CPU {}/s", cpu_short(own(&dearest)));
    assert!(
        said[2].starts_with(&format!("{}; ", dearest.name)) && said[2].contains(&cpu),
        "{said:?}"
    );
}

#[test]
fn a_search_counts_each_stack_once() {
    let (_, analysis) = fixture::profiled();
    let profile = &analysis.profiles[1];
    let (recursion, _) = find(&profile.tree, "station::recurse");
    let steps = "type('RECURSE'); write(q('found').textContent); type('^(main|recvmsg)$'); write(q('found').textContent);\
                 type('no such ('); write(q('found').textContent); type(''); write(q('found').textContent + '.');";
    let Some(said) = said(&page_of(&analysis.profiles[1..2], &[]), steps) else { return };
    let samples = profile.captures.iter().map(|capture| capture.samples).sum::<u64>();
    let matches = |node: &Node| {
        format!(
            "matches: {} of samples ({}), {}/s, {}/s per client",
            percent(node.samples as f64 / samples as f64),
            node.samples,
            cpu_short(node.us_per_s),
            cpu_short(node.us_per_s / f64::from(profile.clients.unwrap())),
        )
    };
    let (main, _) = find(&profile.tree, "main");
    assert_eq!(
        said,
        [matches(recursion), matches(main), "nothing matches".to_owned(), ".".to_owned()]
    );
}

#[test]
fn zoom_and_search_act_on_before_after_and_difference() {
    let (_, analysis) = fixture::profiled();
    let difference = analysis
        .differences
        .iter()
        .find(|each| (&*each.before, &*each.after, each.clients) == ("found", "bulk", Some(114)))
        .unwrap();
    let of = |name: &str| {
        let tree = &difference.tree;
        *tree.nodes.iter().find(|node| tree.frames[node.frame as usize].name == name).unwrap()
    };
    let (dump, gone) = (of("station::netlink::dump"), of("station::trace::line"));
    // The share is of the picture of before, whose widths are those of its own tree.
    let steps = "canvas().focus(); key('Escape'); key('ArrowDown'); key('ArrowDown'); key('ArrowDown'); key('ArrowDown');\
                 write(q('says').textContent.split(' (')[0]);\
                 for (let n = 0; n < 9 && !q('says').textContent.includes('dump'); n++) { key('ArrowLeft'); }\
                 write(q('says').textContent); key('Enter');\
                 [0, 1, 2].forEach((at) => write(title(at)));\
                 type('trace::line'); write(q('found').textContent); q('reset').click(); write(title(1));";
    let Some(said) = said(&page_of(&analysis.profiles, std::slice::from_ref(difference)), steps)
    else {
        return;
    };
    let change = |node: &analysis::profiles::DifferenceNode| {
        format!("−{}/s", cpu_short(node.before - node.after))
    };
    let root = of("stationd");
    assert!(dump.significant && gone.after == 0.0);
    let expected = [
        "station::trace::line".to_owned(),
        format!(
            "station::netlink::dump (/usr/bin/stationd): before {}/s; after {}/s; change {} ({}); change per client −{}/s; change is significant",
            cpu_short(dump.before),
            cpu_short(dump.after),
            change(&dump),
            percent((dump.after - dump.before) / dump.before),
            cpu_short((dump.before - dump.after) / 114.0),
        ),
        format!("before: found · station::netlink::dump · {}/s", cpu_short(dump.before)),
        format!("after: bulk · station::netlink::dump · {}/s", cpu_short(dump.after)),
        "difference · station::netlink::dump".to_owned(),
        format!(
            "matches: before {}/s, after 0 µs/s, change {}",
            cpu_short(gone.before),
            change(&gone)
        ),
        format!("after: bulk · {}/s", cpu_short(root.after)),
    ];
    assert_eq!(said, expected);
}

#[test]
fn a_picture_that_is_hidden_comes_back() {
    let (_, analysis) = fixture::profiled();
    let steps = "const box = document.querySelector('.panes'); box.style.display = 'none'; show('p0');\
                 write(title()); box.style.display = ''; window.dispatchEvent(new Event('resize')); show('p0');\
                 mouse('mousemove', 0.5, 0); write(tip().split(';')[0]);";
    let Some(said) = said(&page_of(&analysis.profiles[1..2], &[]), steps) else { return };
    assert_eq!(said.last().map(String::as_str), Some("all"), "{said:?}");
    assert_eq!(said.len(), 2, "{said:?}");
}

#[test]
fn every_picture_of_a_run_opens_without_an_error() {
    let (run, analysis) = fixture::profiled();
    let page = report::html(&run, &analysis, "").unwrap();
    let steps = "for (const each of q('view').options) { show(each.value); write(each.textContent + ': ' + title()); }";
    let Some(said) = said(&page, steps) else { return };
    assert_eq!(said.len(), analysis.profiles.len() + analysis.differences.len(), "{said:?}");
    assert!(said.iter().all(|line| line.ends_with("/s") && !line.contains("NaN")), "{said:?}");
}

/// A profile of so many paths: a random walk through 20 000 functions, from a fixed seed.
fn large(paths: usize) -> ProfileFigures {
    let mut state = 1u64;
    let mut random = |below: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let name = |at: u32| format!("some::module_{}::with_a_name::function_{at}", at % 97);
    let frame = |at| TreeFrame {
        name: name(at),
        module: format!("/usr/lib/lib{}.so", at % 40),
        kernel: at % 5 == 0,
        naming: Naming::Named,
        inlined: at % 7 == 0,
        waits: at == 8,
    };
    let mut nodes: Vec<Node> = Vec::with_capacity(paths);
    for _ in 0..paths {
        let above = nodes.last().map_or(0, |node| node.depth + 1);
        // Deeper by one as often as back, so that some subtrees are large and most are small.
        let back = if random(2) == 0 && above < 60 { 0 } else { 1 + random(3) as u32 };
        let depth = if nodes.is_empty() { 0 } else { above.saturating_sub(back).max(1) };
        let samples = 1 + random(6);
        nodes.push(Node {
            frame: random(20_000) as u32,
            depth,
            samples,
            us_per_s: samples as f64 * 33.7,
        });
    }
    let mut below = vec![(0, 0.0); 128];
    for node in nodes.iter_mut().rev() {
        let depth = node.depth as usize;
        let (samples, cost) = std::mem::take(&mut below[depth + 1]);
        node.samples += samples;
        node.us_per_s += cost;
        below[depth].0 += node.samples;
        below[depth].1 += node.us_per_s;
    }
    let (_, analysis) = fixture::profiled();
    let tree = Tree { frames: (0..20_000).map(frame).collect(), nodes };
    ProfileFigures { variant: "large".to_owned(), tree, ..analysis.profiles[1].clone() }
}

#[test]
fn a_page_of_400_000_paths_stays_small_and_opens_quickly() {
    let page = page_of(&[large(400_000)], &[]);
    println!("400 000 paths: a page of {:.2} MB", page.len() as f64 / 1e6);
    assert!(page.len() < 10_000_000, "{} bytes", page.len());
    assert!(!page.contains("callers’ own, and no search"), "nothing is folded");
    let steps = "write(performance.now()); let t = performance.now(); type('function_1.*9$');\
                 write(performance.now() - t); t = performance.now(); mouse('mousemove', 0.4, 12); write(performance.now() - t);\
                 t = performance.now(); mouse('click', 0.4, 2); write(performance.now() - t); write(title());";
    let Some(said) = said(&page, steps) else { return };
    println!("open, search, hover and zoom, ms: {said:?}");
    let opened: f64 = said[0].parse().unwrap();
    assert!(opened < 5_000.0, "read, decoded and drawn after {opened} ms");
    assert_eq!(said.len(), 5, "{said:?}");
}

#[test]
fn what_a_page_cannot_carry_is_folded_and_reported() {
    let one = large(400_000);
    let profiles = [one.clone(), one.clone(), one];
    let page = page_of(&profiles, &[]);
    println!("3 × 400 000 paths: a page of {:.2} MB", page.len() as f64 / 1e6);
    assert!(page.len() < 10_000_000, "{} bytes", page.len());
    assert!(page.contains("are drawn as their callers’ own, and no search finds them."));
}
