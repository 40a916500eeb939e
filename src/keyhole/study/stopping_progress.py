"""The progress of a study: which options (arms) are settled, and whether its policy has enough."""

from collections.abc import Mapping
from typing import Any

from keyhole.contract.stopping import is_done, settled_arms
from keyhole.contract.text_formatting import count_text
from keyhole.study.cached_state import ReadOnlyReplica
from keyhole.study.state import State
from keyhole.validate import short_repr


class StoppingProgress:
    """Base class of studies: the arms that are settled; see `keyhole.policy.Policy.verdicts`."""

    _replica: ReadOnlyReplica

    @property
    def is_done(self) -> bool:
        """Whether the policy has enough: every arm is settled. `ask` is then refused.

        A policy says so if it can stop, as `keyhole.thresholding.PerArmStopping` does.
        """
        return self._replica.read(has_enough)

    @property
    def settled(self) -> dict[str, str]:
        """The final verdict on each settled arm in use, such as "above", by name."""
        return self._replica.read(settled_names)

    @property
    def remaining(self) -> list[str]:
        """The arms in use that are not settled: all of them if the policy cannot stop."""
        return self._replica.read(_open_names)


def has_enough(state: State) -> bool:
    """Return whether the policy has enough."""
    return is_done(state.definition.policy, _verdict_arrays(state))


def settled_names(state: State) -> dict[str, str]:
    """Return the verdict on each settled arm in use, by name."""
    names = state.arms.names_in_use
    found = settled_arms(state.definition.policy, _verdict_arrays(state))
    return {names[position]: verdict for position, verdict in found.items()}


def _open_names(state: State) -> list[str]:
    settled = settled_names(state)
    return [name for name in state.arms.names_in_use if name not in settled]


def has_settled_arms(state: State, id: str) -> bool:
    """Return whether a pending decision is about settled arms alone."""
    verdicts = _verdict_arrays(state)
    places = state.decisions.positions(state.pending[id]) if verdicts else []
    return bool(places) and all(verdicts["settled"][place] for place in places)


def _verdict_arrays(state: State) -> Mapping[str, Any]:
    """Return the arrays of a policy that can stop; of another, which has no verdicts, none."""
    if not state.definition.policy.verdicts:
        return {}
    # An error leaves a batch that is learnt in part: nobody may use the state then.
    before, state.is_dirty = state.is_dirty, True
    state.catch_up()
    state.is_dirty = before
    return state.policy_state.state


def learnt_facts(state: State) -> dict[str, str]:
    """Return the recommendation as text, and for a policy that can stop what is settled."""
    policy = state.definition.policy
    kind, facts = policy.vocabulary_class, {}
    if kind is not None and kind.has_recommendation():
        facts["recommended"] = short_repr(state.recommend())
    if policy.verdicts:
        arms = len(state.arms.names_in_use)
        facts["settled"] = progress_text(policy, settled_names(state), arms)
    return facts


def progress_text(policy: Any, settled: Mapping[str, str], arms: int) -> str:
    """Return how many arms are settled, and the guarantee of the policy's verdicts."""
    done = "; done" if len(settled) == arms else ""
    some = f"{len(settled)} of {count_text(arms, 'arm')}"
    return f"{some}{done} ({policy.guarantee().text})"
