"""One form for the many ways to name options and to compare them: "option A", "(a)" and "the first image" are A, "more
accurate" is better, "keeps more of it than" beats. The grammars of choices and rankings then need few forms.
"""

from __future__ import annotations

import re

from visualjudge.replies.lexer import GONE, By, Scan, steps

ORDINALS = {
    word: place
    for place, words in enumerate(
        (
            "former first 1st zuerst erster d'abord сначала первом pertama birinci أولا 🥇 gold 第一 第一名 第1名 第1 erste ersten première premier primera primero prima primo primeira primeiro первое первый первую",
            "latter 🥈 zweiter seconde втором kedua ikinci 次点 silver runner-up runners-up 次之 second 2nd 第二 第二名 第2名 第2 zweite zweiten deuxième segunda segundo seconda secondo второе второй вторую",
            "third 🥉 dritter третьем ketiga üçüncü bronze 3rd 第三 第三名 第3名 第3 dritte troisième tercera tercero terza terzo terceira третье третий",
            "fourth 4th 第四 第四名 第4名 第4",
            "fifth 5th 第五 第五名 第5名 第5",
        ),
        1,
    )
    for word in words.split()
}


def _if(words: str, instead: str) -> By:
    """``instead`` where the first word of a match is one of these; else the match stays."""
    listed = frozenset(words.split())
    return lambda scan, match: (
        instead.ljust(len(match[0]), GONE) if scan.token(match.start()).lower() in listed else match[0]
    )


def _numbered(scan: Scan, match: re.Match[str]) -> str:
    token = scan.token(match.end() - 1)
    if match[0][0] in "wk" and scan.token(match.start()).lower() not in ("number", "answer"):
        return match[0]
    return GONE + "ABCDEFGH"[int(token) - 1] if token.isdigit() and 0 < int(token) <= scan.n_options else "ww"


def _ordinal(scan: Scan, match: re.Match[str]) -> str:
    place = ORDINALS.get(scan.token(match.start()).lower()) if scan.kind == "pairwise" else None
    if match[0][-1] == "k" and not scan.token(match.end() - 1).lower().startswith(("r", "结")):
        return match[0]  # my first choice; but: the first result
    return ("A" if place == 1 else "B").ljust(len(match[0]), GONE) if place in (1, 2) else match[0]


def _ranked(scan: Scan, match: re.Match[str]) -> str:
    place = ORDINALS.get(scan.token(match.start()).lower()) if scan.kind == "pairwise" else None
    return "b" if place == 1 else "u" if place == 2 else "o"


def _both_names(scan: Scan, match: re.Match[str]) -> str:
    same = ORDINALS.get(scan.token(match.start()).lower()) == "AB".index(match[1]) + 1
    return match[1].ljust(len(match[0]), GONE) if same else match[0]


_VERB = re.compile(r"[a-z]{2,}(?<![su])s")


def _may_follow_article(scan: Scan, at: int) -> bool:
    """Whether "A" before this word may be the article: not before a verb ("A sits") or a word of some languages."""
    word = scan.token(at)
    code = scan.codes[at]
    verb = code in "wR" and _VERB.fullmatch(word)
    foreign = word in _FOREIGN or not (
        word.isascii() or word.endswith(_PORTUGUESE) or (code == "w" and word[0] < "\u0250")
    )
    return scan.token(at - 1) in "Aa" and not foreign and not verb and (code != "r" or word == "car")


_PORTUGUESE = ("ão", "ões", "ica", "ima", "álasz")
_FOREIGN = frozenset(
    [
        "daha",
        "lebih",
        "jest",
        "terbaik",
        "terburuk",
        "seçeneği",
        "seçeneğini",
        "tahmini",
        "paling",
        "chính",
        "kém",
        "bị",
        "en",
    ]
)
"""Words that may follow an option at the head of a sentence, in languages without the article "a"."""


_CROSSES = ("no", "❌", "✗", "✘", "✖", "👎")


def _rival(scan: Scan, match: re.Match[str]) -> str:
    spoken = "z" in match[0] and scan.token(match.start(2) - 1).lower() in _CROSSES
    return match[0] if spoken or "M" in match[0] else match[1].ljust(len(match[0]), GONE)


