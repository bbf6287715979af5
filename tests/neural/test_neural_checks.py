"""scikit-learn's own estimator checks, on the encoder of tables."""

from scikit_learn_checks import each_check

from lacforest.neural import DeepLACForestClassifier


@each_check(
    [
        DeepLACForestClassifier(
            epochs=40, depth=4, hidden=(16,), learning_rate=0.2, batch_size=64, device="cpu"
        )
    ],
    # A repeated row can be in two batches, a weighted one cannot.
    expected_failed_checks=lambda _: {
        "check_sample_weight_equivalence_on_dense_data": "batches count rows"
    },
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
