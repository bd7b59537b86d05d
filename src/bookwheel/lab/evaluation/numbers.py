"""The numbers of a report as JSON, for programs and pages."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bookwheel.lab.evaluation.report import Contrast, Report


def report_to_json(report: Report) -> dict[str, Any]:
    """Return the cells and differences. JSON has no NaN, so values that were not measured are None."""
    return {
        "samples": len(report.results.records),
        "without_answer": len(report.failures),
        "cells": [_replace_nan(asdict(cell)) for cell in (*report.cells, *report.pooled)],
        "coverage": [asdict(row) for row in report.coverage],
        "choices": [asdict(row) for row in report.choices],
        "differences": contrasts_to_json(report.contrasts),
    }


def contrasts_to_json(contrasts: Iterable[Contrast]) -> list[dict[str, Any]]:
    """Return the paired differences alone."""
    return [_replace_nan(asdict(contrast)) for contrast in contrasts]


def _replace_nan(values: dict[str, Any]) -> dict[str, Any]:
    nested = {name: _replace_nan(value) if isinstance(value, dict) else value for name, value in values.items()}
    return {name: None if isinstance(value, float) and math.isnan(value) else value for name, value in nested.items()}
