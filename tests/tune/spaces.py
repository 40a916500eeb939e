"""Tunes of a parameter space for tests."""

SPACE = {
    "name": "space",
    "arm": [{"name": "sim", "command": "true {mean} {instance} {luby} -x {inc}"}],
    "instances": ["a", "b", "c", "d", "e", "f"],
    "limits": [0.01, 0.1, 1],
    "parameters": {
        "mean": {"range": [0.02, 2], "log": True, "default": 0.5},
        "luby": {"categories": ["on", "off"], "default": "on"},
        "inc": {"range": [1, 4], "default": 2, "when": {"luby": "off"}},
    },
}
SMALL = {"mean": {"categories": [0.05, 0.5], "default": 0.5}}
SMALL_COMMAND = [{"name": "sim", "command": "true {mean} {instance}"}]


def decisions(tune):
    """Return what was run, in the order of the log."""
    return [(run.round, run.configuration, run.instance, run.limit) for run in tune.runs]
