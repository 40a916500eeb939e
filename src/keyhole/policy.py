"""The names that the author of a policy, an environment or a setting imports, in one place."""

from keyhole.contract.policy import Policy, parameter
from keyhole.contract.problem import Environment, Problem
from keyhole.contract.setting import Setting, fact
from keyhole.contract.state_arrays import (
    Field,
    FloatArray,
    IntArray,
    argmin_tree_array,
    float_array,
    float_input,
    int_array,
    int_input,
    scratch_array,
)
from keyhole.contract.wrapper_policy import WrapperPolicy
from keyhole.draws.argmin_tree import (
    argmin_tree_fill,
    argmin_tree_find,
    argmin_tree_update,
    first_unpulled,
)
from keyhole.draws.samplers import (
    bernoulli,
    beta,
    betas,
    binomial,
    exponential,
    gamma,
    geometric,
    normal,
    poisson,
)
from keyhole.draws.streams import Stream, seek_pull, uniform
from keyhole.former_names import add_former_names
from keyhole.kernels.fingerprint import Kernel
from keyhole.metric import PULLS, REGRET, REWARD, Metric
from keyhole.play.setting_learner import SettingLearner
from keyhole.play.study_vocabulary import RoundFeedback, StudyRound, StudyVocabulary

__all__ = [
    "PULLS", "REGRET", "REWARD", "Environment", "Field", "FloatArray", "IntArray", "Kernel",
    "Metric", "Policy", "Problem", "RoundFeedback", "Setting", "SettingLearner", "Stream",
    "StudyRound", "StudyVocabulary", "WrapperPolicy", "argmin_tree_array", "argmin_tree_fill",
    "argmin_tree_find", "argmin_tree_update", "bernoulli", "beta", "betas", "binomial",
    "exponential", "fact", "first_unpulled", "float_array", "float_input", "gamma", "geometric",
    "int_array", "int_input", "normal", "parameter", "poisson", "scratch_array", "seek_pull",
    "uniform",
]  # fmt: skip

add_former_names(__name__)
