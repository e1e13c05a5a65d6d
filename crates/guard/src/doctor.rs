//! What is misplaced on this device, and what to do about it. Changes nothing.
