"""What long work tells reaches who listens, while they do."""

from __future__ import annotations

from faultwave.base.log import report_status, status_listener


def test_heard_while_somebody_listens() -> None:
    heard: list[str] = []
    report_status("before")
    with status_listener(heard.append):
        report_status("during")
        with status_listener(lambda text: heard.append(f"also {text}")):
            report_status("within")
    report_status("after")
    assert heard == ["during", "within", "also within"]
