# SPDX-License-Identifier: Apache-2.0
"""The example of private networks: what trains them and writes them with the questions that are asked about them."""
