"""A report's numbers as plain values, for programs and pages."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bookwheel.evaluation.report import Contrast, Report


def numbers(report: Report) -> dict[str, Any]:
    """Cells and differences; whatever was not measured is None, for JSON has no other name for it."""
    return {
        "samples": len(report.results.records),
        "without_answer": len(report.failures),
        "cells": [_valid(asdict(cell)) for cell in (*report.cells, *report.pooled)],
        "differences": differences(report.contrasts),
    }


def differences(contrasts: Iterable[Contrast]) -> list[dict[str, Any]]:
    """Paired differences alone."""
    return [_valid(asdict(contrast)) for contrast in contrasts]


def _valid(values: dict[str, Any]) -> dict[str, Any]:
    told = {name: _valid(value) if isinstance(value, dict) else value for name, value in values.items()}
    return {name: None if isinstance(value, float) and math.isnan(value) else value for name, value in told.items()}
