"""``python -m lacforest.experiments`` runs an experiment."""

import sys

from lacforest.experiments.command import main

sys.exit(main())
