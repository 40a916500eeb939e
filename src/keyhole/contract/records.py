"""How a group of named values (a decision, say) travels between kernels.

Single values are returned by the kernel that makes them: one as it is, several as a tuple. As
soon as one of them is an array, nothing is returned: the kernel names the values and fills the
arrays it is handed (a single value is then an array of length 1). The kernels that receive the
group name its values either way.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from keyhole.contract.state_memory import Field, Layout, compile_generated, compile_shared
from keyhole.kernels.fingerprint import Kernel


class RecordLayout:
    """The way of one group of values.

    `dims` names the integers that shapes may refer to. Values are filled in, by default, if one of
    them is an array.
    """

    def __init__(
        self, fields: Mapping[str, Field], dims: Sequence[str], *, filled: bool | None = None
    ) -> None:
        self.layout = Layout(fields, dims)
        has_array = any(field.shape for field in fields.values())
        self.is_complete = has_array if filled is None else filled

    def read_returned(self, value: str) -> dict[str, str]:
        """Return where a receiving kernel finds each name in an expression `value`."""
        names = list(self.layout.fields)
        if self.is_complete:
            return {name: f"{value}.{name}" for name in names}
        if len(names) == 1:
            return {names[0]: value}
        return {name: f"{value}[{i}]" for i, name in enumerate(names)}

    def slots(self) -> dict[str, str]:
        """Return where the kernel that makes the values finds what it has to fill."""
        return {name: f"slots.{name}" for name in self.layout.fields} if self.is_complete else {}

    def reader(self) -> Kernel:
        """Return the compiled function (buffer, start, dims) -> the values, as received."""
        if self.is_complete:
            return self.layout.reader("Values")
        parts = list(self.layout.parts().values())
        value = parts[0] if len(parts) == 1 else f"({', '.join(parts)},)" if parts else "0"
        places = self.layout.places()
        return compile_shared(
            f"def read(buffer, start, dims):\n{places}    return {value}\n", "read"
        )

    def writer(self) -> Kernel:
        """Return the compiled function (buffer, start, dims, value) that stores the values.

        Values that are filled in lie where they belong already.
        """
        where = self.read_returned("value")
        body = ""
        if not self.is_complete:
            parts = self.layout.parts()
            lines = [
                f"    {part} = {self._converted(name, where[name])}\n"
                for name, part in parts.items()
            ]
            body = self.layout.places() + "".join(lines)
        return compile_shared(
            f"def write(buffer, start, dims, value):\n{body}    return\n", "write"
        )

    def _converted(self, name: str, value: str) -> str:
        """Return the expression of a value as its field holds it: a number told is a float."""
        return f"int({value})" if self.layout.fields[name].dtype == "int64" else value

    @property
    def single(self) -> bool:
        """Whether all there is to say is one number."""
        return len(self.layout.fields) == 1 and not self.is_complete

    def number_writer(self) -> Kernel:
        """Return the compiled function (buffer, start, dims, number) that stores a single number.

        Where more or less than that is said, it does nothing.
        """
        if self.single:
            return self.writer()
        return compile_shared("def write(buffer, start, dims, number):\n    return\n", "write")

    def coder(self) -> Kernel:
        """Return the compiled function (values) -> the values as one number from 0.

        That is the value itself, where it is a single whole number and not negative; else 0.
        """
        whole = self.single and all(f.dtype == "int64" for f in self.layout.fields.values())
        code = "max(int(values), 0)" if whole else "0"
        return compile_shared(f"def code(values):\n    return {code}\n", "code")

    def producer(self, kernel: Kernel, call: str) -> Kernel:
        """Return the compiled function (`call`, buffer, start, dims) -> the values.

        It runs the bridge `kernel`, which takes `call`, a fixed argument list, and its slots; what
        it fills lies in `buffer` at `start`.
        """
        scope: dict[str, Any] = {"kernel": kernel}
        if self.is_complete:
            scope |= {"slots": self.layout.reader("Slots", slots=True), "read": self.reader()}
            body = (
                f"    kernel({call}, slots(buffer, start, dims))\n"
                "    return read(buffer, start, dims)\n"
            )
        else:
            body = f"    return kernel({call}, 0)\n"
        source = f"def produce({call}, buffer, start, dims):\n{body}"
        return compile_generated(source, "produce", scope)
