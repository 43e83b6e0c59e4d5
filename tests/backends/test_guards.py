"""What generated C asks of GCC alone, other compilers that say they are GCC are not asked."""

from __future__ import annotations

import re
import subprocess
from importlib import resources

import pytest

from faultwave.backends.cpu.compile import compiler

OTHERS = ("__clang__", "__INTEL_COMPILER", "__NVCOMPILER")
"""What clang and Intel's icx, Intel's icc and NVIDIA's nvc define beside __GNUC__."""


def preprocessed(other: str | None) -> str:
    """The text of one question, with AVX-512, as the ``other`` compiler reads it; None: GCC."""
    text = resources.files("faultwave.backends.cpu").joinpath("include", "vector.h").read_text()
    text = re.sub(r"#include.*", "", text) + "\nint is_gcc = IS_GCC; double asked = X86(of_gcc, of_others);\n"
    macros = {"__GNUC__": 13, "__AVX__": 1, "__AVX512F__": 1, "R": "double", "LANES": 8, "R_IS_DOUBLE": 1} | (
        {other: 1} if other else {}
    )
    undefined = [f"-U{name}" for name in (*macros, *OTHERS)]
    command = [*compiler(), *undefined, *(f"-D{name}={value}" for name, value in macros.items()), "-E", "-x", "c", "-"]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout


def test_gcc_is_asked_in_its_words() -> None:
    found = preprocessed(None)
    assert "is_gcc = 1" in found and "asked = (of_gcc)" in found


@pytest.mark.parametrize("other", OTHERS)
def test_others_are_asked_in_words_that_all_know(other: str) -> None:
    found = preprocessed(other)
    assert "is_gcc = 0" in found and "asked = (of_others)" in found


def test_which_compiler_it_is_stands_in_one_place() -> None:
    texts = {
        f.name: f.read_text()
        for f in resources.files("faultwave.backends.cpu").joinpath("include").iterdir()
        if f.name.endswith(".h")
    }
    assert [name for name, text in texts.items() if "__GNUC__" in text or "__clang__" in text] == ["vector.h"]
