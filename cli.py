#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Launcher for a checkout: `python cli.py prove ...` without installing anything but the dependencies."""

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent / folder) for folder in (".", "solvers", "problems", "zk")]

from certify.cli.main import main  # noqa: E402

if __name__ == "__main__":
    main()
