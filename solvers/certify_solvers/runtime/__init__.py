# SPDX-License-Identifier: Apache-2.0
"""Adapters to inference runtimes, for remarks only: no verdict rests on them."""
