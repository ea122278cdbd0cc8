"""CSV imports and exports."""
