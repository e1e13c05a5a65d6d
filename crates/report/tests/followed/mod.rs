//! What holds of the histories of contention and completion runs alike: every figure of a run's table can be followed.

use model::run::Run;
use report::index::{Index, Limited, Place, by_targets, html};

/// Each figure of the table is found by its name, one that there is not is not found, and two runs make a picture.
pub(crate) fn every_figure(run: &Run, limited: &Limited<'_>, key: &str) {
    let entry = |name: &str| {
        let place = Place { folder: "run", report: None };
        by_targets(run, limited.clone(), &name.parse().expect("a figure"), place)
    };
    for row in limited.table.iter().filter(|row| row.estimate.is_some()) {
        let finite = row.estimate.is_some_and(|estimate| estimate.mean.abs() < f64::MAX);
        let figures = entry(&row.name).figures;
        assert_eq!(figures.iter().any(|one| Some(one.estimate) == row.estimate), finite, "{row:?}");
    }
    assert!(entry("no-such-figure").figures.is_empty());
    let runs = vec![entry(key), entry(key)];
    let index =
        Index { title: "runs".to_owned(), figure: key.to_owned(), runs, unread: Vec::new() };
    let page = html(&index).expect("the page is laid out");
    assert!(page.contains("class=\"chart wide\"") && !page.contains("NaN"), "no picture");
}
