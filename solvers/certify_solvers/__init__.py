# SPDX-License-Identifier: Apache-2.0
"""Untrusted provers: whatever they emit is checked by `certify` before it counts."""
