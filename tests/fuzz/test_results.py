"""A sample of damaged results: ``tools/fuzz_results.py`` tries thousands."""

from tools.fuzz_results import tried


def test_damaged_results_are_answered_by_files_or_messages():
    answers, findings, longest = tried(50, 11)
    assert not findings, "\n".join(findings)
    assert answers["files"] > 5 and answers["message"] + answers["explained"] > 5
    assert longest < 10
