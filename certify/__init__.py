# SPDX-License-Identifier: Apache-2.0
"""Machine-checkable certificates: untrusted provers write them, this small package checks them.

    import certify
    result = certify.verify("digit.cert", subjects=["digits.onnx", "images.npy"])
    print(result.sentence)

`verify` raises `Rejected` or `Declined` on anything but success; it never returns a bool. `load` reads a certificate
without checking it. Submodules are imported when they are first used, so that `import certify` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from certify._version import VERSION as __version__
from certify.errors import CertifyError, Declined, Rejected, UsageError
from certify.limits import Limits

if TYPE_CHECKING:
    from certify.certificate import Certificate, Claim
    from certify.files import OutputError
    from certify.verification import Verification, load, verify

_LAZY = {"Certificate": "certificate", "Claim": "certificate", "OutputError": "files", "Verification": "verification", "load": "verification",
         "verify": "verification"}

__all__ = ["Certificate", "CertifyError", "Claim", "Declined", "Limits", "OutputError", "Rejected", "UsageError", "Verification",
           "__version__", "load", "verify"]


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(import_module(f"certify.{_LAZY[name]}"), name)
    raise AttributeError(f"module 'certify' has no attribute {name!r}")
