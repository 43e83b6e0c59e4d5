"""Finite differences of fourth order on a staggered grid: velocity and stress of elastic and attenuating media."""
