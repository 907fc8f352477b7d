# SPDX-License-Identifier: Apache-2.0
"""Zero-knowledge certificates for private networks: the relations of a CROWN certificate, and the argument that they hold."""
