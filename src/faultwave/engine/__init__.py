"""Protocols and services that the tetrahedral (``dg``) and finite-difference (``fd``) engines share."""
