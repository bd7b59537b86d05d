"""Files converted inside this process, where a test can take a package or a program away."""

from bookwheel.documents.dispatch import read_parts
from bookwheel.documents.sources import SourceFile, SourceWarnings, take_fingerprint


def convert(path, **facts):
    """Return the parts with text and the notes of a file."""
    warnings = SourceWarnings()
    fingerprint = take_fingerprint(path.stat())
    file = SourceFile(name=path.name, path=path, fingerprint=fingerprint, suffix=path.suffix.lower(), **facts)
    return [part for part in read_parts(file, warnings) if part.text], warnings.lines()


def text_of(path, **facts):
    return "".join(part.text for part in convert(path, **facts)[0])
