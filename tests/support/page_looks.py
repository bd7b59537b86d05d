"""The widths, schemes and languages that every view is looked at in."""

from __future__ import annotations

import pytest

LOOKS = [
    (360, "dark", "zh-CN"),
    (1280, "light", "en-GB"),
    *(
        pytest.param(*look, marks=pytest.mark.long)
        for look in [
            (360, "light", "en-GB"),
            (768, "dark", "en-GB"),
            (1280, "dark", "zh-CN"),
            (1920, "light", "zh-CN"),
        ]
    ),
]
