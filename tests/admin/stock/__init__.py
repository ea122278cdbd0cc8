"""Stock work: deliveries, transfers, counts and thresholds."""
