# Runs one handler and exits, when this file is started as: handle KIND SECONDS PARAMETERS CLOCK-OFFSET LATE-FILE.
# handle_within starts it as the leader of a session. After SECONDS it creates LATE-FILE and ends the session with everything
# in it. Sets task_parameters, clock_offset.
if [ "${1-}" = handle ]; then
  task_parameters=$4
  clock_offset=$5
  trap 'exit 143' TERM
  (
    trap '' TERM
    sleep "$3"
    : >"$6"
    kill -s TERM 0
    sleep 5
    kill -s KILL 0
  ) >/dev/null 2>&1 &
  handle "$2"
  exit
fi
