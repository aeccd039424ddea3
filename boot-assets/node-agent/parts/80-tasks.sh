# One task from the wait to its result. Sets task_parameters, handler, next_heartbeat.

# begin ID LEASE: asks whether the task may begin. The request may be repeated with the same lease when a reply is lost.
begin() {
  for pause in 1 2 4; do
    as_node "/node/v1/tasks/$1/begin" 20 --data-urlencode "lease=$2"
    case $status in
      200) return 0 ;;
      4??) break ;;
    esac
    run sleep "$pause"
  done
  fault refused "task $1 must not begin ($status): $(reason)"
  refused_as_node
  return 1
}

# refuse_task ID REASON LEASE
refuse_task() {
  fault refused "task $1 refused: $2"
  begin "$1" "$3" || return 0
  printf 'refused by the node: %s\n' "$2" >"$scratch/output-of-task"
  finish "$1" failed <"$scratch/output-of-task"
}

# handle_within SECONDS KIND ID: runs the handler, with heartbeats beside it. Afterwards its output is in a file, and all its
# processes have ended.
handle_within() {
  rm -f "$scratch/late" "$scratch/stop"
  setsid /bin/sh "$0" handle "$2" "$1" "$task_parameters" "$clock_offset" "$scratch/late" \
    9>&2 </dev/null >"$scratch/output-of-task" 2>&1 &
  handler=-$!
  heartbeats_during "$3" &
  child=$!
  wait "${handler#-}"
  handled=$?
  kill -s KILL -- "$handler" 2>/dev/null
  kill -s TERM "$child" 2>/dev/null
  wait "$child" 2>/dev/null
  handler=
  child=
  [ "$stopping" = no ] || exit 0
  # The full heartbeat, which also applies new keys and authorities.
  next_heartbeat=0
  if [ -e "$scratch/stop" ]; then
    printf 'stopped: the appliance cancelled it\n' >>"$scratch/output-of-task"
  elif [ -e "$scratch/late" ]; then
    printf 'ended after %s s, with all its processes: the time limit was exceeded\n' "$1" >>"$scratch/output-of-task"
  else
    return "$handled"
  fi
  return 1
}

do_task() {
  log_action=task
  id=$(field task_id)
  lease=$(field lease)
  limit=$(field limit_seconds)
  case $limit in '' | *[!0-9]*) limit=60 ;; esac
  case $id in '' | *[!0-9a-f-]*)
    say 'refused a task without a valid id'
    return 0
    ;;
  esac
  # The key may be newer than the last heartbeat: the next one fetches it.
  if [ -z "$(pubkey_of "$(field key_id)")" ]; then
    cp "$answer" "$scratch/task" && heartbeat
    cp "$scratch/task" "$answer"
  fi
  if ! is_signed; then
    refuse_task "$id" 'its signature is not that of a key of this site' "$lease"
    return 0
  fi
  kind=$(part 3)
  task_parameters=$(part 5)
  problem=$(problem_of "$id" "$kind")
  if [ -n "$problem" ]; then
    refuse_task "$id" "$problem" "$lease"
    return 0
  fi
  begin "$id" "$lease" || return 1
  say "task $id begins: $kind"
  if ! printf 'begun\n' | place "$state/tasks/$id" 600; then
    printf 'not done: the node cannot write in %s\n' "$state" >"$scratch/output-of-task"
    finish "$id" failed <"$scratch/output-of-task"
    return 0
  fi
  if handle_within "$limit" "$kind" "$id"; then outcome=succeeded; else outcome=failed; fi
  log_action=task
  if [ "$outcome" = failed ]; then fault failed "task $id: $outcome"; else say "task $id: $outcome"; fi
  finish "$id" "$outcome" <"$scratch/output-of-task" || return 1
  case $outcome-$kind in
    succeeded-update-agent) start_finaliser ;;
    succeeded-restart-agent)
      say 'restarting the agent, as the task requires'
      exit 0
      ;;
    succeeded-reboot)
      say 'restarting the machine, as the task requires'
      run sleep "$(parameter delay_seconds)"
      systemctl reboot 2>/dev/null || reboot
      ;;
  esac
}

wait_for_task() {
  log_action='wait'
  wait_seconds=$((next_heartbeat - $(now)))
  [ "$wait_seconds" -gt 0 ] || wait_seconds=1
  [ "$wait_seconds" -le 55 ] || wait_seconds=55
  began=$(now)
  as_node "/node/v1/tasks/wait?timeout=$wait_seconds" $((wait_seconds + 20))
  case $status in
    200) do_task ;;
    # The appliance ended the wait early: the next heartbeat has news.
    204) [ "$(($(now) - began))" -ge "$((wait_seconds - 1))" ] || next_heartbeat=0 ;;
    000) return 1 ;;
    *)
      fault refused "waiting for tasks refused ($status): $(reason)"
      refused_as_node
      return 1
      ;;
  esac
}
