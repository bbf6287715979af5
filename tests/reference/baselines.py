"""Naive twins of the compared methods: plain loops and general-purpose solvers."""

import math

import numpy as np
from scipy import sparse
from scipy.stats import weibull_min


def distance(a, b):
    return math.sqrt(sum((x - y) ** 2 for x, y in zip(a, b, strict=True)))


# ---------------------------------------------------------------------------- GLAC


def glac_loss(logits, c, q):
    exponentials = [math.exp(z) for z in logits]
    p = exponentials[c] / sum(exponentials)
    return (1 - p**q) / q


def glac_risk(labeled, y, weight, unlabeled, pi, q, penalty, power):
    """A, B and the penalised risk of rows given by their logits; "new" is the last class."""
    new = len(labeled[0]) - 1
    rows = list(zip(labeled, y, weight, strict=True))
    a = pi * sum(w * glac_loss(z, c, q) for z, c, w in rows) / sum(weight)
    b = sum(glac_loss(z, new, q) for z in unlabeled) / len(unlabeled)
    b -= pi * sum(w * glac_loss(z, new, q) for z, _, w in rows) / sum(weight)
    return a, b, a + b + (penalty * (-b) ** power if b < 0 else 0.0)


# ---------------------------------------------------------------------------- EULAC


def square_loss(z):
    return (1 - z) ** 2 / 4


def eulac_objective(kernel, weight, y, coefficients, pi, lam):
    """Risk of the empirical problem; columns of coefficients are machines, the new one last."""
    outputs = kernel @ coefficients
    n_labeled = len(y)
    value = 0.0
    for i in range(n_labeled):
        share = weight[i] / sum(weight[:n_labeled])
        value += pi * share * (outputs[i, -1] - outputs[i, y[i]])
    for j in range(n_labeled, len(kernel)):
        share = weight[j] / sum(weight[n_labeled:])
        value += share * square_loss(outputs[j, -1])
        for k in range(coefficients.shape[1] - 1):
            value += share * square_loss(-outputs[j, k])
    for c in range(coefficients.shape[1]):
        value += lam * coefficients[:, c] @ kernel @ coefficients[:, c]
    return value


# ---------------------------------------------------------------------------- EVM


def evm_inclusions(X, y, tail, margin=0.5):
    """(shape, scale) of each row, by scipy's general fit."""
    laws = []
    for row, label in zip(X, y, strict=True):
        others = sorted(
            distance(row, other) for other, its in zip(X, y, strict=True) if its != label
        )
        shape, _, scale = weibull_min.fit([margin * d for d in others[:tail]], floc=0)
        laws.append((shape, scale))
    return laws


def weibull_survival(t, shape, scale):
    # Equal distances give a huge Weibull shape, so a power may overflow to infinity.
    with np.errstate(over="ignore"):
        return math.exp(-(np.float64(t / scale) ** shape))


def evm_memberships(x, X, y, laws, n_classes, n_fused):
    found = []
    for code in range(n_classes):
        reached = sorted(
            (
                weibull_survival(distance(x, row), shape, scale)
                for row, label, (shape, scale) in zip(X, y, laws, strict=True)
                if label == code
            ),
            reverse=True,
        )[:n_fused]
        found.append(sum(reached) / len(reached))
    return found


def greedy_cover(covers):
    n = len(covers)
    waiting, chosen = set(range(n)), []
    while waiting:
        counts = [sum(bool(covers[i][j]) for j in waiting) for i in range(n)]
        best = counts.index(max(counts))
        chosen.append(best)
        waiting -= {j for j in range(n) if covers[best][j]}
    return sorted(chosen)


# ---------------------------------------------------------------------------- PAC-iForest


def share_up_to(scores, value):
    return sum(score <= value for score in scores) / len(scores)


def pac_threshold(nominal, mixed, theta, q):
    values = sorted({*nominal, *mixed})
    answer = values[0]
    for value in values:
        f_a = (share_up_to(mixed, value) - (1 - theta) * share_up_to(nominal, value)) / theta
        if f_a <= q + 1e-9:
            answer = value
    return answer


def path_length(tree, x):
    """Depth of the leaf, and the mean depth of a random tree of its rows."""
    node, depth = 0, 0
    while tree.children_left[node] >= 0:
        goes_left = np.float32(x[tree.feature[node]]) <= tree.threshold[node]
        node = (tree.children_left if goes_left else tree.children_right)[node]
        depth += 1
    return depth + usual_length(tree.n_node_samples[node])


def usual_length(n):
    if n <= 1:
        return 0.0
    if n == 2:
        return 1.0
    return 2 * (math.log(n - 1) + 0.5772156649015329) - 2 * (n - 1) / n


# ---------------------------------------------------------------------------- OSNN


def osnn(x, X, y):
    """Label of the nearest row, and R."""
    ordered = sorted(range(len(X)), key=lambda i: distance(x, X[i]))
    label = y[ordered[0]]
    nearest = distance(x, X[ordered[0]])
    other = min(distance(x, X[i]) for i in ordered if y[i] != label)
    return label, nearest / other if other > 0 else 1.0


# ---------------------------------------------------------------------------- LACU-SVM


def maximise(kernel, gain, low, high):
    """alpha of max gain'alpha - alpha'K alpha/2 with sum(alpha) = 0 and a box, by clarabel."""
    import clarabel

    n = len(gain)
    identity = sparse.eye(n, format="csc")
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
    constraints = sparse.vstack(
        [sparse.csc_matrix(np.ones((1, n))), identity, -identity], format="csc"
    )
    cones = [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(2 * n)]
    bounds = np.concatenate([[0.0], high, -low])
    solver = clarabel.DefaultSolver(
        sparse.triu(sparse.csc_matrix(kernel), format="csc"),
        -gain,
        constraints,
        bounds,
        cones,
        settings,
    )
    return np.array(solver.solve().x)


def lacu_round(kernel, signs, previous, band, margin, penalties, C_unlabeled, ramp, cap):
    """One round with an explicit variable per copy of a point, including its kernel row.

    Points are labelled rows, unlabelled rows and the mean of the latter. Returns the weights of the
    points and the objective.
    """
    n_labeled, n_points = len(signs), len(kernel)
    variables = []  # (point, gain, low, high)
    for i in range(n_labeled):
        bound = signs[i] * penalties[i]
        variables.append((i, signs[i], min(0, bound), max(0, bound)))
    for sign in (1, -1):
        for j in range(n_labeled, n_points - 1):
            beta = C_unlabeled if sign * previous[j] < ramp else 0.0
            ends = sorted([sign * -beta, sign * (C_unlabeled - beta)])
            variables.append((j, sign, *ends))
    variables.append((n_points - 1, band[1], -cap, 0.0))
    variables.append((n_points - 1, band[0], 0.0, cap))
    for i in range(n_labeled):
        if signs[i] < 0:
            variables.append((i, -margin, -cap, 0.0))
    point, gain, low, high = (
        np.array(column, dtype=float) for column in zip(*variables, strict=True)
    )
    point = point.astype(int)
    big = kernel[np.ix_(point, point)]
    alpha = maximise(big, gain, low, high)
    weights = np.zeros(n_points)
    for p, a in zip(point, alpha, strict=True):
        weights[p] += a
    return weights, gain @ alpha - alpha @ big @ alpha / 2
