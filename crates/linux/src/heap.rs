//! What a piece of code takes from the heap: an allocator that counts, for tests and benchmarks.
//!
//! A program that wants to know makes it its own: `#[global_allocator] static ALLOCATOR: Counting = Counting;`. Each
//! thread is counted for itself, so that others do not disturb.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
};

thread_local! {
    static TAKEN: Cell<u64> = const { Cell::new(0) };
}

/// The system's allocator, which counts what is asked of it.
#[derive(Clone, Copy, Debug)]
pub struct Counting;

impl Counting {
    fn count() {
        // A thread that ends has no counter any more, and nobody asks for it.
        let _ = TAKEN.try_with(|taken| taken.set(taken.get() + 1));
    }
}

// SAFETY: every call is passed on to the system's allocator as it came; counting touches a cell of
// this thread only, which was made without allocating.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        Self::count();
        // SAFETY: the caller keeps this function's contract, which is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the pointer came from `alloc` or `realloc` above, hence from the system's allocator.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        Self::count();
        // SAFETY: as for `dealloc`; the caller keeps the contract on the new size.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

/// How often this takes memory or lets it grow; 0 too where the program's allocator does not count.
pub fn taken(work: impl FnOnce()) -> u64 {
    let before = TAKEN.get();
    work();
    TAKEN.get() - before
}
