"""Templates of pages, which escape what they show. The templates are beside the pages
that use them.
"""

from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined

from visualjudge.core.escaping import visible


@cache
def environment(package: str, folder: str = "templates") -> Environment:
    """Return the environment of the templates in a ``folder`` of a package, with
    autoescaping and strict undefined names; a process compiles each template once.
    """
    return Environment(
        loader=PackageLoader(package, folder),
        autoescape=True,
        finalize=visible,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
