"""Servers that do not read, and answers that are no JSON."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest
from test.sandbox.supervisor.guest.conftest import NEWER, report

import mcp_input
from mcp_request import Request
from mcp_words import names_of

if TYPE_CHECKING:
    from test.sandbox.supervisor.guest.conftest import Desk

SLEEPS = NEWER + "    elif method == 'tools/call': import time; time.sleep(600)\n"
LARGE = {'text': 'x' * 1_000_000}


def test_a_server_that_never_reads_holds_nobody_up(desk: Desk) -> None:
    server = desk.start(SLEEPS)
    desk.ask()
    large = Request('call-2', 'tools/call', LARGE)

    def work() -> None:
        server.ask(large)
        server.cancel(large)

    working = threading.Thread(target=work, daemon=True)
    working.start()
    working.join(10)
    assert not working.is_alive()


def test_a_server_that_sends_much_before_it_reads_does_not_wait_for_its_keeper(desk: Desk) -> None:
    script = """
    elif method == 'tools/call':
        for at in range(500): say({'id': f'{at:01000}', 'method': 'ping'})
        say({'method': 'notifications/message', 'params': {'level': 'info', 'data': 'x' * 1_000_000}})
        answer({'done': True})
    elif method == 'initialize': greet()
"""
    desk.start(script.replace('    elif', '    if', 1), None)
    assert report(desk.ask(), 'answer')['result']['done'] is True


def test_a_server_that_reads_too_little_is_ended(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp_input, '_MOST_UNREAD', 1_000)
    server = desk.start(SLEEPS)
    first = desk.ask()
    server.ask(Request('call-2', 'tools/call', LARGE))
    server.ask(Request('call-3', 'tools/call', {}))
    assert report(first, 'gone')['why'] == 'it does not read what it is sent'


def test_a_request_to_a_server_that_is_about_to_end_can_be_cancelled(desk: Desk) -> None:
    script = """
    elif method == 'tools/call':
        import os, time
        os.close(1)
        time.sleep(600)
"""
    server = desk.start(NEWER + script)
    request = desk.ask()
    while not server._input._pipe.closed:
        assert not request.over
    server.cancel(request)
    assert request.over


@pytest.mark.parametrize('value', ["float('nan')", "[-float('inf')]"])
def test_an_answer_with_a_number_that_json_does_not_have_is_an_error(desk: Desk, value: str) -> None:
    desk.start(NEWER + f"    elif method == 'tools/call': answer({{'content': [], 'structuredContent': {value}}})\n")
    assert report(desk.ask(), 'error')['message'] == 'its answer has NaN or Infinity as a number, which JSON does not have'


@pytest.mark.parametrize(
    ('tasks', 'offers'),
    [({'requests': {'tools': {'call': {}}}}, ['tools', 'tasks']), ({'list': {}}, ['tools']), ({'requests': []}, ['tools'])],
)
def test_a_server_whose_tasks_are_of_other_requests_offers_none_for_calls(tasks: object, offers: list[str]) -> None:
    assert names_of({'tools': {}, 'tasks': tasks}) == offers
