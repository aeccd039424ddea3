# The log of the agent: lines that wait to be sent to the appliance, with a limit. Each line is: NUMBER SECONDS ACTION CLASS WORDS.
# Sets log_file, log_number, log_stream, takes_log, next_ship.
log_file=$state/log
takes_log=no
next_ship=0
log_limit=131072

# The number goes on after a restart; without it, a new stream begins.
log_stream=$(cat "$state/log-stream" 2>/dev/null)
log_number=$({ cat "$state/log-number" && sed -n 's/^\([0-9]*\) .*/\1/p' "$log_file"; } 2>/dev/null | tail -n 1)
case $log_number in '' | *[!0-9]*) log_number=0 log_stream= ;; esac
if [ -z "$log_stream" ]; then
  log_stream=$(od -An -N8 -tx1 /dev/urandom | tr -d ' \n')
  { printf '%s\n' "$log_stream" >"$state/log-stream" && printf '0\n' >"$state/log-number"; } 2>/dev/null
fi

spool() {
  log_number=$((log_number + 1))
  printf '%s %s %s %s %s\n' "$log_number" "$(now)" "$log_action" "$log_class" \
    "$(printf '%s' "$1" | tr -cd '[:print:]' | cut -c 1-400)" 2>/dev/null >>"$log_file"
}

# The oldest lines of a log that cannot be sent are dropped.
limit_log() {
  [ -s "$log_file" ] || return 0
  [ "$(wc -c <"$log_file")" -gt "$log_limit" ] || return 0
  tail -c "$((log_limit / 2))" "$log_file" | sed 1d >"$log_file.new" 2>/dev/null && mv -f "$log_file.new" "$log_file"
  fault disk 'the log was too long: its oldest lines are lost'
}

# What the end of an update wrote: SECONDS CLASS WORDS.
take_update_log() {
  [ -s "$state/update.log" ] || return 0
  mv -f "$state/update.log" "$state/update.log.last" || return 0
  log_action=update
  while read -r _ class words; do
    if [ "$class" = - ]; then say "update: $words"; else fault "$class" "update: $words"; fi
  done <"$state/update.log.last"
}

# Never an error: the log waits for the next time, and an appliance of another version may not want it.
ship_log() {
  take_update_log
  limit_log
  if [ "$takes_log" = no ] || [ ! -s "$log_file" ] || [ "$(now)" -lt "$next_ship" ]; then return 0; fi
  next_ship=$(($(now) + heartbeat_seconds))
  head -n 200 "$log_file" >"$scratch/log-lines"
  as_node /node/v1/logs 20 --data-urlencode "stream=$log_stream" --data-urlencode "lines@$scratch/log-lines"
  # Lines that are refused now would be refused again.
  case $status in 200 | 400 | 413) ;; *) return 0 ;; esac
  sent=$(wc -l <"$scratch/log-lines")
  tail -n 1 "$scratch/log-lines" | cut -d ' ' -f 1 | place "$state/log-number" 600
  sed "1,${sent}d" "$log_file" >"$log_file.new" && mv -f "$log_file.new" "$log_file"
  [ ! -s "$log_file" ] || next_ship=0
}
