"""The benchmark: what our own work costs, as ratios against a floor measured in the same run."""
