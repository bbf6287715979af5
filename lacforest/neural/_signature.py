"""Constructors that pass training parameters on: their full signature and documentation.

scikit-learn reads the parameters of an estimator from the signature of its constructor. Networks
share two dozen of them; each class lists its own ones and passes the rest on by keyword. Marks in
docstrings stand for passages that classes share.
"""

from __future__ import annotations

import inspect
from typing import Any

_TRAINING_TEXT = """\
    encoder : {"auto", "mlp", "cnn", "vgg16"}, torch.nn.Module or callable, default="auto"
        Network that makes the features. "auto" is "mlp" for tables, "vgg16" for 32 x 32 colour
        images and "cnn" for all others. A module is copied, and training starts from its weights; a
        callable takes the shape of a row and returns a module. Outputs are flattened.
    hidden : sequence of int, default=(128, 128)
        Layers of the "mlp" encoder.
    batch_norm : bool, default={batch_norm}
        Normalise the layers of the encoders "mlp" and "cnn" over the batch; "vgg16" always does.
    epochs : int, default={epochs}
        Passes through the larger of the two sets of rows.
    batch_size : int, default={batch_size}
        Labelled rows per batch, and unlabelled rows per batch.
    optimizer : {"sgd", "nesterov", "adam", "adamw"} or callable, default={optimizer}
        "nesterov" is stochastic gradient descent with Nesterov's momentum. A callable takes the
        parameters and the learning rate, and returns a `torch.optim.Optimizer`.
    learning_rate, final_learning_rate : float, default={learning_rate}, {final_learning_rate}
        First and last learning rate, by cosine annealing. Runs of a few epochs need a larger first
        one, such as 0.1 for "sgd".
    schedule : {"epoch", "step"}, default={schedule}
        Lower the learning rate after each epoch, or after each step. By epoch, the last epoch
        still has a rate above the final one.
    momentum : float, default=0.9
        Of "sgd" and "nesterov". The paper states none.
    weight_decay : float, default={weight_decay}
    max_grad_norm : float or None, default=None
        Norm to which gradients are clipped.
    precision : {"auto", "float32", "bfloat16", "float16"}, default={precision}
        Type of the encoder's products in training; "auto" is bfloat16 where the device has it. The
        loss is always float32.
    device : "auto", str or torch.device, default="auto"
        "auto" is a GPU if there is one.
    early_stopping : bool, default=False
        Stop when accuracy on validation rows has not risen for `patience` epochs, and restore the
        weights of the best epoch. Needs no label of the new class.
    patience : int, default=20
    validation_fraction : float, default=0.1
        Share of rows that are held out where validation rows are needed and `fit` gets none.
    callbacks : list of callable or None, default=None
        Called after each epoch with an `EpochEnd`; one that returns True stops training.
    checkpoint : path or None, default=None
        File with the state of training, replaced every `checkpoint_every` epochs.
    checkpoint_every : int, default=10
    resume : bool, default=False
        Continue from `checkpoint` if the file exists; the result is bit for bit that of a run
        without interruption.
    class_weight : dict, "balanced" or None, default=None
        Factors for the weights of labelled rows, by known class.
    unlabeled_label : object, default=None
        A label that marks unlabelled rows inside X.
    new_label : "auto" or label, default="auto"
        What to predict for new rows, as in `lacforest.LACForestClassifier`.
    random_state : int, RandomState instance or None, default=None
        Seed of all random numbers; torch's global generators are left as they are.
    verbose : int, default=0
        Show progress if positive: a bar on a terminal (with tqdm), one line per epoch elsewhere."""

_DEPLOYMENT_TEXT = """\
    theta : "auto", float in (0, 1) or estimator, default="auto"
        Share of unlabelled rows that are new, as in `DeepLACForestClassifier`.
    known_shares : "auto", "labeled", array-like or dict, default="auto"
        Shares of the known classes in deployment, as in `DeepLACForestClassifier`: the labelled
        part of the risk is weighted to them. "labeled" is the method as published."""

_RISK_ATTRIBUTES = """\
    module_ : torch.nn.Module
        The trained network: ``encoder`` and ``head``.
    history_ : dict of list
        ``learning_rate``, ``loss``, ``known_risk``, ``new_risk`` and, where there were validation
        rows, ``accuracy``; one entry per epoch.
    n_epochs_, best_epoch_, input_shape_ : as in `DeepLACForestClassifier`
    theta_, theta_interval_, theta_estimator_ : as in `lacforest.LACForestClassifier`
    known_shares_, known_shares_interval_, share_shift_ : as in `lacforest.LACForestClassifier`
    classes_, known_classes_, new_label_, new_class_index_ : as in `lacforest.LACForestClassifier`
    n_features_in_, feature_names_in_ : as in scikit-learn"""

# Passages of docstrings, by the line that they take the place of.
SHARED_TEXTS = {
    "    <training parameters>": _TRAINING_TEXT,
    "    <deployment parameters>": _DEPLOYMENT_TEXT,
    "    <attributes of a risk>": _RISK_ATTRIBUTES,
}


def complete_constructor(cls: Any, defaults: dict[str, Any]) -> None:
    """Give a constructor that takes ``**training`` the signature that it has in fact.

    Parameters
    ----------
    cls : class
        With an ``__init__`` of its own. Inherited parameters follow its own ones.
    defaults : dict
        Defaults that the class changes.
    """
    own = [
        parameter
        for parameter in inspect.signature(cls.__init__).parameters.values()
        if parameter.kind is not parameter.VAR_KEYWORD
    ]
    names = {parameter.name for parameter in own}
    for base in cls.__mro__[1:]:
        if base is object or "__init__" not in vars(base):
            continue
        for parameter in inspect.signature(base.__init__).parameters.values():
            if parameter.name not in names and parameter.kind is not parameter.VAR_KEYWORD:
                names.add(parameter.name)
                default = defaults.get(parameter.name, parameter.default)
                own.append(parameter.replace(default=default))
    # Parameters of one class may be positional where those of its base are by keyword only.
    own.sort(key=lambda parameter: parameter.kind)
    cls.__init__.__signature__ = inspect.Signature(own)
    for mark, text in SHARED_TEXTS.items():
        if cls.__doc__ and mark in cls.__doc__:
            for parameter in own:
                shown = repr(parameter.default).replace("'", '"')
                text = text.replace("{" + parameter.name + "}", shown)
            cls.__doc__ = cls.__doc__.replace(mark, text)
