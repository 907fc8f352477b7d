# SPDX-License-Identifier: Apache-2.0
"""Mutation testing of the checker: every small change of its rules and claims is noticed, or listed with a reason."""
