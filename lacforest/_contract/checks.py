"""Checks that every fit runs on what it has found already: scores, shares and codes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacforest._contract.deployment import Deployment, theta_rows, undetermined_message
from lacforest._tree.coded_columns import CodedColumns
from lacforest._utils.findings import Finding
from lacforest._utils.user_warnings import warn_user
from lacforest.mixture import ThetaWarning
from lacforest.mixture.checks import estimate_findings, rank_estimate, shared_rows
from lacforest.mixture.column_shift import (
    column_aucs,
    control_finding,
    drift_finding,
    information,
)


def check_fit(
    deployment: Deployment, columns: CodedColumns, marked: NDArray[np.bool_], estimator: Any
) -> Deployment:
    """Add the findings and the shift of columns; warn once if there is a problem.

    Parameters
    ----------
    deployment : Deployment
    columns : CodedColumns
        The columns of its rows.
    marked : bool array of shape (n_unlabeled,)
        Pseudo-labels: the other unlabelled rows are taken for known.
    estimator : classifier
        Whose fit it is; its feature names are used in messages.
    """
    rows, theta = deployment.rows, deployment.theta
    chosen = theta_rows(rows)
    if chosen is not None:
        few = rows.take(chosen, rows.table.take(chosen))
        taken = [column[chosen] for column in columns.columns]
        codes = CodedColumns(taken, columns.n_codes, columns.has_missing, columns.is_categorical)
        marked = marked[chosen[few.n_labeled :] - rows.n_labeled]
        return replace(
            check_fit(replace(deployment, rows=few), codes, marked, estimator), rows=rows
        )
    names, is_categorical = feature_names(estimator), columns.is_categorical.astype(bool).tolist()
    findings: list[Finding] = []
    interval = None
    if theta.estimator is not None:
        interval = (theta.value if theta.interval is None else theta.interval[0], theta.upper)
        by_rank = rank_estimate(theta.estimator)
        if by_rank is not None:
            # What the findings say of theta is in terms of the interval that the user sees.
            shown = interval if theta.interval is None else theta.interval
            findings += estimate_findings(by_rank, shown, shared_rows(columns, rows.n_labeled))
    findings += deployment.findings
    n_labeled, first = rows.n_labeled, 0
    if rows.n_control:
        # Control rows show what known rows of deployment look like.
        first = n_labeled - rows.n_control
        reference, control = np.arange(first), np.arange(first, n_labeled)
        weight = None if rows.sampling_weight is None else rows.sampling_weight[:first]
        aucs = column_aucs(columns, reference, weight, [control])[:, 0]
        findings.append(control_finding(aucs, first, rows.n_control, names, is_categorical))
    weight = None if rows.sampling_weight is None else rows.sampling_weight[first:]
    unlabeled = np.arange(n_labeled, n_labeled + rows.n_unlabeled)
    shift = column_aucs(
        columns, np.arange(first, n_labeled), weight, [unlabeled, unlabeled[~marked]]
    )
    sizes = (information(weight, n_labeled - first), rows.n_unlabeled, int((~marked).sum()))
    findings.append(drift_finding(shift, theta.value, interval, sizes, names, is_categorical))
    checked = replace(deployment, findings=tuple(findings), column_shift=shift)
    _warn_once(checked)
    return checked


def feature_names(estimator: Any) -> Sequence[str]:
    """Names of the columns of X, or x0, x1 and so on."""
    names = getattr(estimator, "feature_names_in_", None)
    if names is None:
        return [f"x{i}" for i in range(estimator.n_features_in_)]
    return [str(name) for name in names]


def _warn_once(deployment: Deployment) -> None:
    """One warning for an estimate that the data do not determine and for all problems."""
    undetermined = undetermined_message(deployment.theta, deployment.rows.n_unlabeled)
    messages = [] if undetermined is None else [undetermined]
    # The test of fit alone is no reason to warn: it also rejects where labelled rows are repeated
    # among unlabelled ones, which does no harm.
    messages += [
        found.text
        for found in deployment.findings
        if found.level == "problem" and found.topic != "fit"
    ]
    if messages:
        warn_user(" ".join(messages), ThetaWarning)
