"""Carrying runs to another machine: `export` writes one tar, `import_` takes it in after checking every byte.

What a bundle looks like is in `bundle_format`.
"""

from __future__ import annotations

from eventlog.bundle_export import export
from eventlog.bundle_import import import_
from eventlog.bundle_report import BundleReport, StreamReport

__all__ = ["BundleReport", "StreamReport", "export", "import_"]
