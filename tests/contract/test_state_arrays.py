import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyhole.contract.kernel_signatures import RecordLayout
from keyhole.contract.state_arrays import Field, Layout, allocate
from keyhole.draws.argmin_tree import argmin_tree_find, argmin_tree_size
from keyhole.kernels.fingerprint import python_function
from keyhole.kernels.kernel_decorators import kernel

pytestmark = pytest.mark.interpreted

FIELDS = {
    "one": Field("float64"),
    "whole": Field("int64"),
    "row": Field("float64", ("k",)),
    "table": Field("int64", ("k", "m")),
    "store": Field("float64", ("k",), tree=True),
    "three": Field("float64", (3,)),
}


@given(k=st.integers(1, 40), m=st.integers(1, 5))
def test_arrays_lie_one_after_the_other(k, m):
    layout = Layout(FIELDS, ("k", "m"))
    sizes = {"k": k, "m": m}
    buffer = np.zeros(layout.size(sizes))
    views = layout.views(buffer, sizes)
    assert views["table"].shape == (k, m)
    assert len(views["store"]) == k
    above = python_function(argmin_tree_size)(k) - k  # of the store, Python sees the keys alone
    assert sum(view.size for view in views.values()) == len(buffer) - above
    for i, view in enumerate(views.values()):
        view[...] = i + 1
    for i, view in enumerate(views.values()):
        assert (view == i + 1).all()


def test_compiled_code_sees_what_python_wrote():
    layout = Layout(FIELDS, ("k", "m"))
    sizes = {"k": 2, "m": 3}
    buffer, plan, (views,) = allocate([layout], ("k", "m"), sizes)
    views["one"][...] = 0.5
    views["whole"][...] = 7
    views["table"][...] = np.arange(6).reshape(2, 3)
    read = layout.reader("It")

    @kernel
    def look(buffer, dims):
        it = read(buffer, 0, dims)
        it.row[1] = it.one + it.whole
        return it.table[1, 2], it.table.shape[1], len(it.three)

    assert look(buffer, (2, 3)) == (5, 3, 3)
    assert views["row"].tolist() == [0.0, 7.5]
    assert plan.tolist() == [0, 2, 3, 0]


@pytest.mark.parametrize("k", [3, 16, 17, 300])
def test_a_key_store_is_rebuilt_from_its_keys(k):
    layout, sizes = Layout(FIELDS, ("k", "m")), {"k": k, "m": 1}
    buffer = np.full(layout.size(sizes), np.nan)
    keys = layout.views(buffer, sizes)["store"]
    keys[:] = np.arange(k, 0.0, -1.0)
    layout.rebuild_trees(buffer, sizes)
    size = argmin_tree_size(k)
    store = buffer[len(buffer) - 3 - size : len(buffer) - 3]
    assert argmin_tree_find(store, k) == k - 1
    assert np.isnan(buffer[: 2 + 2 * k]).all()
    assert np.isnan(buffer[-3:]).all()


def test_an_unknown_length_is_named():
    with pytest.raises(ValueError, match="row: the shape must use one of arms, got 'k'"):
        Layout({"row": Field("float64", ("k",))}, ("arms",))


@pytest.mark.parametrize(
    ("fields", "value", "filled"),
    [
        ({"a": Field("int64")}, 3, False),
        ({"a": Field("int64"), "b": Field("float64")}, (3, 0.5), False),
        ({"a": Field("float64", ("k",))}, None, True),
    ],
)
def test_single_values_are_returned_and_arrays_filled(fields, value, filled):
    layout = RecordLayout(fields, ("k",))
    assert layout.is_filled == filled
    buffer = np.zeros(4)
    read = layout.reader()
    if filled:

        @kernel
        def total(buffer):
            return read(buffer, 0, (2,)).a.sum()

        buffer[:3] = 1.5
        assert total(buffer) == 3.0
        assert layout.target_expressions() == {"a": "targets.a"}
    else:
        layout.writer()(buffer, 0, (2,), value)
        assert read(buffer, 0, (2,)) == value
        assert layout.target_expressions() == {}
