import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultwave.base.errors import Problems
from faultwave.case.seissol import reader
from faultwave.case.seissol import syntax as syntax
from faultwave.case.seissol.syntax import parse_deck
from tests.messages import raises


def parse(text):
    problems = Problems()
    return parse_deck(text, "deck", problems), [str(p) for p in problems.items]


def values(text, block="a"):
    deck, problems = parse(text)
    assert not problems
    return {key: entry.text for key, entry in deck.blocks[block].items()}


names = st.builds(
    lambda first, rest: first + rest, st.sampled_from("abcxyz_"), st.text("abcdexyz_0123456789", max_size=8)
).filter(lambda name: name != "end")
quoted = st.text("abcXYZ019 ._-/+=,!", max_size=12).map(lambda text: f"'{text}'")
reals = st.floats(allow_nan=False, allow_infinity=False).map(repr)
entries = st.dictionaries(names, st.one_of(quoted, reals), min_size=1, max_size=5)
blocks = st.dictionaries(names, entries, max_size=4)


@given(blocks, st.randoms(use_true_random=False))
def test_what_is_written_is_read(blocks, random):
    lines = []
    for block, entries in blocks.items():
        lines += random.choice([[], ["outside = 1"], ["! remark"], [""]])
        lines.append(random.choice(["&", "  &"]) + (block.upper() if random.random() < 0.5 else block))
        for key, value in entries.items():
            key = key.upper() if random.random() < 0.5 else key
            sign, tail = random.choice(["=", " = ", "\t=  "]), random.choice(["", "  ", " ! a 'remark' = 1", "!x"])
            lines.append(f"{key}{sign}{value}{tail}")
            lines += random.choice([[], ["  ! only a remark"], [""]])
        lines.append(random.choice(["/", "  /  ", "/ done"]))
    deck, problems = parse("\n".join(lines))
    assert not problems
    assert {b: {k: e.text for k, e in entries.items()} for b, entries in deck.blocks.items()} == blocks
    for entries in deck.blocks.values():
        for entry in entries.values():
            assert lines[entry.line - 1].lower().startswith(entry.key)


@given(st.text(alphabet="&/=!'\" ,a1\n.de-", max_size=80))
def test_any_text_is_read_or_refused(text):
    parse(text)  # must not raise: what is wrong goes to the problems


@given(st.floats(allow_nan=False, allow_infinity=False), st.sampled_from("edED"))
def test_fortran_numbers(value, letter):
    text = f"{value:.17e}".replace("e", letter)
    assert syntax.real(text) == value
    assert syntax.real(f"'{text}'") == value
    assert syntax.real(f"{text},") == value


@given(st.lists(st.integers(0, 3), max_size=20), st.integers(1, 15))
def test_masks_are_padded_and_cut(given_mask, length):
    found = syntax.mask(" ".join(map(str, given_mask)), length)
    assert found == [*(v > 0 for v in given_mask), *[False] * length][:length]


@given(st.integers(-(10**12), 10**12))
def test_integers(value):
    assert syntax.integer(str(value)) == syntax.integer(f"{value}.0") == syntax.integer(f"{value}.") == value
    assert syntax.boolean(str(value)) == (value > 0)


@pytest.mark.parametrize("text", ["abc", "1.5", "1 2", "", "1d", "inf", "0x10", "1_0", "nan"])
def test_no_integer(text):
    with pytest.raises(ValueError):
        syntax.integer(text)


def test_more_values():
    assert syntax.real("-1.0d5") == -1e5
    assert syntax.real("1d-6") == 1e-6
    assert syntax.real(".5") == 0.5
    assert syntax.real("inf") == math.inf
    assert [syntax.boolean(t) for t in (".true.", "T", "2", ".FALSE.", "-1", "0")] == [
        True,
        True,
        True,
        False,
        False,
        False,
    ]
    assert syntax.words("'1  2,3 2*0,'") == ["1", "2", "3", "0", "0"]
    assert syntax.integers("'3 2'") == [3, 2]
    assert syntax.vector("1d0 -2.d0\t3", 3) == [1, -2, 3]
    with raises(ValueError):
        syntax.vector("1 2", 3)
    with raises(ValueError):
        syntax.boolean("yes")


def test_comments_and_quotes():
    assert values("&a\nx = 'b!c' ! d\ny = it's ! 'z'\nz = 5!no\n/\n") == {"x": "'b!c'", "y": "it's", "z": "5"}


def test_what_only_namelists_allow():
    text = "&A x=1, y = 2\nz = 1 0\n 1 1\nlast = 'p/q' /\noutside = 3\n&b\nu = (3)\n&end\n"
    deck, problems = parse(text)
    assert {k: syntax.unquoted(e.text) for k, e in deck.blocks["a"].items()} == {
        "x": "1",
        "y": "2",
        "z": "1 0 1 1",
        "last": "p/q",
    }
    assert list(deck.blocks) == ["a", "b"]
    (warning,) = problems
    assert warning.startswith("deck:1: SeisSol ignores 'x=1, y = 2'")


def test_remarks_behind_a_block_are_ignored():
    assert values("&a  the first block\nx = 1\n/") == {"x": "1"}


def test_a_slash_in_a_value_ends_nothing():
    assert values("&a\nx = output/\ny = 1\n/") == {"x": "output/", "y": "1"}


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("&a\nx = 1\n", 1, "never closed"),
        ("&a\nx = 1\n&b\n/\n", 3, "begins inside '&a' of line 1"),
        ("&a\n/\n&A\n/\n", 3, "second time (first in line 1)"),
        ("&a\nx = 1\nX = 2\n/\n", 3, "second time (first in line 2)"),
        ("&a\nx =\n/\n", 2, "no value"),
        ("&a\nx(1) = 3\n/\n", 2, "not a plain key"),
        ("&a\nx = 1\nnonsense\n/\n", 3, "'nonsense' is not understood"),
    ],
)
def test_syntax_errors(text, line, words):
    _, problems = parse(text)
    assert len(problems) == 1, problems
    assert problems[0].startswith(f"deck:{line}: ")
    assert words in problems[0]


def test_the_table_of_keys_is_whole():
    kinds = {key.kind for keys in reader.KEYS.values() for key in keys.values()}
    assert kinds == {"P", "B", "R", "S", "I", "L", "M7", "M12", "M13", "V3", "V6"}
    assert sum(map(len, reader.KEYS.values())) > 180
    assert reader.find_key("dynamicrupture", "t2_0").kind == "R"
    assert reader.find_key("dynamicrupture", "mu_w").name == "RS_muW"
    assert reader.find_key("discretization", "fixfimestep") is None
    for (block, old), (home, new) in reader.ALIASES.items():
        assert reader.KEYS[home][new]
        assert old not in reader.KEYS[block]
