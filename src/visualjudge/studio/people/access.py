"""Access control for raters: by a token on this machine, by one-time links elsewhere."""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
import threading
from pathlib import Path
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request

from visualjudge.clients.secret_files import cache_secret
from visualjudge.core.atomic import write_json
from visualjudge.core.errors import RunError
from visualjudge.studio.guard import TOKEN_HEADER, same_token

ADMIN = "\0admin"
"""Stands for the person who runs the study; not allowed as a rater's name."""
COOKIE_S = 90 * 86_400


class Tokens:
    """Tokens of one people's run, derived from a private secret in the user's cache."""

    def __init__(self, home: Path, folder: Path) -> None:
        try:
            secret = cache_secret(home, "secret")
        except OSError as error:
            raise RunError(str(error)) from None
        self._key = hmac.digest(secret, str(folder.resolve()).encode("utf-8", "replace"), "sha256")

    def token(self, name: str) -> str:
        """Return the token of a rater."""
        return self._tag("token", name, 22)

    def code(self, rater: str) -> str:
        """Return the completion code with which a rater claims payment; shown on the last page and
        on the overview.
        """
        return self._tag("code", rater, 10)

    def slot(self, rater: str, identity: str, turn: int) -> str:
        """Return a name for a question that reveals nothing about it."""
        return self._tag("slot", f"{rater}\0{identity}\0{turn}", 32)

    def link(self, name: str, number: int) -> str:
        """Return the token of a rater's ``number``-th one-time link."""
        return self._tag("link", f"{name}\0{number}", 32)

    def page(self, name: str, browser: str) -> str:
        """Return the page's token, sent along with the cookie ``browser``."""
        return self._tag("page", f"{name}\0{browser}", 32)

    @property
    def study(self) -> str:
        """Return a name for the study that reveals nothing about it."""
        return self._tag("study", "", 16)

    def _tag(self, kind: str, name: str, length: int) -> str:
        return hmac.new(
            self._key, f"{kind}\0{name}".encode("utf-8", "replace"), hashlib.sha256
        ).hexdigest()[:length]


class TokenAccess:
    """Access on this machine: the token of the link authorises every request."""

    def __init__(self, tokens: Tokens) -> None:
        self.tokens = tokens

    def link_token(self, name: str) -> str:
        """Return the token in the link of a rater or of ADMIN."""
        return self.tokens.token(name)

    def page_token(self, request: Request, name: str) -> str | None:
        """Return the token for the requests from the page of ``name``, or None if the link must be
        used first.

        Raises
        ------
        HTTPException
            If the request may not see the page.
        """
        token = self.tokens.token(name)
        if not same_token(request.query_params.get("token"), token):
            raise refused()
        return token

    def check_any(self, request: Request) -> None:
        """Refuse an image of the instructions if no link was used.

        Raises
        ------
        HTTPException
            If none was.
        """

    def check(self, request: Request, name: str, *, header: bool = True) -> None:
        """Refuse a request that does not come from the page of ``name``; ``header`` is False for
        images.

        Raises
        ------
        HTTPException
            If it did not.
        """
        if header and not same_token(request.headers.get(TOKEN_HEADER), self.tokens.token(name)):
            raise refused()


class OneTimeAccess(TokenAccess):
    """Access from other machines: a link works once, and ties the page to the browser that
    used it.

    The file holds the number of each rater's link and a digest of the browser's cookie.
    """

    def __init__(self, tokens: Tokens, path: Path) -> None:
        super().__init__(tokens)
        self._path = path
        self._lock = threading.Lock()
        self._known = _stored(path)

    def link_token(self, name: str) -> str:
        return self.tokens.link(name, self._entry(name)[0])

    def cookie(self, name: str) -> str:
        """Return the name of the cookie; one browser may have several raters and studies."""
        return f"__Host-studio-{self.tokens.link(name, -1)[:8]}"

    def is_used(self, name: str) -> bool:
        """Return whether a browser has used the link of ``name``."""
        return self._entry(name)[1] is not None

    def begin(self, name: str, token: str) -> str:
        """Use a link and return the browser's cookie.

        Raises
        ------
        HTTPException
            If it is not the link of ``name``, or has been used.
        """
        with self._lock:
            self._check_link(name, token)
            browser = secrets.token_urlsafe(32)
            self._put(name, self._entry(name)[0], _digest(browser))
            return browser

    def renew(self, name: str) -> None:
        """Make a new link, such as for another browser; the old link and browser lose access."""
        with self._lock:
            self._put(name, self._entry(name)[0] + 1, None)

    def page_token(self, request: Request, name: str) -> str | None:
        browser = request.cookies.get(self.cookie(name), "")
        if self._is_bound(name, browser):
            return self.tokens.page(name, browser)
        self._check_link(name, request.query_params.get("token"))
        return None

    def check(self, request: Request, name: str, *, header: bool = True) -> None:
        browser = request.cookies.get(self.cookie(name), "")
        given = request.headers.get(TOKEN_HEADER)
        if not self._is_bound(name, browser) or (
            header and not same_token(given, self.tokens.page(name, browser))
        ):
            raise refused()

    def check_any(self, request: Request) -> None:
        if not any(
            self._is_bound(name, request.cookies.get(self.cookie(name), "")) for name in self._known
        ):
            raise refused()

    def _check_link(self, name: str, token: str | None) -> None:
        number, browser = self._entry(name)
        if not same_token(token, self.tokens.link(name, number)):
            raise refused()
        if browser is not None:
            raise HTTPException(
                403,
                "this link was used in another browser: ask for a new one, or continue in that "
                "browser",
            )

    def _is_bound(self, name: str, browser: str) -> bool:
        return same_token(_digest(browser), self._entry(name)[1] or "")

    def _entry(self, name: str) -> tuple[int, str | None]:
        return self._known.get(name, (0, None))

    def _put(self, name: str, number: int, browser: str | None) -> None:
        known = {**self._known, name: (number, browser)}
        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_json(self._path, {key: list(entry) for key, entry in known.items()})
        self._known = known


def refused() -> HTTPException:
    """Return the response to a wrong token, without details."""
    return HTTPException(403, "this link is not valid: ask for a new one")


def _digest(browser: str) -> str:
    return hashlib.sha256(browser.encode("utf-8", "replace")).hexdigest()


def _stored(path: Path) -> dict[str, tuple[int, str | None]]:
    """Read the used links; raise RunError if the file was not written by the studio."""
    try:
        stored: Any = json.loads(path.read_text()) if path.is_file() else {}
        found = {str(name): (number, browser) for name, (number, browser) in stored.items()}
        if all(
            type(number) is int and (browser is None or isinstance(browser, str))
            for number, browser in found.values()
        ):
            return found
    except (OSError, ValueError, TypeError, AttributeError):
        pass
    raise RunError(
        f"{path}: must be the list of used links that the studio writes; remove it to give out "
        "new links"
    )
