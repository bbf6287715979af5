"""What all classifiers of the package share: fitted labels, theta, prediction, tags."""
