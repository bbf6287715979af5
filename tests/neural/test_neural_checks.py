"""scikit-learn's own estimator checks, on the encoder of tables."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from lacforest.neural import DeepLACForestClassifier


@parametrize_with_checks(
    [
        DeepLACForestClassifier(
            epochs=40, depth=4, hidden=(16,), learning_rate=0.2, batch_size=64, device="cpu"
        )
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
