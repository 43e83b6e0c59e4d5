"""Verification cases: every module-level ``VerificationCase`` in this folder is found by its name."""
