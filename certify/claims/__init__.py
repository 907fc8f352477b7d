# SPDX-License-Identifier: Apache-2.0
"""The kinds of claims, one module each: the statement, its fields, its check and its sentence."""
