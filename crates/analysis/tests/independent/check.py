"""The statistics of headroom's comparisons once more, by scipy: an implementation that shares nothing with ours.

    python3 check.py cases.json > expected.json

Reads a table of cases and prints the same table of results. The test `main.rs` runs it where scipy is
installed (Debian: python3-scipy) and compares; elsewhere it compares with `expected.json` as it is kept.
"""

import itertools
import json
import sys

import numpy
from scipy import optimize, stats


def interval(values, level):
    """Student's interval of the mean."""
    return list(stats.t.interval(1 - level, len(values) - 1, values.mean(), stats.sem(values)))


def equivalence(values, margin):
    """Two one-sided t tests against -margin and +margin; the larger p."""
    above = stats.ttest_1samp(values, -margin, alternative="greater").pvalue
    below = stats.ttest_1samp(values, margin, alternative="less").pvalue
    return max(above, below)


def detectable(values, level):
    """The true mean that a two-sided t test finds in 4 of 5 experiments, by the noncentral t."""
    n = len(values)
    critical = stats.t.ppf(1 - level / 2, n - 1)

    def short(delta):
        return stats.nct.sf(critical, n - 1, delta) + stats.nct.cdf(-critical, n - 1, delta) - 0.8

    high = critical + 3
    while short(high) < 0:
        high *= 2
    return optimize.brentq(short, 0, high, xtol=1e-12) * values.std(ddof=1) / numpy.sqrt(n)


def sign_flip(variant, base):
    """Exact and two-sided, over all exchanges of the sides within pairs."""

    def mean_difference(one, other, axis=-1):
        return numpy.mean(one - other, axis=axis)

    found = stats.permutation_test(
        (variant, base), mean_difference, permutation_type="samples", n_resamples=numpy.inf, vectorized=True
    )
    return min(found.pvalue, 1.0)


def pairs(case):
    variant, base = numpy.array(case["variant"]), numpy.array(case["base"])
    ratios = variant / base - 1
    return {
        "absolute": interval(variant - base, case["level"]),
        "relative": interval(ratios, case["level"]),
        "t": stats.ttest_rel(variant, base).pvalue,
        "flip": sign_flip(variant, base),
        "equivalence": equivalence(ratios, case["margin"]),
        "detectable": detectable(ratios, case["level"]),
    }


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        cases = json.load(file)
    results = {"pairs": [pairs(case) for case in cases["pairs"]]}
    json.dump(results, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
