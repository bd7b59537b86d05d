from types import SimpleNamespace

from bookwheel.notebook import load_ipython_extension
from bookwheel.plan import Plan
from bookwheel.types import DocumentInfo, Reading


def test_a_notebook_shows_a_reading_as_html() -> None:
    class Formatter:
        def __init__(self) -> None:
            self.functions = {}

        def for_type_by_name(self, module: str, name: str, function: object) -> None:
            self.functions[f"{module}.{name}"] = function

    html = Formatter()
    load_ipython_extension(SimpleNamespace(display_formatter=SimpleNamespace(formatters={"text/html": html})))
    document = DocumentInfo(id="0" * 64, name="lease.txt", length=9)
    reading = Reading(id="r1", document=document, question="When does it <end>?", plan=Plan(), model="scripted")
    shown = html.functions[f"{Reading.__module__}.{Reading.__qualname__}"](reading)
    assert "When does it &lt;end&gt;?" in shown
