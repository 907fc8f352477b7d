# SPDX-License-Identifier: Apache-2.0
"""Certificates about committed networks: the relations of a CROWN certificate, and the argument that they hold."""
