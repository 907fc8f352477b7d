# SPDX-License-Identifier: Apache-2.0
"""Provers of claims about power networks: search trees over attacks, cuts, and defence plans."""
