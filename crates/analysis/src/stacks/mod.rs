//! Where the CPU goes: recorded stacks to names, folded stacks, differences and exports.
//!
//! ```text
//! perf.data ──(perf_data)──► Happening… ──(resolve: space, unwind, symbols)──► frames ──(fold)──► Profile
//!                                  ▲                                                        │
//!                           Files (bytes)                    tree, functions, unknown, waiting, difference
//!                                                                                           │
//!                                                                       export: folded
//! ```

pub mod budget;
pub mod changed;
mod cost;
mod difference;
pub mod export;
pub mod files;
pub mod fold;
mod functions;
pub mod happening;
pub mod kernel;
pub mod names;
pub mod object;
pub mod perf_data;
pub mod profile;
pub mod resolve;
pub mod space;
pub mod symbols;
#[cfg(any(test, feature = "fixture"))]
pub(crate) mod test_data;
mod tree;
mod unknown;
pub mod unwind;
mod waiting;

pub(crate) use crate::stacks::{
    cost::Costs,
    difference::{Side, difference},
    functions::{Functions, costs as function_costs},
    tree::tree,
    unknown::unknown,
    waiting::named as named_waiting,
};