def _only(scan: Scan, match: re.Match[str]) -> str:
    """Only B matches the caption: B is better."""
    said = "only" in scan.words_between(match.start() - 1, match.end() - 1)
    return f"{match[1]}ib".ljust(len(match[0]), GONE) if said else match[0]


def _owned(scan: Scan, match: re.Match[str]) -> str:
    return scan.token(match.start())[0].ljust(len(match[0]), GONE)


def _compared(scan: Scan, match: re.Match[str]) -> str:
    said = match[0]
    if said[0] == "y" and scan.token(match.start()).lower() != "mais":
        return said
    worse = said[1] in "+b" if said[0] == "L" else said[1:2] in ("u", "W")
    return ("u" if worse else "b").rjust(len(said), GONE)


def _comparative(scan: Scan, match: re.Match[str]) -> str:
    if not scan.token(match.start()).lower().endswith("er"):
        return match[0]
    return "b" if match[0] == "+" else GONE * len(match[0])


def _asked(scan: Scan, match: re.Match[str]) -> str:
    """Which is better? A. Which is worse? B."""
    turned = match[1] == "u" and scan.kind == "pairwise"
    said = ("b:", {"A": "B", "B": "A"}.get(match[2], "w")) if turned else (f"{match[1]}:", match[2])
    return said[0].ljust(len(match[0]) - 1, GONE) + said[1]


def _clearer(scan: Scan, match: re.Match[str]) -> str:
    """Provides a clearer result than."""
    compared = scan.token(match.start(1)).lower().endswith("er")
    return "γ".ljust(len(match[0]), GONE) if compared else match[0]


_NEUTRAL = frozenset(
    [
        *("contains", "commits", "exhibits", "displays", "has", "have", "had", "hat", "tiene", "makes", "make", "made"),
        *("shows", "show", "produces", "produced", "yields", "presents"),
    ]
)
"""Verbs that leave open whether more of it is better."""


def _outdoing(scan: Scan, match: re.Match[str]) -> str:
    neutral = scan.token(match.start()).lower() in _NEUTRAL
    return match[0] if neutral else "γ".ljust(len(match[0]), GONE)


def _such(scan: Scan, match: re.Match[str]) -> str:
    """Better of its kind, with an article; "better lit" is not."""
    return (
        "b".ljust(len(match[0]), GONE)
        if not {"the", "a", "an"}.isdisjoint(scan.words_between(match.start() - 1, match.end() - 1))
        else match[0]
    )


_QUESTION = r"(?:^|(?<=[.?\n]))[&ys,]{0,2}[ijIvfnhw]{0,4}([A-H])[ni]{0,2}(?:[bgvk][nk]{0,2}(?:tn?[A-H])?)?\?,?j?"
"""Is it A? Should I choose A? Is A better than B?"""


def _both(scan: Scan, match: re.Match[str]) -> str:
    """The better of A and B is …; of A and B, …"""
    before = scan.codes[match.start() - 1 : match.start()]
    heads = before in ("", ".", "\n", ":") if match[0][-1] == "," else before in tuple("bukn")
    return GONE * len(match[0]) if heads and scan.kind == "pairwise" else match[0]


def _unlike(scan: Scan, match: re.Match[str]) -> str:
    """Unlike A, B keeps …: more than A."""
    return ("M" if scan.kind == "pairwise" and match[1] else "").ljust(len(match[0]), GONE)


