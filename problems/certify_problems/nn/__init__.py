# SPDX-License-Identifier: Apache-2.0
"""Networks: converters and generators of models and points."""
