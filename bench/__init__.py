"""The benchmark: the cost of our own code, as ratios to a minimal server (the floor) measured in the same run."""
