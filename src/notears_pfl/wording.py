"""Words of messages that depend on a number."""


def counted(n: int, one: str, many: str) -> str:
    """Say how many there are of something: ``1 subject is``, ``2 subjects are``."""
    return f"{n} {one if n == 1 else many}"
