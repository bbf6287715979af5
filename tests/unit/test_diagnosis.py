"""Findings about the assumptions behind theta, and the plot of the ratio curve."""

from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pytest
from numpy.testing import assert_allclose

from lacforest.mixture import BestBin, RankMixture, RatioCurveDisplay, diagnose, estimate_theta
from lacforest.mixture.checks import _agreement, _identifiable, known_region, misfit
from lacforest.mixture.share_finding import plausible_interval, share_finding


def blobs(rng, n_first, n_second, n_new):
    """Two known classes side by side, and a new one far from both."""
    centers = np.repeat([[0.0, 0.0], [6.0, 0.0], [3.0, 9.0]], [n_first, n_second, n_new], axis=0)
    return centers + rng.normal(size=centers.shape)


@pytest.fixture(scope="module")
def sound():
    rng = np.random.default_rng(0)
    X, y = blobs(rng, 300, 300, 0), np.repeat([0, 1], 300)
    return X, blobs(rng, 300, 300, 400), y


def levels(report):
    return {finding.topic: finding.level for finding in report.findings}


def text_of(report, topic):
    return next(finding.text for finding in report.findings if finding.topic == topic)


def test_data_that_support_theta(sound):
    report = diagnose(*sound, random_state=0)
    assert set(levels(report).values()) == {"ok"}
    assert report.is_sound
    assert report.theta == pytest.approx(0.4, abs=0.05)
    assert report.interval[0] <= report.theta <= report.interval[1]


def test_it_is_the_estimate_of_the_estimator(sound):
    X, U, _ = sound
    fitted = RankMixture(random_state=3).fit(X, U)
    report = diagnose(X, U, estimator=fitted)
    assert (report.theta, report.interval) == (fitted.theta_, fitted.interval_)
    assert report.estimator is fitted


def test_report_as_text(sound):
    report = diagnose(*sound, random_state=0)
    first, *lines = str(report).splitlines()
    assert first.startswith(f"theta = {report.theta:.3f}, interval ")
    assert len(lines) == 6
    assert all(line.startswith("[     ok] ") for line in lines)


def test_nothing_new():
    rng = np.random.default_rng(1)
    report = diagnose(blobs(rng, 300, 300, 0), blobs(rng, 300, 300, 0), random_state=0)
    assert levels(report)["something new"] == "caution"
    assert "do not show whether any of the 600 unlabelled rows is new" in text_of(
        report, "something new"
    )


def test_everything_new():
    rng = np.random.default_rng(2)
    report = diagnose(blobs(rng, 300, 300, 0), blobs(rng, 0, 0, 500), random_state=0)
    assert levels(report)["something known"] == "caution"
    assert "same units, scaling and order of columns" in text_of(report, "something known")
    assert not report.is_sound


def test_new_rows_that_overlap_with_known_ones():
    # All unlabelled rows are new, but they overlap with the labelled ones everywhere.
    rng = np.random.default_rng(3)
    fitted = RankMixture(random_state=0).fit_scores(rng.random(1000), rng.random(2000) ** (1 / 3))
    finding = _identifiable(fitted)
    assert finding.level == "caution"
    steep, flat = fitted.shape_range()
    assert flat - steep > 0.1
    assert f"theta is {steep:.3f} if they overlap little and {flat:.3f}" in finding.text


@pytest.mark.parametrize(("best", "level"), [(0.95, "caution"), (0.52, "ok")])
def test_two_ways_to_estimate_theta(monkeypatch, best, level):
    rng = np.random.default_rng(3)
    unlabeled = rng.random(2000) + np.repeat([0, 1], 1000)
    fitted = RankMixture(random_state=0).fit_scores(rng.random(1000), unlabeled)
    assert fitted.theta_ == pytest.approx(0.5, abs=0.05)
    monkeypatch.setattr("lacforest.mixture.checks.best_bin", lambda _: (0.1, best))
    found = _agreement(fitted)
    assert found.level == level
    assert f"{fitted.theta_:.3f} by a curve through all rows" in found.text
    assert f"and {1 - best:.3f} by the rows that look most known alone." in found.text
    assert ("two ways to estimate theta disagree" in found.text) == (level == "caution")


