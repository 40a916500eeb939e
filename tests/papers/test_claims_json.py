import json
import math
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest

from keyhole.papers.report.index_page import write_claims_json
from keyhole.papers.report.judged_entry import JudgedEntry
from keyhole.papers.verdicts import Number

SCHEMA = Path(__file__).parents[2] / "docs" / "claims.schema.json"


@pytest.fixture
def parts(reproduced):
    return reproduced.parts


def written(folder, parts):
    write_claims_json(folder / "claims.json", parts)
    return json.loads((folder / "claims.json").read_text(), parse_constant=pytest.fail)


def test_a_claim_is_written_with_its_verdict_and_numbers(tmp_path, parts):
    found = written(tmp_path, parts)
    assert (found["format"], found["version"], found["scale"]) == ("keyhole-claims", 1, "quick")
    claim = found["claims"][2]
    assert (claim["id"], claim["entry"], claim["paper"]) == ("tiny/3", "tiny", "ours")
    assert (claim["kind"], claim["metric"]) == ("trend", "aggregate_regret")
    assert (claim["source"], claim["origin"], claim["reading"]) == ("tests.", "ours", "")
    assert claim["statement"] == "An arm near the threshold makes the problem hard."
    assert claim["about"] == "Uniform on Easy, Hard"
    assert (claim["setup"], claim["same_as"]) == ("ours", [])
    assert claim["decided_by"] == "tiny/3"
    assert (claim["replications"], claim["seed"]) == (40, 1)
    assert claim["replications_needed"] == parts[0].verdicts[2].needed
    verdict = parts[0].verdicts[2]
    assert (claim["verdict"], claim["found"]) == (verdict.status, verdict.detail)
    step = claim["numbers"][-1]
    assert (step["name"], step["low"]) == ("Easy minus Hard", verdict.numbers[-1].low)


def test_claims_keep_their_ids_where_only_some_problems_are_run(tiny):
    assert [claim.id for claim in tiny.claims] == ["tiny/1", "tiny/2", "tiny/3"]
    assert [claim.id for claim in tiny.with_problems("hard").claims] == ["tiny/2"]


def test_a_repeated_claim_names_the_one_that_decides_it(tmp_path, parts):
    (part,) = parts
    first, second, _ = part.verdicts
    few = replace(first, same_as=(second.id,))
    many = replace(second, same_as=(first.id,), replications=few.replications + 1)
    found = written(tmp_path, [JudgedEntry(part.entry, part.scale, part.runs, (few, many))])
    assert [claim["decided_by"] for claim in found["claims"]] == ["tiny/2", "tiny/2"]


def test_infinite_numbers_are_null(tmp_path, parts):
    (part,) = parts
    number = Number("mean", math.nan, -math.inf, math.inf, 1.0)
    verdict = replace(part.verdicts[0], numbers=(number,))
    found = written(tmp_path, [JudgedEntry(part.entry, part.scale, part.runs, (verdict,))])
    assert found["claims"][0]["numbers"] == [
        {
            "name": "mean",
            "value": None,
            "low": None,
            "high": None,
            "p_value": 1.0,
            "at_least": None,
            "at_most": None,
        }
    ]


def test_the_schema_names_all_that_a_file_has(tmp_path, parts):
    defined = json.loads(SCHEMA.read_text())
    found = written(tmp_path, parts)
    for table, model in (
        (found, defined),
        (found["claims"][2], defined["$defs"]["ClaimRecord"]),
        (found["claims"][2]["numbers"][0], defined["$defs"]["NumberRecord"]),
    ):
        assert list(table) == list(model["properties"]) == model["required"]


def test_a_file_is_valid_by_the_schema_in_the_documentation(tmp_path, parts):
    known = json.loads(SCHEMA.read_text())
    jsonschema.Draft202012Validator.check_schema(known)
    found = written(tmp_path, parts)
    jsonschema.validate(found, known)
    del found["claims"][0]["verdict"]
    with pytest.raises(jsonschema.ValidationError, match="'verdict' is a required property"):
        jsonschema.validate(found, known)


def test_every_field_is_documented():
    page = SCHEMA.with_name("experiments.md").read_text()
    defined = json.loads(SCHEMA.read_text())
    for model in (defined, *defined["$defs"].values()):
        for name in model["properties"]:
            assert f"`{name}`" in page


def test_parts_of_two_scales_are_refused(tmp_path, parts):
    (part,) = parts
    other = JudgedEntry(part.entry, "paper", part.runs, part.verdicts)
    with pytest.raises(ValueError, match="outcomes must be of one scale, got"):
        write_claims_json(tmp_path / "claims.json", [part, other])
