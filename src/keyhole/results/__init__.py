"""Results of simulations: curves of what policies earn or lose, estimates, figures."""
