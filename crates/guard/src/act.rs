//! Bounds to the kernel: one lever at a time, old value journalled first, verified by reading back.
