"""Writeups that leave the house: a document with figures, tables, ratings and hashes, and the check of one."""

from axisjudge.report.bundle.check import BundleCheck, check_bundle
from axisjudge.report.bundle.publishing import Published, publish

__all__ = ["BundleCheck", "Published", "check_bundle", "publish"]
