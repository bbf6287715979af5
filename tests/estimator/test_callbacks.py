"""Callbacks of scikit-learn: every stage and every tree of a fit is reported."""

import pytest
from sklearn.base import clone
from two_blobs import U, X, y

from lacforest import LACExtraTreesClassifier, LACForestClassifier
from lacforest._utils.progress import watching

callback = pytest.importorskip("sklearn.callback", reason="scikit-learn has no callbacks yet")


class Recorder:
    """Keeps what it hears; follows the protocol of callbacks of a fit."""

    def __init__(self):
        self.heard, self.fitted = [], None

    def setup(self, estimator, context):
        self.heard.append("setup")

    def teardown(self, estimator, context):
        self.heard.append("teardown")

    def on_fit_task_begin(self, estimator, context):
        self.heard.append(("begin", context.task_name))

    def on_fit_task_end(self, estimator, context, *, fitted_estimator):
        self.heard.append(("end", context.task_name))
        if context.parent is None:
            self.fitted = fitted_estimator


def test_stages_and_trees():
    recorder = Recorder()
    forest = LACForestClassifier(
        7, theta=0.5, known_shares="labeled", random_state=0
    ).set_callbacks(recorder)
    forest.fit(X, y, X_unlabeled=U)
    heard = recorder.heard
    assert heard[:3] == ["setup", ("begin", "fit"), ("begin", "growing trees")]
    assert heard[-3:] == [("end", "growing trees"), ("end", "fit"), "teardown"]
    assert heard.count(("begin", "growing trees")) == 2  # both steps
    assert heard.count(("end", "tree")) == 14
    plain = LACForestClassifier(7, theta=0.5, known_shares="labeled", random_state=0).fit(
        X, y, X_unlabeled=U
    )
    assert (plain.predict_proba(X) == forest.predict_proba(X)).all()
    assert (recorder.fitted.predict_proba(X) == forest.predict_proba(X)).all()
    assert not hasattr(forest, "_callback_fit_ctx")


def test_theta_is_a_stage():
    recorder = Recorder()
    forest = LACExtraTreesClassifier(6, random_state=0).set_callbacks(recorder)
    forest.fit(X, y, X_unlabeled=U)
    assert ("begin", "estimating theta") in recorder.heard


def test_a_failed_fit_ends_its_callbacks():
    recorder = Recorder()
    forest = LACForestClassifier(theta=7).set_callbacks(recorder)
    with pytest.raises(ValueError, match="theta"):
        forest.fit(X, y, X_unlabeled=U)
    assert recorder.heard[-1] == "teardown"
    assert not hasattr(forest, "_callback_fit_ctx")


def test_another_watcher_still_hears():
    heard = []
    forest = LACForestClassifier(5, theta=0.5, random_state=0).set_callbacks(Recorder())
    with watching(lambda *news: heard.append(news)):
        forest.fit(X, y, X_unlabeled=U)
    assert heard[-1] == ("growing trees", 5, 5)


def test_the_progress_bar_of_scikit_learn():
    pytest.importorskip("rich", reason="ProgressBar needs rich")
    forest = LACForestClassifier(5, theta=0.5, random_state=0)
    clone(forest.set_callbacks(callback.ProgressBar())).fit(X, y, X_unlabeled=U)
