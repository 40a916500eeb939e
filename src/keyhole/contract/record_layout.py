"""Layout of a record: named values that kernels (compiled functions) exchange, such as a decision.

Single values are returned by the kernel that makes them: one as it is, several as a tuple. As
soon as one of them is an array, nothing is returned: the kernel names the values and fills the
arrays that it receives (a single value is then an array of length 1). Kernels that receive the
group name its values in both cases.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from keyhole.contract.state_arrays import Field, Layout, compile_generated, compile_shared
from keyhole.kernels.fingerprint import Kernel


class RecordLayout:
    """The layout of one record, and the compiled functions that read and write it.

    `dims` names the integers that shapes may refer to. Values are filled in, by default, if one of
    them is an array.
    """

    def __init__(
        self, fields: Mapping[str, Field], dims: Sequence[str], *, filled: bool | None = None
    ) -> None:
        self.layout = Layout(fields, dims)
        has_array = any(field.shape for field in fields.values())
        self.is_filled = has_array if filled is None else filled

    def expressions(self, value: str) -> dict[str, str]:
        """Return for each name the expression that a receiving kernel reads, given the group's."""
        names = list(self.layout.fields)
        # A filled group is a named tuple of arrays; single values are the value, or a plain tuple.
        if self.is_filled:
            return {name: f"{value}.{name}" for name in names}
        if len(names) == 1:
            return {names[0]: value}
        return {name: f"{value}[{i}]" for i, name in enumerate(names)}

    def targets(self) -> dict[str, str]:
        """Return the expressions of the arrays to fill, by name; empty if values are returned."""
        return {name: f"targets.{name}" for name in self.layout.fields} if self.is_filled else {}

    def reader(self) -> Kernel:
        """Return the compiled function (buffer, start, dims) -> the values, as received."""
        if self.is_filled:
            return self.layout.reader("Values")
        parts = list(self.layout.parts().values())
        value = parts[0] if len(parts) == 1 else f"({', '.join(parts)},)" if parts else "0"
        places = self.layout.places()
        return compile_shared(
            f"def read(buffer, start, dims):\n{places}    return {value}\n", "read"
        )

    def writer(self) -> Kernel:
        """Return the compiled function (buffer, start, dims, value) that stores the values.

        Values that are filled in are in their place already.
        """
        sources = self.expressions("value")
        body = ""
        if not self.is_filled:
            parts = self.layout.parts()
            lines = [
                f"    {part} = {self._convert(name, sources[name])}\n"
                for name, part in parts.items()
            ]
            body = self.layout.places() + "".join(lines)
        return compile_shared(
            f"def write(buffer, start, dims, value):\n{body}    return\n", "write"
        )

    def _convert(self, name: str, value: str) -> str:
        """Return the expression of a value in its field's type; a number in a call is a float."""
        return f"int({value})" if self.layout.fields[name].dtype == "int64" else value

    @property
    def single(self) -> bool:
        """Whether the group is a single number."""
        return len(self.layout.fields) == 1 and not self.is_filled

    def number_writer(self) -> Kernel:
        """Return the compiled function (buffer, start, dims, number) that stores a single number.

        It does nothing for any other group.
        """
        if self.single:
            return self.writer()
        return compile_shared("def write(buffer, start, dims, number):\n    return\n", "write")

    def number_encoder(self) -> Kernel:
        """Return the compiled function (values) -> their code, a number from 0.

        It is the value itself for a group of one integer from 0, else 0.
        """
        whole = self.single and all(f.dtype == "int64" for f in self.layout.fields.values())
        # From 0 on, since a learner's step returns negative numbers for decisions that it refuses
        # (`keyhole.drivers.learner_step`).
        code = "max(int(values), 0)" if whole else "0"
        return compile_shared(f"def code(values):\n    return {code}\n", "code")

    def producer(self, kernel: Kernel, call: str) -> Kernel:
        """Return the compiled function (`call`, buffer, start, dims) -> the values.

        It runs `kernel`, bound to the argument list `call` and its targets; values that are filled
        in lie in `buffer` at `start`.
        """
        # Kernels cannot return arrays, since compiled code allocates no memory: they fill cells of
        # the buffer, which are then read as any receiver reads them.
        scope: dict[str, Any] = {"kernel": kernel}
        if self.is_filled:
            scope |= {"targets": self.layout.reader("Targets", targets=True), "read": self.reader()}
            body = (
                f"    kernel({call}, targets(buffer, start, dims))\n"
                "    return read(buffer, start, dims)\n"
            )
        else:
            body = f"    return kernel({call}, 0)\n"
        source = f"def produce({call}, buffer, start, dims):\n{body}"
        return compile_generated(source, "produce", scope)
