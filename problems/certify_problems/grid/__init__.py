# SPDX-License-Identifier: Apache-2.0
"""Power networks: converters to canonical MATPOWER cases, and random ones."""
