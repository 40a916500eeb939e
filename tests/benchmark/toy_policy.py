from keyhole.delayed import Policy
from keyhole.policy import parameter


class Told(Policy):
    expected_delay: float = parameter(ge=0, doc="expected delay")

    def select(p, t: int) -> int:
        return 1

    def update(p, t: int) -> None:
        pass
