"""``visualjudge doctor``: report what works, what is missing, and how to fix it."""

from __future__ import annotations

from dataclasses import asdict

import typer

from visualjudge.cli.options import ModelOptions
from visualjudge.cli.output import AsJson, following, print_json


def doctor(client: ModelOptions, as_json: AsJson = False) -> None:
    """Check the environment, which API keys are set (never shown), and a server.

    With --base-url, check whether the server answers. With --model, ask one question about one
    small image with a JSON schema, which may cost a fraction of a cent. Exit status 1 if a check
    failed.

    Example: visualjudge doctor --model gpt-4o-mini --api-key-env OPENAI_API_KEY
    """
    from visualjudge.apps.starting import doctor as checks
    from visualjudge.clients.masked_secrets import check_url

    if client.base_url:
        check_url(client.base_url, "--base-url")
    config = client.config() if client.model else None
    found = [*checks.environment(), *checks.keys()]
    if client.base_url:
        found.append(checks.server(client.base_url, client.backend))
    if config and all(check.name != "server" or check.status == "ok" for check in found):
        found += checks.question(config)
    failed = [check.name for check in found if check.status == "failed"]
    if as_json:
        print_json(map(asdict, found))
    else:
        width = max(len(check.name) for check in found)
        for check in found:
            print(f"{check.name:{width}}  {check.status:7}  {check.detail}")
            if check.advice:
                print(f"{'':{width}}  {'':7}  {check.advice}")
        if failed:
            print(f"failed: {', '.join(failed)}")
        else:
            following("demo")
            following("init", "FOLDER", title="or")
    if failed:
        raise typer.Exit(1)
