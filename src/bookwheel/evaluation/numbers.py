"""A report's numbers as plain values, for programs and pages."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bookwheel.evaluation.report import Contrast, Report


def report_to_json(report: Report) -> dict[str, Any]:
    """Cells and differences; whatever was not measured is None, for JSON has no other name for it."""
    return {
        "samples": len(report.results.records),
        "without_answer": len(report.failures),
        "cells": [_replace_nan(asdict(cell)) for cell in (*report.cells, *report.pooled)],
        "differences": contrasts_to_json(report.contrasts),
    }


def contrasts_to_json(contrasts: Iterable[Contrast]) -> list[dict[str, Any]]:
    """Paired differences alone."""
    return [_replace_nan(asdict(contrast)) for contrast in contrasts]


def _replace_nan(values: dict[str, Any]) -> dict[str, Any]:
    told = {name: _replace_nan(value) if isinstance(value, dict) else value for name, value in values.items()}
    return {name: None if isinstance(value, float) and math.isnan(value) else value for name, value in told.items()}
