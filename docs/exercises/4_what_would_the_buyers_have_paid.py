"""
4. What would the buyers have paid?
===================================

*Threshold setting: censored feedback.* A thing is sold in two markets, and each customer is offered a price
from 1 to 10. Who does not buy says how much it is worth to them; who buys says nothing, so that only *at
least the price* is known. In market A it is worth 10 to half of the customers; in market B it is worth 8
or more to far fewer. Where should it be sold for 8? Clearly in A.

But in A the prices have been low so far, and in B high. What do the records say, and what happens if
each customer is served where the records say?
"""

import numpy as np

rng = np.random.default_rng(1)
WORTH = {"A": [2, 3, 4, 10, 10, 10], "B": [3, 4, 5, 6, 7, 8, 9]}  # each equally likely


def sell(market, price):
    """Offer a customer a price; return what it is known to be worth to them, and whether it was a sale."""
    worth = rng.choice(WORTH[market])
    return (price, True) if worth >= price else (worth, False)


records = {
    "A": [sell("A", rng.integers(1, 6)) for _ in range(300)],  # prices from 1 to 5
    "B": [sell("B", rng.integers(4, 11)) for _ in range(300)],  # prices from 4 to 10
}
print("of market A:", [(int(known), sale) for known, sale in records["A"][:5]])

# %%
# Hint
# ----
#
# Compare three estimates of the share of customers to whom it is worth at least 8. Drop the sales, and take
# the share among those who said what it is worth. Take every sale as a customer to whom it is worth just
# the price. And the estimate of Kaplan and Meier: for each amount below 8, take the customers *who are
# known to pay at least that* and of whom it is known whether they pay more; multiply the shares of those
# who do.

# %%
# Solution
# --------
#
# All three are a line or two. The first two look harmless.


def dropped(records, price):
    """Use only those who did not buy."""
    worth = [known for known, sale in records if not sale]
    return np.mean(np.array(worth) >= price)


def taken_at_price(records, price):
    """Take each sale for a customer who would not have paid more."""
    return np.mean([known >= price for known, _ in records])


def kaplan_meier(records, price):
    """Multiply, over all lower amounts, the shares of those who go beyond it."""
    known, sale = map(np.array, zip(*records))
    share = 1.0
    for amount in range(1, price):
        ends = (known == amount) & ~sale
        goes_beyond = known > amount  # a sale at this very amount says neither
        if ends.any() or goes_beyond.any():
            share *= goes_beyond.sum() / (ends.sum() + goes_beyond.sum())
    return share


estimates = {
    "sales dropped": dropped,
    "taken at the price": taken_at_price,
    "Kaplan-Meier": kaplan_meier,
}
true = {market: np.mean(np.array(worth) >= 8) for market, worth in WORTH.items()}
print(f"{'worth at least 8':22} {'A':>5} {'B':>5}")
print(f"{'in truth':22} {true['A']:5.2f} {true['B']:5.2f}")
for name, estimate in estimates.items():
    print(f"{name:22} {estimate(records['A'], 8):5.2f} {estimate(records['B'], 8):5.2f}")

# %%
# The first two put the wrong market first. Dropping sales leaves those to whom it is worth little. Taking a sale
# at its price counts everybody who was offered a low price as one who would pay no more. Kaplan and Meier
# use each record for exactly what it says: a sale at 4 counts as *goes beyond 3*, and then drops out. In A
# the highest price was 5, so that nobody has named a worth of 5 or more, and they put the share for 8 at
# that for 5. (It is a guess, but an optimistic one, which the first customers would put right.)
#
# Now let the records decide: each new customer is served for 8 where the estimate is higher, and the outcome
# is added to the records. This is the greedy choice. Does it notice its error?


def sold(estimate, customers=300):
    """Return the share of sales among customers with a price of 8, chosen greedily."""
    history = {market: list(known) for market, known in records.items()}
    sales = 0
    for _ in range(customers):
        market = max(history, key=lambda market: estimate(history[market], 8))
        outcome = sell(market, 8)
        history[market].append(outcome)
        sales += outcome[1]
    return sales / customers


shares = {name: sold(estimate) for name, estimate in estimates.items()}
for name, share in shares.items():
    print(f"{name:20} {share:.2f} of the customers buy for 8")

# %%
# It never does: nobody is served in A, so that nothing new is learnt of A. And if customers were sent there, the
# first estimate would throw away just those who buy. Exploration alone does not help against a biased
# estimate; the policies of the :doc:`threshold setting </threshold>`, such as ``KaplanMeierUCB`` and
# ``SurvivalThompson``, have both.

# %%
# To go on
# --------
#
# Kaplan and Meier need that the price does not depend on what it is worth to this customer. When would it, and
# in which direction is the estimate wrong then? Send every tenth customer to a market chosen at random:
# which of the three estimates finds the better market now?