_SAME_FORM = steps(
    # Bring the many ways to name an option into one: ``Option A``, ``(a)``, ``image 1``, "the first option" are A.
    ("!", "S'n?([A-H])i!", lambda scan, match: f"{match[1]}ib".ljust(len(match[0]), GONE)),
    ("S", "S(?:'(?=n?[A-H])|(?=\\(?[A-H]\\)?[<>])|(?<=[<>]S)(?=\\(?[A-H]))", ""),
    (
        "✓",
        r"([A-H])(?:(z)|✓)[^A-H?]{0,60}(?!\1)([A-H])(?(2)✓|z)[^A-H?]{0,60}$",
        lambda scan, match: match[3 if match[2] else 1].ljust(len(match[0]), GONE),
    ),
    ("?", rf"{_QUESTION}z[^A-H.,\n?]{{0,3}}", ""),
    ("?", rf"{_QUESTION}✓[^.\n?A-H]{{0,6}}", lambda scan, match: match[1].ljust(len(match[0]), GONE)),
    ("✓", "✓", ""),
    ("V", "(?<!j)V", _if("estimate", "n")),
    ("?", r"(?:^|(?<=[.\n]))r?n?i?([bu])[nk]?\?n?([A-H])(?=[.\n]|$)", _asked),
    ("'", "'", ""),
    ('"', ',?"', ""),
    ("t", ",(?=t[nO]{0,2}[A-H])", ""),  # better, than B
    (">", ">{2,3}", ">"),
    (">", "[-=]{1,2}>", "~"),
    ("c", "(?<=[A-HiI])c|(?<=j)c(?![,.])", ""),  # is actually
    ("", r"[-.>](?<![^\n][-.>])[-.>]*", ""),  # a bullet
    ("o", r"on?\(([AB])\)", _both_names),
    ("(<", r"\(([A-Hx])\)|(?<![A-H])<([A-Hx])>", lambda scan, match: GONE + match[0][1] + GONE),
    ("a", "a(?:(?<=[bM][nTwi]a)|(?<=[bM][nTwi][nTwi]a))(?=n?[A-H])", _if("que", "t")),
    ("a", "a(?:(?<![A-H#ubx]a)|(?!n?[A-H#ubx]))", ""),
    ("x", r"x(?<![^:i(\n.=>|∨&,kRvn]x)(?=$|[\n.,)&|∨>:=])", lambda scan, match: scan.token(match.start()).upper()),
    ("x", "(?<=[A-H])x(?=[A-Hd])", lambda scan, match: "&" if scan.token(match.start()) == "e" else "x"),
    ("x", "x", lambda scan, match: GONE if scan.token(match.start()) == "a" else "w"),
    ("s", "(?<=[A-H][iI])s", ""),  # is therefore
    ("1", r"1(?:[nk]|w?n|v(?=[.,\n]|$)|(?=[.,\nig]|$))", _owned),  # B's result
    ("1", "1(?=O)", _owned),
    ("1", "1", "w"),
    (
        "A",  # an article at the head of a sentence
        r"A(?<![^.:?\n(\->|]A)(?=[wnkuMLRSmW+Txr]|o(?![.,\n&])|b(?![I.]|,d|$))",
        lambda scan, match: GONE if _may_follow_article(scan, match.end()) else "A",
    ),
    ("#", r"[nwk]#(?:(?<=n#)(?<![A-Hi]n#)|(?<=k#)(?=i)|(?<=w#)(?<![^.,\nn]w#)(?=i))", _numbered),
    ("N", "(?<=j)(?:#N)?NO|#N", ""),  # 90 % sure
    (",", ",(?=[.\n]|$)", ""),
    ("k", "k(?=[A-H])", _if("result", "")),  # Result A
    ("o", r"(?<=[A-H][iI])o(?=[.,\n&]|$)|(?<=^[A-H])o(?=[.\n]|$)|(?<=^n[A-H])o(?=[.\n]|$)", _ranked),
    ("n", r"n(?<=[.\n]n)(?=:)", _if("edit", "c")),
    ("b", r"(?<=[A-H]i)b(?:,?b)?w[nk]?(?=[.,\n&\-rs]|$)", _such),  # B is the more faithful photograph
    ("", r"^([A-H])(?:[,.\n]?\1)+$", lambda scan, match: match[1].ljust(len(match[0]), GONE)),
    ("i", "ii+", "i"),
    ("z", r"z(?<![^.\n,s]z)(?=n?[A-H]i[+b])", _if("only", "")),
    ("o", r"o[nk]|(?:^|(?<=[vi:trs]))o(?=$|[.\n])|(?<=\n)o(?=[.\n]*$)|(?:^|(?<=[.,\nysY]))o(?=[iIgγ])", _ordinal),
    ("+", r"\+(?=k)", _if("correct right", "b")),
    ("n", "n+-?(?=[A-H])", ""),
    ("o", r"(?<=R[A-H])o|(?<=[A-H]R)o", _ranked),
    ("K", "(?<=[A-H])K(?=[A-H])", _if("above", ">")),
    (
        "+",
        r"\+(?<=[A-H]i\+)(?=n?(?:[.\n&,]|$))",
        _if("correct right", "b"),
    ),
    ("!", "(?<=[jO])[RVSv][A-H]!(?:t[A-H])?", lambda scan, match: f"v{match[0][1]}".ljust(len(match[0]), GONE)),
    ("!", "!", "w"),
    ("f", "f(?:[jfhw]{0,4}vn?,?(?![A-Hi])|[jfh]{0,3}[:,])", ""),  # if I had to choose
    ("I", r"I[nTw'S]{0,4}(\+)[nkTw']{0,5}t(?=[A-H])", _clearer),
    ("P", "(?:^|(?<=[iO.,]))P(?=[+b])", "M"),  # than before an adjective: the more
    (
        "t",
        r"t(?<![^.\n,s:]t)[A-H](?:,(?!r)|i(?=[A-H])|(?=[A-H]))(?=([A-H][iIwVz])?)",
        _unlike,
    ),  # compared with A, B
    ("&", "[A-HKO](?:(?<=[KO])[A-H])?&[A-H](?:(?=i)|,(?=[A-H]))", _both),
    (
        "g",
        r"(?:^|(?<=[.\n,sm]))g(?=[A-H](?:[.,\n]|$))",
        _if("gana vince vence ganha gewinnt gagne побеждает выигрывает menang", "k"),
    ),
    ("(", r"\([A-H](?:[∨|,&][A-H])+\)(?=:)", ""),  # Answer (A or B): B
    (
        "MLy",
        "[MLy](?:(?<=M)M*[buW]|(?<=[My])[+T]|(?<=L)(?:[+bu]|Ww?(?=t|[.,\n]|$)|W))",
        _compared,
    ),  # more accurate, less wrong
    # the sharper, more faithful image; the cleaner result
    ("+", r"\+(?:,?&?(?=b)|(?=[nk](?:[.,\n]|$)))", _comparative),
    ("I", r"I[nTw'S]{0,4}(?:M[w+]?|b)[nTw']{0,5}(?:t(?=[A-H])|(?=[.\n]|$))", _outdoing),  # keeps more detail than
    ("b", r"[b+](?:(?<=i\+)[&,]{1,2}b(?=t)|(?<=b)(?:[&,]{1,2}[b+]){1,4})", "b"),
    ("g", "g(?=[:=][A-H])", _if("win", "k")),
    (",", ",(?:(?<=[A-H],)[ysm]{1,2},|,(?=i))", ""),  # B, however,
    ("z", r"z(?<![^.\n,sr]z)([A-H])I[nT]{1,3}(?=[.,\n]|$)", _only),
    ("z", r"([A-H])izn\"?I[nT]{1,3}(?=[.,\n]|$)", _only),
    ("z", r"z[A-H][,\-]?[yi]?(?=[A-H])", ""),  # not A but B
    ("zta", r"([A-H])(?<![ez&|∨][A-H])[,(]?M?[zta]{1,2}([A-H])\)?(?=$|[.,\n)rOsyY])", _rival),  # A over B
    ("(", r"\((?<=[A-H]\()[^()A-H\n]{1,30}\)(?=[iIgul<>bM+])", ""),  # an aside
    (",", ",(?<=[A-H]i,)[Omskwy]{0,3},", ""),
    (",", r",(?<=[A-H],)[YtrO][^,.?\nA-H]{1,40},(?=[iIgulbM+kzw])", ""),  # A, although soft, is
    (",(∨", r"([A-H])(?:,\1(?=[,.\n]|$)|∨\1|\(\1\))", lambda scan, match: match[1].ljust(len(match[0]), GONE)),
    ("\n", r"\n(?:(?<=:\n)|(?<=[kR]\n)(?=[A-HZ\-]))", ""),  # a heading and what stands under it
)


def prepare(scan: Scan) -> None:
    """Simplify the codes, so that few forms read them."""
    scan.rewrite(_SAME_FORM)
