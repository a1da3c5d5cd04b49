"""The demo's pictures, recorded: what everyone's first report is computed from."""

from __future__ import annotations

from itertools import islice

from recording import check
from visualjudge.apps.demo.data import DEGRADATIONS, GENERATORS
from visualjudge.apps.demo.photographs import photographs, stereo_disparity
from visualjudge.apps.demo.study_data import views
from visualjudge.core.seeding import rng_for


def test_photographs_and_what_is_made_of_them() -> None:
    photo = photographs()[2]
    made = {
        "photographs": photographs(),
        "disparity": stereo_disparity(),
        "views": list(islice(views(42), 7)),
        "degraded": [
            make(photo.pixels, rng_for(1, task))
            for task, make in DEGRADATIONS.items()
        ],
        "generated": [make(photo) for make in GENERATORS.values()],
    }
    check("demo", made, depth=1)
