# SPDX-License-Identifier: Apache-2.0
"""Fuzzing of everything that reads untrusted bytes: only errors of ours may leave, and no input may take long."""
