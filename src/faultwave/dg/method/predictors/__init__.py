"""Predictors: the evolution of a cell over a time step without its neighbours, as an expansion in functions of time.

A predictor writes the state during a step as a sum of coefficients times functions of time. Its kernel statements
compute the coefficients (``expand``); its weights give a value at a time (``at``) or an integral over an interval
(``integral``). The operator, friction, local time stepping and receivers only use these weights, so that another
predictor is one more file here. ``taylor`` is the Cauchy-Kovalevskaya predictor of ADER-DG, ``decaying`` an exact one
for quantities that relax at one rate, and ``relaxing`` is for generalised Maxwell bodies.
"""

from faultwave.dg.method.predictors.decaying import Decaying
from faultwave.dg.method.predictors.predictor import CellTerms, Predictor, Sum
from faultwave.dg.method.predictors.relaxing import Relaxing
from faultwave.dg.method.predictors.taylor import Taylor

__all__ = ["CellTerms", "Decaying", "Predictor", "Relaxing", "Sum", "Taylor"]
