from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest
from test.sandbox.supervisor.guest.conftest import NEWER, report

from mcp_newer import StartAgain
from mcp_request import Request

if TYPE_CHECKING:
    from test.sandbox.supervisor.guest.conftest import Desk

FORM = {'method': 'elicitation/create', 'params': {'message': 'Where?', 'requestedSchema': {'type': 'object', 'properties': {}}}}
ASKS = (
    NEWER
    + f"""
    elif method == 'tools/call' and 'inputResponses' not in params: answer({{'inputRequests': {{'where': {FORM!r}}}, 'requestState': 'held'}}, 'input_required')
    elif method == 'tools/call': answer({{'told': params, 'id': sent['id']}})
"""
)


def test_a_server_of_the_newer_revision_is_told_of_its_client_with_each_request(desk: Desk) -> None:
    server = desk.start(NEWER + "    elif method == 'tools/call': answer({'meta': meta})\n")
    assert (server.about, server.offers) == ({'name': 'newer'}, ['tools', 'resources', 'subscriptions'])
    meta = report(desk.ask(), 'answer')['result']['meta']
    assert meta['io.modelcontextprotocol/protocolVersion'] == '2026-07-28'
    assert meta['io.modelcontextprotocol/clientCapabilities'] == {'elicitation': {'form': {}, 'url': {}}, 'roots': {}}


@pytest.mark.parametrize(
    'answer',
    [
        "refuse(-32601, 'unknown')",
        "refuse(-32022, 'unsupported', {'supported': ['2025-11-25'], 'requested': '2026-07-28'})",
        "answer({'supportedVersions': ['2027-01-01'], 'capabilities': {}})",
        'pass',
    ],
)
def test_a_server_that_does_not_speak_it_is_greeted(desk: Desk, answer: str) -> None:
    server = desk.start(f"    if method == 'server/discover': {answer}\n    elif method == 'initialize': greet()\n")
    assert server.about == {'name': 'older'}


# It says what it speaks when it has been greeted already.
SLOW = """
    if method == 'server/discover': late = sent
    elif method == 'initialize':
        greeting, sent = sent, late
        discover()
        sent = greeting
"""


def test_a_server_that_is_slow_to_start_is_talked_to_in_the_newer_revision(desk: Desk) -> None:
    server = desk.start(SLOW + "        refuse(-32601, 'unknown')\n", probe=0.01)
    assert server.about == {'name': 'newer'}


def test_one_that_speaks_both_and_is_slow_to_start_is_started_again_and_waited_for(desk: Desk) -> None:
    with pytest.raises(StartAgain) as again:
        desk.start(SLOW + '        greet()\n', probe=0.01)
    assert desk.start(NEWER + "    elif method == 'initialize': greet()\n", probe=again.value.probe).about == {'name': 'newer'}


def test_a_server_that_ends_when_it_is_asked_what_it_speaks_is_started_without_that(desk: Desk) -> None:
    script = "    if method == 'server/discover': sys.exit(1)\n    elif method == 'initialize': greet()\n"
    with pytest.raises(StartAgain) as again:
        desk.start(script)
    assert desk.start(script, probe=again.value.probe).about == {'name': 'older'}


def test_a_server_that_speaks_later_revisions_alone_says_so(desk: Desk) -> None:
    with pytest.raises(RuntimeError, match='it speaks only later revisions of the protocol: 2027-01-01'):
        desk.start("    refuse(-32022, 'unsupported', {'supported': ['2027-01-01'], 'requested': '2026-07-28'})\n")


def test_a_request_that_ends_with_a_question_is_sent_again_with_the_answer(desk: Desk) -> None:
    server = desk.start(ASKS)
    request = desk.ask(params={'name': 'book'})
    asked = report(request, 'ask')
    assert (asked['method'], asked['params']) == ('elicitation/create', FORM['params'])
    server.answer(request, asked['number'], {'ok': {'action': 'decline'}})
    result = report(request, 'answer')['result']
    assert result['id'] == 'call-1#1'
    told = {name: result['told'][name] for name in ('name', 'inputResponses', 'requestState')}
    assert told == {'name': 'book', 'inputResponses': {'where': {'action': 'decline'}}, 'requestState': 'held'}


def test_an_answer_that_is_refused_ends_the_request(desk: Desk) -> None:
    server = desk.start(ASKS)
    request = desk.ask()
    server.answer(request, report(request, 'ask')['number'], {'error': {'code': 'TOO_MANY', 'message': 'it asks too often'}})
    assert report(request, 'error')['message'] == 'it asks for something during this call and does not get it: it asks too often'


