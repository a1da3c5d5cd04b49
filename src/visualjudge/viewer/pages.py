"""The pages. Read-only; answers only to this machine's own names; everything is escaped; no script is sent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined

from visualjudge.errors import UsageError
from visualjudge.viewer.shelf import FILTERS, OUTCOMES, PAGE, Shelf

if TYPE_CHECKING:
    from fastapi import FastAPI

LOOPBACK = ["127.0.0.1", "localhost", "[::1]"]
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; img-src 'self'; style-src 'unsafe-inline'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
TYPES = {".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".webp": "image/webp"}


def _templates() -> Environment:
    loader = PackageLoader("visualjudge.viewer")
    env = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    env.filters["path"] = lambda text: quote(str(text), safe="")
    return env


def create_app(shelf: Shelf) -> FastAPI:
    """The application over ``shelf``.

    Raises
    ------
    UsageError
        If FastAPI is not installed.
    """
    try:
        from fastapi import FastAPI
        from starlette.middleware.trustedhost import TrustedHostMiddleware
    except ImportError:
        raise UsageError("view needs FastAPI and uvicorn: pip install 'visualjudge[viewer]'") from None
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=LOOPBACK)
    _add_routes(app, shelf, _templates())
    return app


def _add_routes(app: Any, shelf: Shelf, env: Environment) -> None:
    from starlette.requests import Request
    from starlette.responses import FileResponse, HTMLResponse, PlainTextResponse, Response

    async def index(request: Request) -> Response:
        return HTMLResponse(
            env.get_template("list.html.j2").render(_list(shelf, dict(request.query_params))), headers=HEADERS
        )

    async def question(request: Request) -> Response:
        found = shelf.questions.get(request.path_params["identity"])
        if found is None:
            return PlainTextResponse("no such question", 404, headers=HEADERS)
        before, after = shelf.neighbours(found.id)
        values = {"q": found, "verdicts": shelf.verdicts(found.id), "before": before, "after": after}
        return HTMLResponse(env.get_template("question.html.j2").render(values), headers=HEADERS)

    async def picture(request: Request) -> Response:
        path = shelf.picture(request.path_params["name"])
        kind = TYPES.get(path.suffix.lower()) if path else None
        if path is None or kind is None:
            return PlainTextResponse("no such picture", 404, headers=HEADERS)
        return FileResponse(path, media_type=kind, headers=HEADERS)

    app.add_route("/", index)
    app.add_route("/question/{identity:path}", question)
    app.add_route("/picture/{name:path}", picture)


def _list(shelf: Shelf, query: dict[str, str]) -> dict[str, Any]:
    chosen = {name: query[name] for name in FILTERS if query.get(name)}
    page = int(query["page"]) if query.get("page", "").isascii() and query.get("page", "").isdecimal() else 1
    page = max(1, min(page, 10**9))
    rows, total = shelf.listed(chosen, page)
    return {
        "rows": rows,
        "total": total,
        "page": page,
        "pages": max(1, -(-total // PAGE)),
        "chosen": chosen,
        "choices": shelf.choices(),
        "outcomes": OUTCOMES,
        "link": lambda number: "/?" + urlencode({**chosen, "page": number}),
        "root": shelf.dataset.root,
        "judges": [run.name for run in shelf.runs],
    }
