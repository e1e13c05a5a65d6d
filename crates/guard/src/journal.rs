//! Old values, written ahead of every change, and their exact restoring.
