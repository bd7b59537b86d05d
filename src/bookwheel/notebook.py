"""Show readings as HTML in a notebook: `%load_ext bookwheel.notebook`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bookwheel.types import Reading


def load_ipython_extension(shell: Any) -> None:
    """Show every Reading in this IPython shell as HTML."""
    # By name: the extension then loads without importing the types.
    shell.display_formatter.formatters["text/html"].for_type_by_name("bookwheel.types", "Reading", render_reading)


def render_reading(reading: Reading) -> str:
    """Return the HTML fragment of a reading."""
    from bookwheel.views.html import render_fragment

    return render_fragment(reading)
