"""``visualjudge doctor``: report what works, what is missing, and how to fix it. The
checks are in ``apps/starting/doctor.py``.
"""

from dataclasses import asdict

from visualjudge.cli.console import (
    AsJson,
    as_options,
    end_with,
    following,
    print_json,
)
from visualjudge.cli.options import ModelOptions
from visualjudge.core.text_tables import Table


def doctor(client: ModelOptions, as_json: AsJson = False) -> None:
    """Check the environment, which API keys are set (never shown), and a server.

    With --base-url, check whether the server answers. With --model, ask one question
    about one small image with a JSON schema, which may cost a fraction of a cent. Exit
    status 1 if a check failed.

    Example: visualjudge doctor --model gpt-4o-mini --api-key-env OPENAI_API_KEY
    """
    from visualjudge.apps.starting import doctor as checks
    from visualjudge.clients.http import check_url

    check_url(client.base_url or "http://localhost", "--base-url")
    config = client.config() if client.model else None
    collected = [*checks.environment(), *checks.keys()]
    if client.base_url:
        collected.append(checks.server(client.base_url, client.backend))
    if config and all(
        check.name != "server" or check.status == "ok" for check in collected
    ):
        collected += checks.question(config)
    failed = [check.name for check in collected if check.status == "failed"]
    if as_json:
        print_json(
            {k: v and as_options(v) for k, v in asdict(check).items()}
            for check in collected
        )
    else:
        table = Table(
            ("Check", "Status", "Detail", "Advice"),
            tuple(
                (item.name, item.status, item.detail, item.advice or "")
                for item in collected
            ),
        )
        print(as_options(table.text()))
    end_with([f"failed: {', '.join(failed)}"] if failed else [])
    if not as_json:
        following("demo")
