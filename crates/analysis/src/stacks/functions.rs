//! What each function costs, with what it calls and by itself.
//!
//! A function is a name in a module. In one stack it counts once, however often it calls itself.

use std::collections::BTreeMap;

use crate::{
    profiles::FunctionCost,
    stacks::{
        cost::{Costs, add},
        profile::{Naming, Profile, Stack},
    },
};

/// One function with its samples in each capture.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) module: String,
    pub(crate) kernel: bool,
    pub(crate) naming: Naming,
    /// Samples with it anywhere in the stack.
    pub(crate) inclusive: Vec<u64>,
    /// Samples with it innermost.
    pub(crate) own: Vec<u64>,
}

/// All functions of a profile, by name and module.
pub(crate) struct Functions {
    pub(crate) all: Vec<Function>,
    /// The function of each frame; processes are none.
    of_frame: Vec<Option<usize>>,
}

impl Functions {
    pub(crate) fn of(profile: &Profile) -> Self {
        let nothing = vec![0; profile.samples.len()];
        let mut places: BTreeMap<(&str, u32), usize> = BTreeMap::new();
        let mut functions = Self { all: Vec::new(), of_frame: Vec::new() };
        for frame in &profile.frames {
            let module = profile.module(frame);
            let place = (frame.naming != Naming::Process).then(|| {
                *places.entry((&frame.name, frame.module)).or_insert_with(|| {
                    functions.all.push(Function {
                        name: frame.name.clone(),
                        module: module.name.clone(),
                        kernel: module.kernel,
                        naming: frame.naming,
                        inclusive: nothing.clone(),
                        own: nothing.clone(),
                    });
                    functions.all.len() - 1
                })
            });
            functions.of_frame.push(place);
        }
        // The stack in which a function was seen last, so that recursion counts once.
        let mut seen = vec![usize::MAX; functions.all.len()];
        for (at, stack) in profile.stacks.iter().enumerate() {
            let innermost = functions.innermost(stack).next();
            if let Some(place) = innermost {
                add(&mut functions.all[place].own, &stack.samples);
            }
            for place in stack.frames.iter().filter_map(|frame| functions.of_frame[*frame as usize])
            {
                if std::mem::replace(&mut seen[place], at) != at {
                    add(&mut functions.all[place].inclusive, &stack.samples);
                }
            }
        }
        functions
    }

    /// The functions of a stack, innermost first, where the innermost frame is one.
    fn innermost(&self, stack: &Stack) -> impl Iterator<Item = usize> {
        stack.frames.iter().rev().map_while(|frame| self.of_frame[*frame as usize])
    }

    /// What called a function most often when it was innermost.
    pub(crate) fn caller(&self, profile: &Profile, function: usize) -> Option<&str> {
        let mut callers: BTreeMap<usize, u64> = BTreeMap::new();
        for stack in &profile.stacks {
            let mut functions = self.innermost(stack);
            if functions.next() == Some(function)
                && let Some(caller) = functions.next()
            {
                *callers.entry(caller).or_default() += stack.samples.iter().sum::<u64>();
            }
        }
        let most = callers.iter().max_by_key(|(at, samples)| (**samples, usize::MAX - **at));
        most.map(|(at, _)| &*self.all[*at].name)
    }
}

/// Every function, by inclusive cost, largest first.
pub(crate) fn costs(functions: &Functions, profile: &Profile, costs: &Costs) -> Vec<FunctionCost> {
    let all = profile.samples.iter().sum::<u64>().max(1) as f64;
    let mut order: Vec<&Function> = functions.all.iter().collect();
    order.sort_by(|a, b| {
        let cost = |function: &Function| costs.mean(&function.inclusive);
        cost(b).total_cmp(&cost(a)).then_with(|| (&a.name, &a.module).cmp(&(&b.name, &b.module)))
    });
    let share = |samples: &[u64]| samples.iter().sum::<u64>() as f64 / all;
    let of = |function: &Function| FunctionCost {
        name: function.name.clone(),
        module: function.module.clone(),
        naming: function.naming,
        share: share(&function.inclusive),
        own_share: share(&function.own),
        inclusive: costs.estimate(&function.inclusive),
        own: costs.estimate(&function.own),
    };
    order.into_iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stacks::test_data::profile;

    fn found(stacks: &[(&str, &[u64])]) -> Vec<(String, Vec<u64>, Vec<u64>)> {
        let functions = Functions::of(&profile(stacks));
        functions.all.into_iter().map(|each| (each.name, each.inclusive, each.own)).collect()
    }

    #[test]
    fn a_recursive_function_counts_once_in_each_stack() {
        let found = found(&[("d;f;f;g", &[2]), ("d;f", &[3])]);
        assert_eq!(found, [("f".into(), vec![5], vec![3]), ("g".into(), vec![2], vec![2])]);
    }

    #[test]
    fn the_largest_comes_first_and_a_process_is_no_function() {
        let profile = profile(&[("d;main;read", &[3]), ("d;main;apply", &[5])]);
        let functions = Functions::of(&profile);
        let costs = costs(&functions, &profile, &Costs::of(&[8], &[Some(80.0)]));
        let found: Vec<_> = costs
            .iter()
            .map(|each| (&*each.name, each.inclusive.unwrap().mean, each.own.unwrap().mean))
            .collect();
        assert_eq!(found, [("main", 80.0, 0.0), ("apply", 50.0, 50.0), ("read", 30.0, 30.0)]);
        assert_eq!((costs[0].own_share, costs[2].share, costs[2].own_share), (0.0, 0.375, 0.375));
    }

    #[test]
    fn without_cpu_a_function_has_its_shares_and_no_cost() {
        let profile = profile(&[("d;main;read", &[3]), ("d;main", &[1])]);
        let costs = costs(&Functions::of(&profile), &profile, &Costs::of(&[4], &[None]));
        let found: Vec<_> =
            costs.iter().map(|one| (&*one.name, one.share, one.own_share)).collect();
        assert_eq!(found, [("main", 1.0, 0.25), ("read", 0.75, 0.75)]);
        assert!(costs.iter().all(|one| one.inclusive.is_none() && one.own.is_none()));
    }

    #[test]
    fn what_calls_a_function_most_is_reported() {
        let profile = profile(&[("d;a;spin", &[2]), ("d;b;spin", &[3]), ("d;spin", &[9])]);
        let functions = Functions::of(&profile);
        let spin = functions.all.iter().position(|each| each.name == "spin").unwrap();
        assert_eq!(functions.caller(&profile, spin), Some("b"));
    }
}
