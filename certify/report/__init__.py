# SPDX-License-Identifier: Apache-2.0
"""Reports: one certificate, checked by the trusted checker, as one HTML page. Untrusted, like `certify.cli`: nothing of the checker imports it."""