def test_a_request_that_was_cancelled_between_its_rounds_is_not_sent_again(desk: Desk) -> None:
    server = desk.start(ASKS)
    request = desk.ask()
    number = report(request, 'ask')['number']
    server.cancel(request)
    server.answer(request, number, {'ok': {'action': 'accept'}})
    desk.again(request)
    assert request.lines.empty()


def test_the_next_process_of_a_server_gets_the_request_with_the_answer(desk: Desk) -> None:
    server = desk.start(ASKS)
    request = desk.ask()
    number = report(request, 'ask')['number']
    server.stop('killed')
    assert server.ended.wait(10)
    desk.start(ASKS)
    server.answer(request, number, {'ok': {'action': 'accept'}})
    assert report(request, 'answer')['result']['told']['requestState'] == 'held'


def test_a_server_that_has_asked_and_speaks_the_older_revision_now_does_not_get_the_request(desk: Desk) -> None:
    server = desk.start(ASKS)
    request = desk.ask()
    number = report(request, 'ask')['number']
    desk.start("    if method == 'initialize': greet()\n", probe=None)
    server.answer(request, number, {'ok': {'action': 'accept'}})
    assert report(request, 'gone')['why'] == 'it does not speak the revision of the protocol any more in which it has asked for input'


@pytest.mark.parametrize(
    ('asks', 'why'),
    [
        ("{'a': {'method': 'sampling/createMessage', 'params': {}}}", 'sampling/createMessage is not offered to it'),
        ('{str(at): {} for at in range(21)}', 'it asks for something that is no list of 20 requests at most'),
        ('[]', 'it asks for something that is no list of 20 requests at most'),
        ("{'a': {'method': 'elicitation/create', 'params': {'message': 'x' * 300_000}}}", 'what it asks is too large, or not an object'),
    ],
)
def test_a_server_may_not_ask_for_everything(desk: Desk, asks: str, why: str) -> None:
    desk.start(NEWER + f"    elif method == 'tools/call': answer({{'inputRequests': {asks}}}, 'input_required')\n")
    assert report(desk.ask(), 'error')['message'] == f'it asks for something during this call and does not get it: {why}'


def test_its_roots_are_told_without_a_person(desk: Desk) -> None:
    script = """
    elif 'inputResponses' not in params: answer({'inputRequests': {'roots': {'method': 'roots/list'}}}, 'input_required')
    else: answer({'told': params['inputResponses']})
"""
    desk.start(NEWER + script)
    roots = report(desk.ask(asks=False), 'answer')['result']['told']['roots']['roots']
    assert roots[0]['name'] == 'home of the sandbox'


@pytest.mark.parametrize(('taken', 'kind'), [(['tide:now'], 'answer'), ([], 'error')])
def test_a_subscription_is_a_stream_of_changes(desk: Desk, taken: list[str], kind: str) -> None:
    script = f"""
    elif method == 'subscriptions/listen':
        meta = {{PREFIX + 'subscriptionId': sent['id']}}
        say({{'method': 'notifications/subscriptions/acknowledged', 'params': {{'_meta': meta, 'notifications': {{'resourceSubscriptions': {taken!r}}}}}}})
"""
    desk.start(NEWER + script)
    report(desk.ask('resources/subscribe', {'uri': 'tide:now'}), kind)


STREAMS = """
    elif method == 'subscriptions/listen':
        wanted = params['notifications'].get('resourceSubscriptions', [])
        if any(uri.startswith('bad:') for uri in wanted): refuse(-32602, 'no such resource')
        else: say({'method': 'notifications/subscriptions/acknowledged',
                   'params': {'_meta': {PREFIX + 'subscriptionId': sent['id']}, 'notifications': params['notifications']}})
    elif method == 'tools/call': answer({'wanted': wanted})
"""


def test_a_resource_that_is_refused_takes_no_others_with_it(desk: Desk) -> None:
    server = desk.start(NEWER + STREAMS)
    report(desk.ask('resources/subscribe', {'uri': 'tide:now'}), 'answer')
    assert report(desk.ask('resources/subscribe', {'uri': 'bad:1'}), 'error')['message'] == 'no such resource'
    uris = ['bad:2', 'tide:then', 'bad:3']
    asked = [Request(f'call-{uri}', 'resources/subscribe', {'uri': uri}) for uri in uris]
    with server._input._lock:
        waiting = [threading.Thread(target=server.ask, args=[request]) for request in asked]
        for thread in waiting:
            thread.start()
    for request, kind in zip(asked, ('error', 'answer', 'error')):
        report(request, kind)
    assert report(desk.ask(), 'answer')['result']['wanted'] == ['tide:now', 'tide:then']
