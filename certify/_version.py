# SPDX-License-Identifier: Apache-2.0
"""The version of certify: one place, read by the build and written into certificates."""

VERSION = "0.1.0"