@pytest.mark.parametrize(
    ("shift", "end"),
    [(0.3, "be seen (shift 0.3; chance alone gives up to 3.5)."), (9.0, "as far as can be seen.")],
)
def test_class_shares_that_have_not_moved(shift, end):
    found = share_finding(SimpleNamespace(has_shifted_=False, share_shift_=shift))
    assert found.level == "ok"
    assert found.text.endswith(end)


def test_a_class_that_is_rarer_in_deployment():
    rng = np.random.default_rng(4)
    X, y = blobs(rng, 300, 300, 0), np.repeat(["common", "rare"], 300)
    report = diagnose(X, blobs(rng, 500, 20, 300), y, random_state=0)
    assert levels(report)["class shares"] == "caution"
    text = text_of(report, "class shares")
    assert "other shares than labelled (shift " in text
    assert "common 50% -> 9" in text
    assert "pass them as known_shares" in text
    assert not report.is_sound
    # Theta is that under the shares: 300 of 820 rows are new.
    assert report.theta == pytest.approx(300 / 820, abs=0.04)
    assert report.theta == report.shares.theta_ == report.estimator.theta_
    assert report.interval[0] <= report.theta <= report.interval[1]
    assert report.shares.known_shares_[1] == pytest.approx(20 / 520, abs=0.03)


def test_a_given_estimator_keeps_its_theta_where_shares_have_moved():
    rng = np.random.default_rng(5)
    X, y = blobs(rng, 500, 60, 0), np.repeat([0, 1], [500, 60])
    U = blobs(rng, 200, 500, 200)
    fitted = RankMixture(random_state=0).fit(X, U)
    report = diagnose(X, U, y, estimator=fitted, random_state=0)
    assert report.theta == fitted.theta_
    assert report.shares.has_shifted_
    assert "1 11% -> 7" in text_of(report, "class shares")


def test_shares_that_have_not_moved(sound):
    X, U, y = sound
    report = diagnose(X, U, y, random_state=0)
    assert "known classes occur in deployment as labelled" in text_of(report, "class shares")
    assert report.theta == diagnose(X, U, random_state=0).theta
    assert diagnose(X, U, random_state=0).shares is None


def test_one_class_has_no_shares_to_compare(sound):
    X, U, _ = sound
    report = diagnose(X, U, np.zeros(len(X), dtype=int), random_state=0)
    assert levels(report)["class shares"] == "ok"


def look_alikes(rng, n_labeled=300, n_unlabeled=600):
    """Classes that no column tells apart, half of the unlabelled rows new."""
    X, U = rng.normal(size=(n_labeled, 4)), rng.normal(size=(n_unlabeled, 4))
    return X, U, np.arange(n_labeled) % 3


def test_classes_that_look_alike():
    X, U, y = look_alikes(np.random.default_rng(8))
    report = diagnose(X, U, y, random_state=0)
    assert levels(report)["look-alikes"] == "caution"
    text = text_of(report, "look-alikes")
    assert "the known classes look alike" in text
    assert f"trees tell them apart by {max(report.shares.distinction_, 0.0):.2f}" in text
    assert "theta cannot be identified" in text
    assert "pass it as theta" in text
    assert abs(report.shares.distinction_) < 0.2
    # Any share of new rows could hide among rows that all look alike.
    assert report.interval == (0.0, 1.0)
    assert diagnose(X, U, random_state=0).interval[1] < 0.5


def test_classes_that_are_told_apart_are_not_mentioned(sound):
    X, U, y = sound
    report = diagnose(X, U, y, random_state=0)
    assert "look-alikes" not in levels(report)
    assert report.shares.distinction_ > 0.9
    assert report.interval == diagnose(X, U, random_state=0).interval


@pytest.mark.parametrize(
    ("visible", "expected"),
    [
        (None, (0.1, 0.3)),  # one class
        (0.5, (0.1, 0.3)),  # told apart well enough
        (0.4, (0.1, 0.75)),  # two fifths of the new rows show
        (0.2, (0.1, 1.0)),
        (-0.1, (0.1, 1.0)),
    ],
)
def test_the_upper_end_allows_for_new_rows_that_look_known(visible, expected):
    mixture = SimpleNamespace(distinction_=visible)
    assert plausible_interval((0.1, 0.3), mixture) == pytest.approx(expected)


