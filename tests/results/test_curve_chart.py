import numpy as np
import pytest

from keyhole import Curves, Metric
from keyhole.results.curve_chart import curve_chart

# Of LSA, the interval reaches 0; of RoundRobin, its lower end is below half of the least mean.
VALUES = {
    "LSA": np.array([[[0.0, 0.0, 0.0, 8.0]]]),
    "RoundRobin": np.array([[[1.9, 2.0, 9.0, 15.0, 9.0]]])[:, :, :4],
}


@pytest.mark.parametrize("y", [None, "log"])
def test_a_chart_has_the_interval_of_the_tables_where_the_axis_cuts_it(y):
    curves = Curves([10], [Metric("loss", drawn="ln(mean / arms)")], VALUES, arms=2)
    chart = curve_chart(curves, "loss", anchor="c", y=y)
    for curve in chart.curves:
        low = curves.estimates(curve.label, "loss")[-1].low
        expected = -np.inf if low <= 0 else low if y == "log" else np.log(low / 2)
        assert curve.low == pytest.approx([expected])
    assert np.isneginf(chart.curves[0].low[0])
    text = chart.drawing.json_for_script
    assert '"low":[null]' in text
