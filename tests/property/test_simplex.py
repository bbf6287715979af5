"""The nearest point of a convex hull: optimal, certified, and the same from any start."""

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from lacforest.mixture._simplex import nearest_in_hull

TOLERANCE = 1e-9
# Drawing a hull takes longer than solving it.
several = settings(max_examples=60)


@st.composite
def hulls(draw):
    """Corners on a grid, many of them equal, collinear or interior, and an arbitrary point."""
    n_dimensions = draw(st.integers(1, 4))
    coordinates = st.integers(-3, 3).map(float)
    places = st.lists(coordinates, min_size=n_dimensions, max_size=n_dimensions)
    corners = np.array(draw(st.lists(places, min_size=1, max_size=12)))
    corners *= draw(st.sampled_from([1.0, 1 / 3]))
    return corners, np.array(draw(places)) / 2


@st.composite
def starts(draw, corners):
    chosen = draw(st.sets(st.integers(0, len(corners) - 1), min_size=1))
    return np.array(sorted(chosen), dtype=np.intp)


def solve(corners, point, start=(0,), tolerance=TOLERANCE):
    return nearest_in_hull(corners, point, np.array(start, dtype=np.intp), tolerance)


@several
@given(hull=hulls())
def test_distance_is_that_of_a_general_solver(hull):
    pytest.importorskip("clarabel")
    from reference.kernel_mean import smallest_on_simplex

    corners, point = hull
    weights = smallest_on_simplex(corners @ corners.T, corners @ point)
    expected = np.linalg.norm(point - weights @ corners)
    assert solve(corners, point).distance == pytest.approx(expected, abs=1e-6)


@several
@given(hull=hulls(), data=st.data())
# Flat, and the point on the hull.
@example(hull=(np.array([[0.0], [1.0], [2.0]]), np.array([1.0])), data=None)
def test_conditions_of_optimality(hull, data):
    corners, point = hull
    start = [0] if data is None else data.draw(starts(corners), label="start")
    found = solve(corners, point, start)
    assert (found.weights > 0).all()
    assert found.weights.sum() == pytest.approx(1.0, abs=1e-12)
    assert len(set(found.support.tolist())) == len(found.support)
    residual = point - found.weights @ corners[found.support]
    assert found.distance == pytest.approx(np.linalg.norm(residual), abs=1e-12)
    # All corners lie behind the hyperplane through the nearest point, normal to the residual.
    heights = corners @ residual - (point - residual) @ residual
    assert heights.max() <= 2 * TOLERANCE * found.distance + 1e-12


@several
@given(hull=hulls(), data=st.data())
def test_the_start_does_not_matter(hull, data):
    corners, point = hull
    one = solve(corners, point, data.draw(starts(corners), label="one start"))
    other = solve(corners, point, data.draw(starts(corners), label="another start"))
    assert one.distance == pytest.approx(other.distance, abs=2 * TOLERANCE)


@several
@given(hull=hulls(), data=st.data())
def test_the_order_of_corners_does_not_matter(hull, data):
    corners, point = hull
    order = data.draw(st.permutations(range(len(corners))), label="order")
    shuffled = solve(corners[order], point)
    assert shuffled.distance == pytest.approx(solve(corners, point).distance, abs=2 * TOLERANCE)


@several
@given(hull=hulls(), data=st.data())
def test_points_of_the_hull_are_at_no_distance(hull, data):
    corners, _ = hull
    parts = data.draw(
        st.lists(st.integers(0, 5), min_size=len(corners), max_size=len(corners)), label="parts"
    )
    assume(sum(parts) > 0)
    inside = np.array(parts) / sum(parts) @ corners
    assert solve(corners, inside).distance <= 1e-7


@several
@given(hull=hulls())
def test_the_error_is_at_most_what_is_said(hull):
    corners, point = hull
    rough = solve(corners, point, tolerance=0.3)
    exact = solve(corners, point).distance
    assert 0 <= rough.excess <= rough.distance
    assert rough.excess <= 0.3
    assert exact - 2 * TOLERANCE <= rough.distance <= exact + rough.excess + 2 * TOLERANCE


@pytest.mark.parametrize(
    ("corners", "point", "distance", "support"),
    [
        ([[3.0, 4.0]], [0.0, 0.0], 5.0, [0]),
        ([[0.0, 1.0], [1.0, 0.0]], [0.0, 0.0], 0.5**0.5, [0, 1]),
        ([[0.0, 1.0], [1.0, 0.0]], [3.0, 0.0], 2.0, [1]),
        ([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]], [1.0, -3.0], 3.0, [0, 1]),
        ([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]], [1.0, 1.0], 0.0, [0, 1, 2]),
    ],
)
def test_by_hand(corners, point, distance, support):
    found = solve(np.array(corners), np.array(point))
    assert found.distance == pytest.approx(distance, abs=1e-9)
    assert sorted(found.support.tolist()) == support


@pytest.mark.parametrize("n_corners", [2, 10, 5000])
def test_many_corners_along_a_curve(n_corners):
    # An even number of points on a parabola: the chord between the two middle ones is nearest.
    step = 4 / (n_corners - 1)
    places = -2 + step * np.arange(n_corners)
    found = solve(np.column_stack([places, places**2]), np.array([0.0, -1.0]))
    assert found.distance == pytest.approx(1 + step**2 / 4, abs=1e-12)
    assert sorted(found.support.tolist()) == [n_corners // 2 - 1, n_corners // 2]