def test_misfit_is_small_only_where_a_sample_is_missing(sound):
    X, U, _ = sound
    assert misfit(RankMixture(random_state=0).fit(X, U)) > 0.001
    # Some labelled rows lie in a score region without unlabelled rows; elsewhere both agree.
    rng = np.random.default_rng(6)
    labeled = np.concatenate([rng.random(500), np.full(500, 0.25) + 1e-3 * rng.random(500)])
    fitted = RankMixture(random_state=0).fit_scores(labeled, rng.random(2000))
    assert misfit(fitted) < 0.001


def test_known_region_of_disjoint_scores():
    rng = np.random.default_rng(7)
    apart = RankMixture(random_state=0).fit_scores(
        rng.random(500), np.concatenate([rng.random(300), 2 + rng.random(300)])
    )
    assert known_region(apart) > 0.9


def test_estimators_that_do_not_fit_the_tables(sound):
    X, U, _ = sound
    fitted = RankMixture(random_state=0).fit(X[:100], U)
    with pytest.raises(ValueError, match="fitted on 100 labelled rows, but X has 600"):
        diagnose(X, U, estimator=fitted)
    without = RankMixture(n_bootstrap=0, random_state=0).fit(X, U)
    with pytest.raises(ValueError, match="estimator has no interval: fit it with n_bootstrap"):
        diagnose(X, U, estimator=without)


def test_labels_of_another_length(sound):
    X, U, y = sound
    with pytest.raises(ValueError, match="y has 599 labels, but X has 600 rows"):
        diagnose(X, U, y[1:], random_state=0)


# ---------------------------------------------------------------------------- messages


def test_no_unlabelled_table(sound):
    with pytest.raises(ValueError, match="X_unlabeled is None: theta is the share of new rows"):
        RankMixture().fit(sound[0], None)


def test_a_method_that_is_no_name(sound):
    with pytest.raises(ValueError, match="method must be one of"):
        estimate_theta(*sound[:2], method="median")


@pytest.mark.parametrize(("n_jobs", "error"), [("2", TypeError), (0, ValueError)])
def test_threads_that_make_no_sense(sound, n_jobs, error):
    with pytest.raises(error, match="n_jobs must"):
        RankMixture(n_jobs=n_jobs).fit(*sound[:2])


def test_missing_values_and_an_svc(sound):
    X = sound[0].copy()
    X[3, 1] = np.nan
    with pytest.raises(ValueError, match="contains missing values, which an SVC does not accept"):
        BestBin("svc").fit(X, sound[1])


@pytest.mark.parametrize("cv", [[], [(np.arange(600), np.arange(600, 1600))]])
def test_folds_without_one_side(sound, cv):
    with pytest.raises(ValueError, match="labelled and unlabelled rows among their training rows"):
        BestBin("svc", cv=cv).fit(*sound[:2])


# ---------------------------------------------------------------------------- picture


@pytest.mark.usefixtures("close_figures")
def test_curve_point_and_interval(sound):
    fitted = BestBin(random_state=0).fit(*sound[:2])
    display = RatioCurveDisplay.from_estimator(fitted)
    x, ratio = fitted.ratio_curve()
    assert_allclose(display.x, x)
    assert_allclose(display.ratio, ratio)
    assert display.chosen == fitted.chosen_
    lines = {line.get_label(): line for line in display.ax_.lines}
    assert_allclose(lines["ratio curve"].get_ydata(), ratio)
    assert lines["chosen point"].get_xydata().tolist() == [list(fitted.chosen_)]
    assert f"1 − θ = {1 - fitted.theta_:.3f}, θ = {fitted.theta_:.3f}" in lines
    assert "fitted mixture" not in lines


@pytest.mark.usefixtures("close_figures")
def test_fitted_curve_in_given_axes(sound):
    fitted = RankMixture(n_bootstrap=0, random_state=0).fit(*sound[:2])
    _, ax = plt.subplots()
    display = RatioCurveDisplay.from_estimator(fitted, ax=ax)
    assert display.ax_ is ax
    assert display.figure_ is ax.figure
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert "fitted mixture" in labels
    assert not any(label.startswith("interval") for label in labels)


def test_fitted_curve_starts_at_the_known_share(sound):
    fitted = RankMixture(n_bootstrap=0, random_state=0).fit(*sound[:2])
    assert fitted.fitted_curve(np.zeros(1))[0] == pytest.approx(1 - fitted.theta_)
    assert fitted.fitted_curve(np.ones(1))[0] == pytest.approx(1.0)
    steep, flat = fitted.shape_range()
    assert 0 <= steep <= flat <= 1
