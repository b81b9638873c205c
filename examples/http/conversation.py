"""Starts a conversation over HTTP, allows the calls that wait for a person, prints the reply, and closes the conversation. Needs only Python 3.9."""

import json
import os
import time
import uuid
from http.client import HTTPException
from urllib.error import HTTPError
from urllib.request import Request, urlopen

URL = os.environ.get("LONGSHORE_URL", "http://127.0.0.1:8280")
HEADERS = {"Authorization": "Bearer " + os.environ.get("LONGSHORE_API_KEY", ""), "Content-Type": "application/json"}
AGENT = os.environ.get("AGENT", "fixer")
PAUSE_S = 1
# More than the 15 seconds after which a silent stream sends a comment.
SILENT_S = 60


class Refused(Exception):
    pass


def request(path, body=None):
    """Sends a request until there is an answer. The key makes one request of its repetitions, so nothing is done twice."""
    headers = {**HEADERS, "Idempotency-Key": str(uuid.uuid4())} if body is not None else HEADERS
    data = None if body is None else json.dumps(body).encode()
    while True:
        try:
            with urlopen(Request(URL + path, data=data, headers=headers), timeout=90) as answer:
                return json.load(answer)
        except HTTPError as error:
            if error.code < 500:
                problem = json.load(error)
                if not problem["retryable"]:
                    raise Refused(problem["detail"]) from None
        except (OSError, HTTPException):
            pass
        time.sleep(PAUSE_S)


def events(conversation_id):
    """The events up to the end of the turn. After a cut, the stream goes on behind the last event that has come."""
    last = 0
    while True:
        try:
            headers = {**HEADERS, "Accept": "text/event-stream", "Last-Event-ID": str(last)}
            path = f"/v1/conversations/{conversation_id}/events?until=turn.finished"
            with urlopen(Request(URL + path, headers=headers), timeout=SILENT_S) as answer:
                if answer.status == 204:
                    return
                for event in events_in(answer):
                    last = event["seq"]
                    yield event
                    if event["type"] == "turn.finished":
                        return
        except HTTPError as error:
            if error.code < 500:
                raise Refused(error.read().decode()) from None
        except (OSError, HTTPException):
            pass
        time.sleep(PAUSE_S)


def events_in(lines):
    """The events of a stream. An empty line ends each; what a cut leaves half is left out, and comes again."""
    data = None
    for line in lines:
        if line == b"\n" and data is not None:
            yield json.loads(data)
            data = None
        elif line.startswith(b"data: "):
            data = line[len(b"data: ") :]


start = {"agent": AGENT, "user": "user-42", "message": "Fix the failing test"}
conversation = request("/v1/conversations", start)["conversationId"]
try:
    for event in events(conversation):
        if event["type"] == "tool.approval-requested":
            # A person decides here. The hash says to which call: one that was changed since is not allowed.
            call = event["data"]
            request("/v1/approvals/" + call["callId"], {"answer": "allow-once", "hash": call["hash"], "by": "user-42"})
            print("allowed " + call["tool"], flush=True)
    print(request(f"/v1/conversations/{conversation}/turn?wait=30")["turn"]["reply"])
finally:
    request(f"/v1/conversations/{conversation}/close", {})
