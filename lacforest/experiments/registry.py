"""The experiments by name, in the order of the command's help."""

from __future__ import annotations

from lacforest.experiments._confirmed import CONFIRMED
from lacforest.experiments._deep_command import DEEP, DEEP_SAMPLES, DEEP_SWEEPS, DEEP_TABLE
from lacforest.experiments._experiment import Experiment
from lacforest.experiments._learning_command import ABLATION, SWEEPS, TABLE1
from lacforest.experiments._life_command import ADAPT, DECISIONS, GROUPS, PROMOTE, STREAM
from lacforest.experiments._shift_command import SHIFT
from lacforest.experiments._suite_command import SUITE
from lacforest.experiments._theta_command import THETA

EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment
    for experiment in (
        THETA,
        TABLE1,
        ABLATION,
        *SWEEPS,
        SHIFT,
        CONFIRMED,
        SUITE,
        GROUPS,
        ADAPT,
        DECISIONS,
        PROMOTE,
        STREAM,
        DEEP,
        *DEEP_SWEEPS,
        DEEP_TABLE,
        DEEP_SAMPLES,
    )
}
