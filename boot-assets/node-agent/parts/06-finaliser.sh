# The end of an update, when this file is started as: finalise STATE AGENT UNIT SECONDS DIGEST. It is a copy of the previous agent and runs
# beside the agent's service: it puts STATE/agent.next in place and restarts the agent. If the new agent sends no heartbeat within
# SECONDS, the previous one is restored. STATE/update.log says what happened; the agent sends it to the appliance.
# Sets finalise_state, agent_file, agent_unit, finalise_seconds, finalise_digest.
finalise_say() { printf '%s %s %s\n' "$(date +%s)" "$1" "$2" >>"$finalise_state/update.log"; }
finalise_sum() { sha256sum <"$1" | cut -d ' ' -f 1; }
finalise_restart() {
  if [ -d /run/systemd/system ]; then
    systemctl restart "$agent_unit"
  else
    kill -s TERM "$(cat "$finalise_state/pid")" 2>/dev/null
  fi
}
# finalise_put FILE: replaces the agent at once. A shell that runs the old file keeps it.
finalise_put() {
  cp "$1" "$agent_file.new" && chmod 755 "$agent_file.new" && sync "$agent_file.new" && mv -f "$agent_file.new" "$agent_file"
}
finalise_restore() {
  rm -f "$finalise_state/update-digest"
  if finalise_put "$agent_file.before"; then
    finalise_say failed "$1: the previous agent was restored"
  else
    finalise_say failed "$1, and the previous agent could not be restored"
  fi
  finalise_restart
}
if [ "${1-}" = finalise ]; then
  finalise_state=$2 agent_file=$3 agent_unit=$4 finalise_seconds=$5 finalise_digest=$6
  rm -f "$finalise_state/update-proof"
  if ! cp -p "$agent_file" "$agent_file.before"; then
    finalise_say failed "cannot keep a copy of the agent in ${agent_file%/*}: nothing was replaced"
    exit 1
  fi
  printf '%s\n' "$finalise_digest" >"$finalise_state/update-digest"
  if ! finalise_put "$finalise_state/agent.next" || [ "$(finalise_sum "$agent_file")" != "$finalise_digest" ]; then
    finalise_restore 'the new agent could not be written'
    exit 1
  fi
  finalise_say - "replaced the agent by $finalise_digest"
  finalise_restart
  while [ "$finalise_seconds" -gt 0 ]; do
    if [ "$(cat "$finalise_state/update-proof" 2>/dev/null)" = "$finalise_digest" ]; then
      finalise_say - 'the new agent sent a heartbeat: the update is complete'
      rm -f "$finalise_state/agent.next"
      exit 0
    fi
    sleep 1
    finalise_seconds=$((finalise_seconds - 1))
  done
  finalise_restore "the new agent sent no heartbeat within $5 s"
  exit 1
fi
