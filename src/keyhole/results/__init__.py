"""What was measured: curves, estimates with intervals, figures."""
