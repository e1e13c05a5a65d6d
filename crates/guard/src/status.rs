//! Who is bounded, why, and what it costs: for people, as JSON, as OpenMetrics.
