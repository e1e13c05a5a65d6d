//! The verbs, the same in `guard` and in `headroom guard`: parse, dispatch, print, exit code.
