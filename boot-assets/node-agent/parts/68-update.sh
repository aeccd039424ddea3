# Updates of the agent itself. The task update-agent has fetched and checked the new one; 06-finaliser.sh puts it in place.

start_finaliser() {
  [ -s "$state/agent.next" ] || return 0
  log_action=update
  cp "$0" "$state/finaliser" || {
    fault disk "cannot write in $state: the agent is not updated"
    return 0
  }
  set -- /bin/sh "$state/finaliser" finalise "$state" "$0" "$(setting NODE_AGENT_SYSTEMD_UNIT)" "$(parameter wait_seconds)" "$(parameter digest)"
  say "updating the agent to $(parameter digest)"
  # As a unit of its own: what runs in the service of the agent ends with it, and cannot write where the agent is installed.
  if [ -d /run/systemd/system ]; then
    systemd-run --quiet --collect "--setenv=PATH=$PATH" "$@" || fault failed 'systemd cannot start the end of the update'
  else
    setsid "$@" </dev/null >/dev/null 2>&1 &
  fi
}

# After the first heartbeat of a new agent. Its recovery token is replaced, because the previous agent knew the old one.
prove_update() {
  [ "$(cat "$state/update-digest" 2>/dev/null)" = "$agent_sum" ] || return 0
  log_action=update
  printf '%s\n' "$agent_sum" | place "$state/update-proof" 600 || return 0
  rm -f "$state/update-digest"
  say "this agent is new ($agent_sum) and works"
  must_renew=update
}
