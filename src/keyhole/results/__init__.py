"""Results of simulations: curves, estimates with intervals, figures."""
