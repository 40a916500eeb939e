"""
When have we seen enough?
=========================

A travel agent wants to recommend services that can be relied on: those that arrive at most a quarter of
an hour late in at least seven of ten flights. Every flight that is looked up takes time. How many must be
looked up, and who says that it is enough?

All flights from New York in 2013 are recorded, here to eight destinations. So this page can look them
up one by one.
"""

from keyhole.data import load_flights

late = {}
for destination in ("ATL", "BOS", "CLT", "DCA", "LAX", "MCO", "ORD", "SFO"):
    times = load_flights(destination)
    for carrier, minutes in zip(times.arms, times.minutes):
        late[f"{destination} {carrier}"] = minutes

services = list(late)
shares = [float((late[service] <= 15).mean()) for service in services]
print(len(services), "services, such as", services[0])

# %%
# Settle one service after the other
# ----------------------------------
#
# A service is an *arm*, a flight in time is a *reward* of 1, and the threshold is 0.7.
# ``PerArmStopping`` settles a service as "above" as soon as it is proved that its share exceeds 0.65, the
# threshold less the ``tolerance`` of 0.05, as "below" as soon as it is below 0.75, and asks for it no
# more. With ``delta=0.05`` a service whose share is 0.05 or more from the threshold is settled on the
# wrong side with a chance of at most 5 %, however often one looks.

import random

from keyhole.thresholding import LSA, PerArmStopping

random.seed(1)
policy = PerArmStopping(base=LSA(), delta=0.05, tolerance=0.05)
learner = policy.learner(arms=len(services), threshold=0.7)
settled_after = {}
while not learner.is_done:
    service = learner.ask()
    learner.tell(random.choice(late[services[service]]) <= 15)
    if service in learner.settled:
        settled_after[service] = int(learner.state["pulls"][service])

verdicts = learner.settled
print(f"{learner.rounds:,} flights were looked up, and every service is settled")

# %%
# How many flights it took depends on how far a service is from the threshold.

import matplotlib.pyplot as plt

figure, axes = plt.subplots(layout="constrained")
for verdict, marker in (("above", "^"), ("below", "v")):
    chosen = [service for service in verdicts if verdicts[service] == verdict]
    axes.plot(
        [shares[service] for service in chosen],
        [settled_after[service] for service in chosen],
        marker,
        label=f"settled as {verdict}",
    )
axes.axvspan(0.65, 0.75, color="lightgray", label="within the tolerance")
axes.axvline(0.7, color="black", linewidth=1)
axes.set(
    yscale="log", xlabel="share of all recorded flights in time", ylabel="flights until settled"
)
axes.legend()
# Figure: Flights until a service was settled, on a logarithmic axis, by its share in time: those
# that need many are near 0.7.

# %%
# Within the tolerance either verdict is allowed: such a service is nearly on the threshold. Outside it
# the recorded flights show whether the verdicts are right.

wrong = [
    services[service]
    for service, verdict in verdicts.items()
    if abs(shares[service] - 0.7) >= 0.05
    and verdict != ("above" if shares[service] > 0.7 else "below")
]
print(len(wrong), "of", len(services), "are on the wrong side by the tolerance or more")

# %%
# One such inquiry may have bad luck. What is guaranteed is the average of many, which a simulation
# shows: the share of services settled wrongly by the tolerance or more, and the flights looked up.

from keyhole import simulate, thresholding

curves = simulate(
    thresholding.Problem(means=shares, threshold=0.7),
    {"stopping": policy},
    horizon=100_000,
    replications=200,
)
share_wrong = curves.mean("stopping", "wrong_settled")[-1]
looked_up = curves.mean("stopping", "rounds_used")[-1]
print(f"on average {share_wrong:.1%} are wrong, after {looked_up:,.0f} flights")

# %%
# Stop a study
# ------------
#
# Several people look up flights at the same time, each on a machine of their own. Then the learner is in
# a database, as a study (:doc:`/studies`), which knows the same words: ``is_done``, ``settled`` and
# ``remaining``. When it is done, ``ask`` is refused, to all of them.

import tempfile

from keyhole.study import Study, StudyDoneError

folder = tempfile.TemporaryDirectory()
to_boston = [service for service in services if service.startswith("BOS")]
study = Study.create(
    f"{folder.name}/services.db",
    "in time",
    policy,
    to_boston,
    threshold=0.7,
    durability="process_crash",
)
asked = 0
while not study.is_done:
    decision = study.ask()
    study.tell(decision.id, bool(random.choice(late[decision.arm]) <= 15))
    asked += 1
    if asked == 400:
        print("after 400 flights settled:", study.settled)
        print("and still open:", study.remaining)

print("in the end:", study.settled)
try:
    study.ask()
except StudyDoneError as error:
    print(str(error).partition(" is ")[2])

study.close()
folder.cleanup()

# %%
# Stop at the best one
# --------------------
#
# To name the *best* carrier to San Francisco is another question, and has a policy of its own.
# ``BestArmStopping`` gives up carriers that are proved not to be the best; ``delta`` is the chance that
# the one it names is not, at most. How many flights does it take? Simulate, on the recorded shares.

from keyhole.stochastic import BestArmStopping, Problem

to_sfo = [service for service in services if service.startswith("SFO")]
problem = Problem(means=[shares[services.index(service)] for service in to_sfo])
curves = simulate(
    problem,
    {f"delta = {delta}": BestArmStopping(delta=delta) for delta in (0.2, 0.05, 0.01)},
    horizon=20_000,
    replications=200,
)
for name in curves.labels:
    print(f"{name}: {curves.mean(name, 'rounds_used')[-1]:,.0f} flights on average")

figure, axes = plt.subplots(layout="constrained")
axes.boxplot(
    [curves.values(name, "rounds_used")[-1] for name in curves.labels],
    tick_labels=curves.labels,
    whis=(5, 95),
    showfliers=False,
)
axes.set(ylabel="flights until the best is proved (5 % to 95 % of runs)", ylim=(0, None))
# Figure: Flights until the best carrier is proved: boxes have the middle half of the runs, and
# rise only a little for a smaller delta.

# %%
# To be surer costs less than one may fear: a twentieth of the risk needs far less than twice the
# flights. What costs is a close second: the number grows with the square of one over the difference.

from collections import Counter

learner = BestArmStopping(delta=0.05).learner(arms=len(to_sfo), seed=1)
looked_up = Counter()
while not learner.is_done:
    service = to_sfo[learner.ask()]
    looked_up[service] += 1
    learner.tell(random.choice(late[service]) <= 15)

for arm, verdict in sorted(learner.settled.items()):
    print(f"{to_sfo[arm]}: {verdict}, after {looked_up[to_sfo[arm]]} flights")

# %%
# **The decision**: recommend the services settled as *above*, the carrier settled as *best* to San
# Francisco, and look up no more flights. ``FamilywiseStopping`` is for where a single wrong verdict is
# one too many; what is proved, and where it ends, is in :doc:`/stopping`. Why one may not simply look
# at a usual interval every day: :doc:`/confidence_sequences`.
