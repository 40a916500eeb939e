"""Results of simulations: curves of what policies earn or lose, with intervals, and figures."""
