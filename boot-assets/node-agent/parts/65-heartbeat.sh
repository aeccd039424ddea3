# Heartbeats, between tasks and during a task. Sets failures, next_heartbeat, task_keys, reports, must_reconcile, wanted_url.
# An appliance of an earlier version accepts no report of the settings, so they are sent only after it has asked for them.
reports=no
must_reconcile=no
wanted_url=
agent_sum=$(sha256sum <"$0" | cut -d ' ' -f 1)

# send_heartbeat [curl options]
send_heartbeat() {
  uptime_seconds=$(cut -d . -f 1 /proc/uptime 2>/dev/null)
  as_node /node/v1/heartbeat 20 --data-urlencode "agent=$agent_version" \
    --data-urlencode "boot_id=$(cat /proc/sys/kernel/random/boot_id 2>/dev/null)" \
    --data-urlencode "uptime_seconds=${uptime_seconds:-0}" --data-urlencode "clock=$(now)" "$@"
  [ "$status" != 200 ] || return 0
  [ "$status" = 000 ] || fault refused "heartbeat refused ($status): $(reason)"
  return 1
}
trust_sum() { openssl dgst -sha256 -r "$ca_bundle" | cut -d ' ' -f 1; }

heartbeat() {
  log_action=heartbeat
  if [ "$reports" = yes ]; then
    set -- --data-urlencode "api_url=$api_url" --data-urlencode "ca_sha256=$(trust_sum)" --data-urlencode "digest=$agent_sum" \
      --data-urlencode "task_keys=$(key_ids "$(setting TASK_SIGNING_PUBKEYS)")" --data-urlencode "problem=$settings_problem"
  else
    set --
  fi
  send_heartbeat "$@" || {
    refused_as_node
    return 1
  }
  failures=0
  set_heartbeat
  next_heartbeat=$(($(now) + heartbeat_seconds))
  # The report is worth a second heartbeat at once.
  case $(field accepts) in
    *settings*)
      [ "$reports" = yes ] || next_heartbeat=0
      reports=yes
      ;;
    *) reports=no ;;
  esac
  case $(field accepts) in *logs*) takes_log=yes ;; *) takes_log=no ;; esac
  set_clock
  new_keys=$(field task_keys)
  [ -z "$new_keys" ] || task_keys=$new_keys
  trust_hash=$(field ca_sha256)
  must_renew=$(field renew)
  wanted_url=$(field api_url)
  must_reconcile=$(field reconcile)
  prove_update
  if [ -n "$wanted_url" ]; then
    settings_are_proven
    reconcile_settings
  elif [ "$trust_hash" != "$(trust_sum)" ]; then
    as_node /node/v1/ca 20
    if [ "$status" = 200 ] && take_trust; then say "the authorities have changed: $(field ca_fingerprint) signs"; fi
  fi
  case $must_renew in
    yes) renew 'another authority signs now: renewing' ;;
    update) renew 'the agent is new: renewing, with a new recovery token' ;;
  esac
  return 0
}

heartbeat_if_due() { [ "$(now)" -lt "$next_heartbeat" ] || heartbeat; }

# heartbeats_during TASK-ID: runs as a background process beside the handler, so its variables and files are its own. When
# the appliance has cancelled the task, it creates the file `stop` and ends the handler.
heartbeats_during() {
  stop_file=$scratch/stop
  scratch=$scratch/during
  answer=$scratch/answer
  mkdir -p "$scratch" || exit 1
  # The log has one writer.
  log_file=
  trap - EXIT INT
  trap '[ -z "$child" ] || kill -s TERM "$child" 2>/dev/null; exit 0' TERM
  pause=$((next_heartbeat - $(now)))
  [ "$pause" -gt 0 ] || pause=1
  while :; do
    run sleep "$pause"
    pause=$heartbeat_seconds
    send_heartbeat --data-urlencode "task=$1" || continue
    [ "$(field task)" = stop ] || continue
    : >"$stop_file"
    kill -s TERM -- "$handler" 2>/dev/null
    run sleep 5
    kill -s KILL -- "$handler" 2>/dev/null
    exit 0
  done
}
