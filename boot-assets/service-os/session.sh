# shellcheck shell=sh disable=SC2154
# The protocol with the appliance. The session key is in a file that only root can read, and curl reads it from there: it is
# in no argument, URL or log.

KEY=$RUN/authorization
ORDER=$RUN/order.json
ANSWER=$RUN/answer
# How long a report is retried before the machine gives up: the appliance may be restarted or upgraded meanwhile.
DELIVERY_SECONDS=${DELIVERY_SECONDS:-900}

# request METHOD URL [FILE]: sets $status to the HTTP status, or 000, and leaves the body in $ANSWER.
request() {
  set -- "$1" "$2" "${3:-}"
  status=$(
    curl --silent --show-error --connect-timeout 5 --max-time 60 --request "$1" \
      --header "@$KEY" ${3:+--header 'Content-Type: application/json' --data-binary "@$3"} \
      --output "$ANSWER" --write-out '%{http_code}' "$2" 2> "$RUN/curl-says"
  ) || status=${status:-000}
}

# The reason why the last request failed, for people.
request_error() {
  if [ "$status" = 000 ]; then
    sed 's/^curl: ([0-9]*) //' "$RUN/curl-says" | head -n 1
  else
    printf '%s %s\n' "$status" "$(jq -r '.message // empty' "$ANSWER" 2> /dev/null | head -c 300)"
  fi
}

# Retries while no reply arrives or the error is temporary. Returns 1 when the request is rejected, 2 on timeout.
deliver() {
  tries=0
  deadline=$(($(seconds) + DELIVERY_SECONDS))
  while :; do
    request "$@"
    case $status in
      2??) return 0 ;;
      000 | 408 | 425 | 429 | 5??) ;;
      *) return 1 ;;
    esac
    tries=$((tries + 1))
    [ "$(seconds)" -lt "$deadline" ] || return 2
    [ "$tries" = 1 ] && say "the appliance does not reply: $(request_error); retrying"
    sleep "$(backoff "$tries")"
  done
}

# Uptime, because the clock can be set.
seconds() {
  cut -d . -f 1 /proc/uptime
}

open_session() {
  : > "$KEY"
  introduction > "$RUN/introduction.json"
  tries=0
  until deliver POST "$session" "$RUN/introduction.json"; do
    [ "$status" = 000 ] || give_up "the appliance refused the session: $(request_error)"
    say "still no reply from ${session%/boot/session/*}: $(request_error)"
  done
  jq -r '"Authorization: Bearer \(.session)"' "$ANSWER" > "$KEY"
  jq '.order' "$ANSWER" > "$ORDER"
  node=$(jq -r '.node // empty' "$ANSWER")
  mode=$(jq -r '.mode // .order.mode // empty' "$ANSWER")
  rm -f "$ANSWER"
  # The ticket is consumed; the remaining API is beside its path.
  api=${session%/*}
  echo 0 > "$RUN/sequence"
  say "session open: ${node:-this machine} is to $mode"
}

# The nonce is the same for every attempt: with it, a lost reply is sent again, to this machine only.
introduction() {
  head -c 32 /dev/urandom | sha256sum | cut -d ' ' -f 1 | tr -d '\n' > "$RUN/nonce"
  jq -n --rawfile nonce "$RUN/nonce" --arg mac "$(line_of "$SYS/class/net/$card/address")" --arg uuid "$(system_uuid)" \
    --arg serial "$(line_of "$SYS/class/dmi/id/product_serial")" --arg architecture "$(machine_architecture)" \
    --arg firmware "$(firmware_kind)" --argjson secure_boot "$(secure_boot)" \
    '{$mac, $uuid, $serial, $architecture, $firmware, $secure_boot, $nonce} | .uuid |= (if . == "" then null else . end) | .serial |= (if . == "" then null else . end)'
}

# Each report has its own number, so that a duplicate does no harm.
next_sequence() {
  sequence=$(($(cat "$RUN/sequence") + 1))
  echo "$sequence" > "$RUN/sequence"
}

# write_step STEP STATUS PERCENT MESSAGE: writes the report to a file.
write_step() {
  next_sequence
  tail -n 20 "$LOG" | tail -c 2000 > "$RUN/log-tail"
  jq -n --argjson sequence "$sequence" --arg step "$1" --arg status "$2" --arg percent "$3" --arg message "$4" \
    --rawfile log "$RUN/log-tail" \
    '{$sequence, $step, $status, percent: (if $percent == "" then null else ($percent | tonumber) end), $message, $log}' \
    > "$RUN/step-$sequence.json"
}

# The work continues only after the appliance has received the report.
report_step() {
  write_step "$@"
  deliver POST "$api/steps" "$RUN/step-$sequence.json"
  case $? in
    1) refused "$1" ;;
    2) give_up "the appliance has not replied for $DELIVERY_SECONDS seconds: $(request_error)" ;;
  esac
  rm -f "$RUN/step-$sequence.json"
}

# A report was rejected: the session has ended, or the appliance does not understand the report.
refused() {
  case $status in
    401 | 403 | 404 | 410) give_up "the session has ended ($(request_error)); stopped at $1" ;;
    *) say "the appliance rejected the report on $1: $(request_error)" ;;
  esac
}

step_started() {
  say "$1: $2"
  report_step "$1" started '' "$2"
}

# May be lost: the next report supersedes it.
step_progress() {
  write_step "$1" progress "$2" "$3"
  request POST "$api/steps" "$RUN/step-$sequence.json"
  rm -f "$RUN/step-$sequence.json"
}

step_done() {
  say "$1: done: $2"
  report_step "$1" 'done' 100 "$2"
}

send_facts() {
  next_sequence
  jq --argjson sequence "$sequence" '{$sequence} + .' "$1" > "$RUN/facts-to-send.json"
  deliver PUT "$api/facts" "$RUN/facts-to-send.json" || say "the appliance rejected the facts: $(request_error)"
}

# A failed step ends the work: it is reported as a step, as the outcome, and on the screen.
finish_failed() {
  say "$1: FAILED: $2"
  report_step "$1" failed '' "$2"
  send_outcome false "$1" "$2"
}

finish_done() {
  send_outcome true "$1" ''
}

send_outcome() {
  jq -n --argjson ok "$1" --arg step "$2" --arg reason "$3" \
    '{$ok, $step, reason: (if $reason == "" then null else $reason end)}' > "$RUN/outcome.json"
  deliver POST "$api/outcome" "$RUN/outcome.json" || give_up "the outcome could not be reported: $(request_error)"
  case $(jq -r '.next // "wait"' "$ANSWER") in
    reboot) restart ;;
    power-off) switch_off ;;
    *) wait_for_operator "$3" ;;
  esac
}

wait_for_operator() {
  give_up "${1:-all is done}; the appliance wants this machine to wait"
}

# True when the work was cancelled. No reply from the appliance means not cancelled.
cancelled() {
  request GET "$api/order"
  [ "$status" = 200 ] && [ "$(jq -r '.cancelled // false' "$ANSWER")" = true ]
}

stop_if_cancelled() {
  if cancelled; then finish_failed "$1" 'the work was cancelled'; fi
}

order() {
  jq -r "$1 // empty" "$ORDER"
}

# fetch_file NAME TARGET: fetches a file of the order; a secret one can be fetched once.
fetch_file() {
  deliver GET "$api/files/$1" || return 1
  mv "$ANSWER" "$2"
}
