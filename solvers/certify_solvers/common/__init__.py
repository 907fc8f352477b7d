# SPDX-License-Identifier: Apache-2.0
"""What all provers share: the problem and outcome types, and writing a checked certificate."""
