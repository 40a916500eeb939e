from tools.tests_of import ROOT, find_tests


def test_tests_of_a_source_are_found_by_guard_name_and_use():
    def names(source):
        return [str(test.relative_to(ROOT / "tests")) for test in find_tests(ROOT / source)]

    assert names("src/keyhole/tune/tuner.py")[0] == "tune/test_tuner.py"
    guarded = names("src/keyhole/contract/state_arrays.py")
    assert set(guarded[:2]) == {"contract/test_state_arrays.py", "play/test_learner.py"}
    assert "tune/test_tuner.py" not in guarded[:10]
