# SPDX-License-Identifier: Apache-2.0
"""The reformulation of defender, attacker and operator to one mixed-integer program, as a chain of four reductions in Pyomo.

`dualise` (the operator's linear program to its dual, exact), `linearise` (the attack's products to big-M rows, exact where M is large enough),
`relax` (fractional attacks, an upper bound), `single` (the attacker's program to its dual, exact): each with `apply`, forward, and `invert`, which
carries a solution back. What comes out is a hint: its plan and its value are certified by the rules, or not at all.
"""
