#!/bin/sh
# Adds one service of this node to its cluster. Logs JSON lines; does nothing after it has succeeded once.
#
# SERVICE LOCAL_URL (empty: it does not run here) API_PORT RAFT_PORT CONFIG_FILE CA_FILE STATE_FOLDER TIMEOUT_SECONDS
set -eu

marker=$STATE_FOLDER/$SERVICE-joined
answer=$(mktemp)
trap 'rm -f "$answer"' EXIT

log() { jq -cn --arg level "$1" --arg message "$2" '{level: $level, message: $message}'; }

fail() {
  log ERROR "$1"
  exit 1
}

setting() { jq -er --arg name "$1" '.[$name]' "$CONFIG_FILE" || fail "$CONFIG_FILE has no $1" >&2; }

# request URL [curl arguments]: sets $status to the HTTP status, 000 for no reply.
request() {
  url=$1
  shift
  status=$(curl --silent --cacert "$CA_FILE" --max-time 10 --output "$answer" --write-out '%{http_code}' "$@" "$url") || status=000
}

wait_for() {
  deadline=$(($(date +%s) + TIMEOUT_SECONDS))
  until request "$1/health" && [ "$status" = 200 ]; do
    [ "$(date +%s)" -lt "$deadline" ] || fail "Health check timeout after ${TIMEOUT_SECONDS}s: $1"
    sleep "${POLL_SECONDS:-2}"
  done
}

if [ -e "$marker" ]; then
  log INFO "$SERVICE is part of its cluster already"
  exit 0
fi
[ -r "$CONFIG_FILE" ] || fail "Configuration file not found: $CONFIG_FILE"
node_id=$(setting node_id)
raft_addr=$(setting raft_addr)
leader_url=$(setting leader_url)

if [ -n "$LOCAL_URL" ]; then
  log INFO "Waiting for local $SERVICE service..."
  wait_for "$LOCAL_URL"
  log INFO "Local $SERVICE healthy"
fi

if [ "$(jq -r '.bootstrap' "$CONFIG_FILE")" = true ]; then
  log INFO 'Bootstrap node, cluster initialized'
else
  leader=${leader_url%:*}:$API_PORT
  log INFO "Waiting for the leader at $leader"
  wait_for "$leader"
  member=$(jq -cn --arg id "$node_id" --arg raft_addr "${raft_addr%:*}:$RAFT_PORT" '{id: $id, raft_addr: $raft_addr}')
  request "$leader/admin/member/add" --request POST --header 'Content-Type: application/json' --data "$member"
  # 409: an earlier request succeeded, and only its reply was lost.
  case $status in
    2??) log INFO 'Join request accepted' ;;
    409) log INFO 'The leader knows this node already' ;;
    *) fail "Join request failed: the leader answered $status" ;;
  esac
fi

mkdir -p "$STATE_FOLDER"
: >"$marker"
log INFO 'Cluster join complete'
