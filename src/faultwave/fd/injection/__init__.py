"""Incident waves and recorded fields injected into a box of a grid."""
