"""Learning on digits with four hidden classes, compared with a thresholded softmax."""

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch.nn import functional

from lacforest.metrics import accuracy_score, new_class_auc
from lacforest.model_selection import make_augmented_split
from lacforest.neural import DeepLACForestClassifier, MLPEncoder

# The forest must be better than the best threshold by this much.
MARGIN = 0.03
EPOCHS = 30
HIDDEN = (128, 128)


def softmax_baseline(split):
    """Novelty 1 - max_k p_k of the same encoder, trained as long by cross entropy alone."""
    generator = torch.Generator().manual_seed(0)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        encoder = MLPEncoder(64, HIDDEN)
        head = torch.nn.Linear(HIDDEN[-1], 6)
    rows = torch.tensor(split.X_labeled)
    encoder.standardize.fit(lambda: iter([rows, torch.tensor(split.X_unlabeled)]))
    known, codes = np.unique(split.y_labeled, return_inverse=True)
    target = torch.tensor(codes)
    network = torch.nn.Sequential(encoder, head)
    optimizer = torch.optim.SGD(network.parameters(), lr=0.1, momentum=0.9, weight_decay=5e-3)
    for _ in range(EPOCHS):
        for batch in torch.randperm(len(rows), generator=generator).split(128):
            optimizer.zero_grad()
            functional.cross_entropy(network(rows[batch]), target[batch]).backward()
            optimizer.step()
    with torch.no_grad():
        shares = network(torch.tensor(split.X_test)).softmax(dim=1).numpy()
    return 1 - shares.max(axis=1), known[shares.argmax(axis=1)]


def test_the_deep_forest_beats_thresholded_softmax():
    X, y = load_digits(return_X_y=True)
    split = make_augmented_split(
        X,
        y,
        hidden=[1, 4, 7, 9],
        n_labeled=500,
        n_unlabeled=600,
        n_test=350,
        theta=0.4,
        random_state=0,
    )
    forest = DeepLACForestClassifier(
        theta=0.4,
        hidden=HIDDEN,
        epochs=EPOCHS,
        batch_size=128,
        learning_rate=0.1,
        device="cpu",
        random_state=0,
    )
    forest.fit(split.X_labeled, split.y_labeled, X_unlabeled=split.X_unlabeled)
    accuracy = accuracy_score(split.y_test, forest.predict(split.X_test))
    auc = new_class_auc(split.y_test, forest.novelty_score(split.X_test), new_label=split.new_label)

    novelty, closed = softmax_baseline(split)
    # The threshold is chosen on the test rows, so no other threshold is better.
    best = max(
        accuracy_score(split.y_test, np.where(novelty >= threshold, split.new_label, closed))
        for threshold in np.unique(novelty)
    )
    assert accuracy > best + MARGIN
    assert auc > new_class_auc(split.y_test, novelty, new_label=split.new_label) + MARGIN
    assert accuracy > 0.9
