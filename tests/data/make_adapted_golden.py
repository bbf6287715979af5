"""Write forest-v5: the forest of version 4, adapted to its own queries."""

import json
from pathlib import Path

import numpy as np

from lacforest import LACExtraTreesClassifier

HERE = Path(__file__).parent

if __name__ == "__main__":
    facts = json.loads((HERE / "forest-v4.json").read_text())
    queries = np.array(facts["queries"], dtype=float)
    forest = LACExtraTreesClassifier.load(HERE / "forest-v4.lac").adapt(queries)
    forest.save(HERE / "forest-v5.lac")
    facts["predict_proba"] = forest.predict_proba(queries).tolist()
    facts["predict"] = forest.predict(queries).tolist()
    facts["theta"], facts["theta_interval"] = forest.theta_, list(forest.theta_interval_)
    if "known_shares" in facts:
        facts["known_shares"] = forest.known_shares_.tolist()
    if "known_shares_interval" in facts:
        facts["known_shares_interval"] = forest.known_shares_interval_.tolist()
    (HERE / "forest-v5.json").write_text(json.dumps(facts))
