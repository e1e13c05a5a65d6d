//! This device's curve: Wi-Fi kept against application work kept over the ladder of settings, and its knee.
