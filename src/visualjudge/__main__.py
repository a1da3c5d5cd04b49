"""``python -m visualjudge``."""

from visualjudge.cli.main import run

if __name__ == "__main__":
    run()
