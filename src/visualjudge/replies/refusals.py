"""Sentences by which a model declines to judge. Indecision is not a refusal: "I cannot tell which
is better".
"""

from __future__ import annotations

import re

_SELF = r"\b(?:i|we|as an ai\b[^.!?\n]{0,40}?)\b"
_CANNOT = (
    r"(?:can(?:no|['’])t|can not|(?:am |['’]m |are )?(?:unable|not (?:able|comfortable|allowed|permitted)|incapable)|won['’]t"
    r"|will not|could(?: not|n['’]t)|(?:do not|don['’]t) have (?:the )?(?:ability|access|capability)|must decline|decline|refuse)"
)
_HELP = (
    r"(?:help|assist|comply|provide|fulfil|answer|respond|do that|evaluat|judge|assess|compare|rate|rank|view|see\b|access|"
    r"process|analy[sz]e|display|open|continue|engage|complete|perform|interpret|examine|participate|support|score|discuss|identif|determine identit)"
)
_ENGLISH = re.compile(
    rf"(?:{_SELF}[^.!?\n]{{0,30}}?|^\W*(?:sorry\W+)?){_CANNOT}\b[^.!?\n]{{0,60}}?\b{_HELP}"
    rf"|\b(?:sorry|apologi[sz]e|apologies|unfortunately|regret)\b[^.!?\n]{{0,60}}?{_CANNOT}|\bi (?:must|have to|respectfully) (?:decline|refuse)"
    r"|(?:against|violates?) (?:my|our|the|openai['’]?s?) (?:\w+ )?(?:guidelines|programming|polic)|content policy|usage polic"
    r"|safety guidelines|request was rejected|not (?:appropriate|comfortable) for me"
    r"|(?:do not|don['’]t) see (?:any|the|an) images?|no images? (?:is|are|was|were) (?:attached|provided|visible)|please (?:upload|provide|share|attach) (?:the|an|your|both) (?:image|prediction)",
    re.I | re.M,
)
_UNDECIDED = re.compile(
    r"determin(?!e identit)|decide|\btell\b|distinguish|choose between|be (?:sure|certain)|say which"
    r"|(?:see|find|detect|perceive|notice|spot|identify|make out)[^.!?\n]{0,30}\bdifferen(?:ce|t)"
    r"(?![^.!?\n]*(?:no image|attached|provided))",
    re.I,
)
_OTHERS = re.compile(
    r"抱歉|看不到|对不起|無法|无法(?:评|回答|提供|查看|处理|帮助|协助|判断图|看到)|不能(?:评|回答|提供|帮助|协助)|申し訳(?:ありません|ございません)|お(?:手伝い|答え)"
    r"(?:できま|でき)|できかねます|죄송(?:하지만|합니다)|수 없습니다|lo siento|no puedo (?:ayudar|evaluar|ver|responder|proporcionar)"
    r"|désolée?|(?:ne peux pas|ne suis pas en mesure)|tut mir leid|kann (?:[a-zäöüß]+ ){0,5}nicht"
    r"|mi dispiace|non posso|desculpe|sinto muito|não (?:posso|consigo)|извините|не могу (?:помочь|оценить|ответить|видеть)"
    r"|к сожалению|przepraszam|nie mogę|آسف|عذر|لا (?:أستطيع|يمكنني)|क्षमा|माफ़|xin lỗi|không thể|maaf|tidak (?:bisa|dapat)|üzgünüm",
    re.I,
)
_LONGEST = 1_000
"""Number of characters within which a refusal must occur."""
_MAY_DECLINE = re.compile(
    r"canno|can'|can’|can no|unable|able to|sorry|apolog|won'|won’|will not|couldn|could n|not app|not com"
    r"|access|ability|declin|refus|guideline|polic|unfortun|incapab|regret|capabil|rejected|please|see an|"
    r"see the im|no image|permitted|allowed"
)
_MAY_DECLINE_ELSEWHERE = re.compile(
    r"siento|no puedo|peux pas|suis pas|mir leid|kann |dispiace|posso|maaf|tidak"
)


def is_refusal(text: str) -> bool:
    """Return whether any sentence declines: ``cannot … help``, ``sorry … cannot``, a policy that
    forbids.
    """
    said = text[:_LONGEST]
    lowered = said.lower()
    foreign = not said.isascii() or _MAY_DECLINE_ELSEWHERE.search(lowered)
    if foreign and _OTHERS.search(said):
        return True
    hint = _MAY_DECLINE.search(lowered)
    match = _ENGLISH.search(said, max(0, hint.start() - 80)) if hint else None
    if match is None:
        return False
    sentence_end = _SENTENCE_END.search(said, match.end())
    return not _UNDECIDED.search(
        said, match.start(), sentence_end.start() if sentence_end else len(said)
    )


_SENTENCE_END = re.compile(r"[.!?\n]")
