"""The one exception of the reference implementation."""


class VaultError(Exception):
    """A container, a request or an argument was refused; `name` is the error's name in FORMAT.md."""

    def __init__(self, name: str, detail: str = "") -> None:
        super().__init__(f"{name}: {detail}" if detail else name)
        self.name = name
        self.detail = detail


def require(condition: bool, name: str, detail: str = "") -> None:
    """Raises VaultError(name) unless the condition holds."""
    if not condition:
        raise VaultError(name, detail)
