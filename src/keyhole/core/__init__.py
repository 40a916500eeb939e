"""Floor 0: randomness, the policy contract, the engine, the learner, the curves."""
