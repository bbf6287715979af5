"""The plot of a single tree."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from display_helpers import TOY
from matplotlib.colors import to_hex
from numpy.testing import assert_allclose

from lacforest import LACForestClassifier
from lacforest.inspection import plot_tree


def texts(boxes):
    return [box.get_text() for box in boxes]


def test_one_box_a_node_with_what_it_holds(forest):
    view = forest.estimators_[3]
    boxes = plot_tree(forest, 3)
    assert len(boxes) == view.node_count
    for node, text in enumerate(texts(boxes)):
        lines = text.split("\n")
        best = view.value[node].argmax()
        assert lines[-1] == f"{forest.classes_[best]} {view.value[node, best]:.0%}"
        step, what = ("I", "unlabelled") if view.phase[node] == 1 else ("II", "pseudo-labelled")
        assert f"{step}: {view.n_labeled[node]:g} labelled" in lines
        assert f"{view.n_unlabeled[node]:g} {what}" in lines
        is_inner = view.children_left[node] >= 0
        assert is_inner == ("≤" in lines[0])
        if is_inner:
            assert view.missing_go_to_left[node] == ("or missing" in lines[0])


def test_frames_tell_the_steps_apart(forest):
    phases = forest.estimators_[0].phase
    assert set(phases) == {1, 2}
    boxes = plot_tree(forest)
    is_solid = [box.get_bbox_patch().get_linestyle() in ("-", "solid") for box in boxes]
    assert is_solid == (phases == 1).tolist()
    legend = boxes[0].axes.get_legend().get_texts()
    assert [text.get_text() for text in legend] == ["Step I, augmented Gini", "Step II, Gini"]


def test_the_new_class_has_its_colour(forest):
    view = forest.estimators_[0]
    boxes = plot_tree(forest)
    pure_new = np.flatnonzero(view.value[:, forest.new_class_index_] == 1)[0]
    pure_known = np.flatnonzero(view.value[:, forest.new_class_index_] == 0)[0]
    colors = [
        to_hex(boxes[node].get_bbox_patch().get_facecolor()) for node in (pure_new, pure_known)
    ]
    red, _, blue = (int(colors[0][i : i + 2], 16) for i in (1, 3, 5))
    assert red > blue
    assert colors[0] != colors[1]


def test_children_below_parents_and_no_boxes_over_each_other(forest):
    boxes = plot_tree(forest, 1)
    view = forest.estimators_[1]
    figure = boxes[0].figure
    figure.draw_without_rendering()
    for node in np.flatnonzero(view.children_left >= 0):
        left, right = boxes[view.children_left[node]].xy, boxes[view.children_right[node]].xy
        assert left[0] < boxes[node].xy[0] < right[0]
        assert_allclose([left[1], right[1]], boxes[node].xy[1] - 1)
    extents = [box.get_bbox_patch().get_window_extent() for box in boxes]
    for i, one in enumerate(extents):
        assert not any(one.overlaps(other) for other in extents[i + 1 :])


def test_max_depth_cuts_off(forest):
    view = forest.estimators_[0]
    boxes = plot_tree(forest, max_depth=1)
    assert len(boxes) == (view.depth <= 2).sum()
    cut_off = [box for box in boxes if box.xy[1] == -2]
    assert texts(cut_off) == ["(...)"] * len(cut_off)
    assert len(plot_tree(forest, max_depth=100)) == view.node_count


def test_names_and_size(forest):
    boxes = plot_tree(
        forest, feature_names=["east", "north"], class_names=["?", "p", "q"], fontsize=5
    )
    assert texts(boxes)[0].startswith(("east ≤", "north ≤"))
    assert all(text.split("\n")[-1][0] in "?pq" for text in texts(boxes))
    assert {box.get_fontsize() for box in boxes} == {5}


def test_names_of_a_frame():
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame(TOY.X_labeled, columns=["east", "north"])
    forest = LACForestClassifier(2, random_state=0).fit(X, TOY.y_labeled)
    assert texts(plot_tree(forest))[0].startswith(("east ≤", "north ≤"))


def test_plain_forest_has_step_two_alone(plain):
    boxes = plot_tree(plain)
    assert "unlabelled" not in "".join(texts(boxes))
    legend = boxes[0].axes.get_legend().get_texts()
    assert [text.get_text() for text in legend] == ["Step II, Gini"]


def test_a_tree_of_one_leaf():
    forest = LACForestClassifier(1).fit([[0.0], [0.0]], [1, 2])
    assert texts(plot_tree(forest)) == ["II: 2 labelled\n1 50%"]


def test_a_cut_between_present_and_missing():
    X = np.array([[1.0], [1.0], [np.nan], [np.nan]])
    boxes = plot_tree(LACForestClassifier(1, random_state=0).fit(X, [0, 0, 1, 1]))
    assert texts(boxes)[0].startswith("x[0] is present")


def test_axes_of_the_caller(forest):
    figure, ax = plt.subplots()
    assert plot_tree(forest, ax=ax)[0].axes is ax
    assert tuple(figure.get_size_inches()) == tuple(plt.rcParams["figure.figsize"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tree": 20}, "tree is 20, but the forest has 20: count from 0"),
        ({"tree": 1.5}, "tree must be an integer"),
        ({"max_depth": -1}, "max_depth must be"),
        ({"feature_names": ["a"]}, "feature_names has 1 names, but there are 2"),
        ({"class_names": ["a"]}, "class_names has 1 names, but there are 3"),
    ],
)
def test_bad_arguments(forest, options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        plot_tree(forest, **options)


def test_not_a_forest():
    with pytest.raises(TypeError, match="must be a fitted forest of lacforest, got int"):
        plot_tree(3)
