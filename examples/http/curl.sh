#!/usr/bin/env bash
# Starts a conversation over HTTP, allows the calls that wait for a person, prints the turn, and closes the conversation. Needs bash and curl.
set -euo pipefail

url=${LONGSHORE_URL:-http://127.0.0.1:8280}
headers=(-H "Authorization: Bearer ${LONGSHORE_API_KEY:?Set it to a key: longshore keys create}" -H 'Content-Type: application/json')

# post PATH BODY: curl repeats it when there is no answer. The key makes one request of the repetitions, so nothing is done twice.
post() {
  local key
  key=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
  curl -sSf --retry 3 --retry-all-errors "$url$1" "${headers[@]}" -H "Idempotency-Key: $key" -d "$2"
}

# field NAME JSON: the first text of that name.
field() { [[ $2 =~ \"$1\":\"([^\"]*)\" ]] && echo "${BASH_REMATCH[1]}"; }

id=$(field conversationId "$(post /v1/conversations "{\"agent\": \"${AGENT:-fixer}\", \"user\": \"user-42\", \"message\": \"Fix the failing test\"}")")
trap 'post "/v1/conversations/$id/close" "{}" >/dev/null' EXIT

# A stream that is cut goes on behind the last event that has come.
events="$url/v1/conversations/$id/events?types=tool.approval-requested,turn.finished&until=turn.finished"
last=0
ended=
while [ -z "$ended" ]; do
  while IFS= read -r line; do
    case $line in
      'id: '*) seq=${line#id: } ;;
      'data: '*)
        if [ "$(field type "$line")" = turn.finished ]; then
          ended=yes
        else
          # A person decides here. The hash says to which call: one that was changed since is not allowed.
          post "/v1/approvals/$(field callId "$line")" "{\"answer\": \"allow-once\", \"hash\": \"$(field hash "$line")\", \"by\": \"user-42\"}" >/dev/null
          echo "allowed $(field tool "$line")"
        fi
        last=$seq
        ;;
    esac
  done < <(curl -sN "$events" "${headers[@]}" -H 'Accept: text/event-stream' -H "Last-Event-ID: $last")
  [ -n "$ended" ] || sleep 1
done

curl -sSf --retry 3 --retry-all-errors "$url/v1/conversations/$id/turn?wait=30" "${headers[@]}"
echo
