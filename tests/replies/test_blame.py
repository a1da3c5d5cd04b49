"""What spares the tokens of a line before a mark never hides a word that blames."""

from __future__ import annotations

from hypothesis import given, settings, strategies as st

from visualjudge.replies import read_reply
from visualjudge.replies.marked_answers import _BLAMES, NEAR, _is_free
from visualjudge.replies.phrases import expanded, listed, source
from visualjudge.replies.sentences import has
from visualjudge.replies.tokens import plain, tokens

ENTRIES = sorted(
    said
    for language in source().values()
    for name in (*_BLAMES, "filler", "answer", "is", "best", "option")
    for entry in language["words"].get(name, ())  # type: ignore[attr-defined]
    for said in expanded(str(entry))
    if said.isascii()
)
OTHERS = ["detail", "region,", "12345.", "vs.", "e.g.", "'x'", "don't", "both,", "(", "B", "~", "-"]
WORDS = st.one_of(st.sampled_from(ENTRIES), st.sampled_from(OTHERS))


@settings(max_examples=300, deadline=None)
@given(st.lists(WORDS, max_size=14).map(" ".join))
def test_a_line_said_to_be_free_blames_nothing(lead: str) -> None:
    text = plain(lead)
    if _is_free(text.lower()):
        assert not has(listed(tokens(text))[-NEAR:], *_BLAMES)


def test_a_blamed_mark_is_no_answer_and_a_distant_word_blames_none() -> None:
    assert read_reply("The worse one is [[A]]", "pairwise").value == "Failed"
    far = "Option B loses detail in region 7. Weighing both, the answer is [[A]]."
    assert _is_free(plain(far[:-6]).lower())
    assert read_reply(far, "pairwise").value == "A"
