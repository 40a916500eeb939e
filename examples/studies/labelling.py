"""Five people label birds, each at their own pace; a study says which picture is next.

The labels are real: of each of 108 pictures 39 people said whether it shows an indigo bunting. Here
five threads take turns at a study, as five browsers would, and give recorded labels. In the end a
picture is a bunting if the study says so. Beside it: as many labels spread evenly.

    python examples/studies/labelling.py [LABELS]
"""

import sys
import tempfile
from pathlib import Path
from threading import Lock, Thread

import numpy as np

from keyhole.data import load_labels
from keyhole.study import Study
from keyhole.thresholding import LSA

WORKERS = 5


class Crowd:
    """Recorded labels, one after the other, in an order drawn anew for each picture."""

    def __init__(self, seed: int) -> None:
        self.pictures = load_labels("bluebirds")
        self._rng, self._lock = np.random.default_rng(seed), Lock()
        self._left: dict[str, list[bool]] = {}

    def label(self, picture: str) -> bool:
        """Return the next recorded label of a picture; all of them once more when none is left."""
        with self._lock:
            if not self._left.get(picture):
                at = self.pictures.items.index(picture)
                labels = np.arange(self.pictures.counts[at]) < self.pictures.ones[at]
                self._left[picture] = self._rng.permutation(labels).tolist()
            return self._left[picture].pop()


def work(study: Study, crowd: Crowd, labels: int) -> None:
    """Label what the study asks for."""
    for _ in range(labels):
        decision = study.ask()
        study.tell(decision.id, crowd.label(decision.arm))


def agreement(said: dict[str, bool], crowd: Crowd) -> int:
    """Return for how many pictures something was said that most of the whole crowd say."""
    means = dict(zip(crowd.pictures.items, crowd.pictures.means, strict=True))
    return sum(said[picture] == (mean >= 0.5) for picture, mean in means.items())


def main(labels: int = 1000) -> None:
    """Label, and say how well."""
    crowd, pictures = Crowd(seed=1), load_labels("bluebirds").items
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "birds.db"
        with Study.create(file, "birds", LSA(), pictures, threshold=0.5) as study:
            share = [labels // WORKERS] * WORKERS
            people = [Thread(target=work, args=(study, crowd, n)) for n in share]
            for person in people:
                person.start()
            for person in people:
                person.join()
            found = study.recommend()
    evenly, each = Crowd(seed=2), sum(share) // len(pictures)
    plain = {p: sum(evenly.label(p) for _ in range(each)) * 2 >= each for p in pictures}
    print(f"{sum(share)} labels by {WORKERS} people, {len(pictures)} pictures")
    print(f"as most of the whole crowd say: {agreement(found, crowd)} with the study,")
    print(f"  {agreement(plain, evenly)} with {each} labels of each picture")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
