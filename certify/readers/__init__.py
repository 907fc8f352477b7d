# SPDX-License-Identifier: Apache-2.0
"""Strict readers: bytes to frozen subject models; each refuses what it doesn't fully understand, naming it."""
