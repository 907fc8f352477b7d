# SPDX-License-Identifier: Apache-2.0
"""The command line: `certify` (click) for everything, `certify-check` (argparse) for the checker alone. Not trusted."""
