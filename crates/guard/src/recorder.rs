//! Readings and decisions on disk, in a ring of bounded size, and their replay through the same function.
