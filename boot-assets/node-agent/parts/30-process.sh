# The folders and the signals of the agent itself.
# Sets state, scratch, answer, console, heartbeat_seconds, next_heartbeat, clock_offset, failures, child, handler, stopping.
state=${STATE_DIRECTORY:-/var/lib/coldiron}
state=${state%%:*}/node-agent
mkdir -p "$state/tasks" || die "cannot make $state: is the disk full or read-only?"
chmod 700 "$state"
scratch=$(mktemp -d) || die 'cannot make a folder for scratch files'
answer=$scratch/answer
console=${AGENT_CONSOLE:-/dev/console}
heartbeat_seconds=30
next_heartbeat=0
clock_offset=0
failures=0
child=
handler=
stopping=no

# shellcheck disable=SC2317 # The traps call it.
end_children() {
  for process in $child $handler; do kill -s TERM -- "$process" 2>/dev/null; done
}
trap 'end_children; rm -rf "$scratch"' EXIT
trap 'stopping=yes; end_children' TERM INT

# Runs a command and waits for it in a way that a signal can interrupt.
run() {
  [ "$stopping" = no ] || exit 0
  "$@" &
  child=$!
  wait "$child"
  run_status=$?
  child=
  [ "$stopping" = no ] || exit 0
  return "$run_status"
}
