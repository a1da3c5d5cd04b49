"""The plug-in's type is sound, and a wrong count scores less."""

import visualjudge as vj
from visualjudge.testing import check_type


def test_the_type_is_sound() -> None:
    check_type("counting")


def test_a_wrong_count_scores_less() -> None:
    assert vj.score("object_counting", {"number": 8}, {"number": 8}) == 10
    assert vj.score("object_counting", {"number": 6}, {"number": 8}) == 7.5
