from typing import Any

import numpy as np

NODE: np.dtype[Any]
CODED_NODE: np.dtype[Any]

class StopSignal:
    def request(self) -> None: ...
