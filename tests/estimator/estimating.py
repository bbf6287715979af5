"""Forests that estimate theta on the two blobs, and an estimator that returns what it is given."""

from two_blobs import U, X, small_forest, y

from lacforest.mixture import RankMixture


def quick():
    """The same as "auto", with fewer bootstrap samples."""
    return RankMixture(n_bootstrap=10)


def estimating_forest(theta=None, **parameters):
    return small_forest(theta=theta or quick(), **parameters)


def fitted(theta=None, X=X, y=y, U=U, sample_weight=None, **parameters):
    return estimating_forest(theta, **parameters).fit(
        X, y, sample_weight=sample_weight, X_unlabeled=U
    )


class Oracle:
    """An estimator with a fixed theta that derives from neither scikit-learn nor lacforest."""

    def __init__(self, answer=0.5, interval=None, random_state=None):
        self.answer, self.interval, self.random_state = answer, interval, random_state

    def get_params(self, deep=True):
        return vars(type(self)(self.answer, self.interval, self.random_state))

    def set_params(self, **parameters):
        vars(self).update(parameters)
        return self

    def fit(self, X, X_unlabeled):
        self.seen = X, X_unlabeled
        self.theta_ = self.answer
        if self.interval is not None:
            self.interval_ = self.interval
        return self
