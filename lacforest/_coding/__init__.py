"""Values to codes before trees grow, codes back to thresholds afterwards."""
