# SPDX-License-Identifier: Apache-2.0
"""From what users have to canonical subject files; untrusted: what it writes is what the claim is about."""
