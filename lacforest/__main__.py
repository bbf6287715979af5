"""``python -m lacforest`` is the ``lacforest`` command."""

import sys

from lacforest.cli import main

sys.exit(main())
