# shellcheck shell=sh disable=SC2154
# The protocol with the appliance, see docs/service-os.md. The session key is in a file that only root can read, and curl reads it from
# there: it is in no argument, URL or log.

KEY=$RUN/authorization
ORDER=$RUN/order.json
ANSWER=$RUN/answer
# The authorities of the appliance that serves this system, which adds them to its initrd. With this file, only an appliance that
# has a certificate of one of them is told anything.
AUTHORITY=${AUTHORITY:-/service-os/authority.pem}
# How long a report is retried before the machine gives up: the appliance may be restarted or upgraded meanwhile.
DELIVERY_SECONDS=${DELIVERY_SECONDS:-900}

# request METHOD URL [FILE]: sets $status to the HTTP status, or 000, and $content_type; leaves the body in $ANSWER.
request() {
  set -- "$1" "$2" "${3:-}"
  seal_error='' curl_code=0
  answered=$(
    curl --silent --show-error --connect-timeout 5 --max-time 60 --request "$1" \
      ${verified:+--proto =https --cacert "$AUTHORITY" --capath "$RUN/no-other-authorities"} \
      --header "@$KEY" ${3:+--header 'Content-Type: application/json' --data-binary "@$3"} \
      --output "$ANSWER" --write-out '%{http_code} %{content_type}' "$2" 2> "$RUN/curl-says"
  ) || curl_code=$?
  status=${answered%% *} content_type=${answered#* }
  [ "$curl_code" = 0 ] || status=000
}

# The reason why the last request failed, for people.
request_error() {
  if [ -n "$seal_error" ]; then
    printf '%s\n' "$seal_error"
  elif [ "$status" = 000 ]; then
    # 60: the certificate of the server does not verify.
    [ "$curl_code" != 60 ] || printf 'it is not the appliance that this system trusts: '
    sed 's/^curl: ([0-9]*) //' "$RUN/curl-says" | head -n 1
  else
    printf '%s %s\n' "$status" "$(jq -r '.message // empty' "$ANSWER" 2> /dev/null | head -c 300)"
  fi
}

# server_of URL: scheme, address and port, without a path that may hold a ticket.
server_of() {
  printf '%s\n' "$1" | sed 's|^\([a-z]*://[^/]*\).*|\1|'
}

# What to do when no reply arrives from this URL.
reach_remedy() {
  reach_server=$(server_of "$1") reach_server=${reach_server#*://}
  case $reach_server in *:*) ;; *) reach_server=$reach_server:80 ;; esac
  reach_from=$(own_address 2> /dev/null) || reach_from=''
  printf '%s\n' "check that TCP port ${reach_server##*:} of ${reach_server%:*} is reachable${reach_from:+ from $reach_from} (VLAN, firewall, MTU); on the appliance, run: coldiron diagnose ${node:-NODE}"
}

# Before anything is sent: nothing is said to a server that cannot prove that it is the appliance.
check_transport() {
  verified=''
  case $session in
    https://*)
      [ -e "$AUTHORITY" ] || give_up "the session is encrypted, and this system has no authority to verify the appliance with: $AUTHORITY does not exist" \
        'on the appliance, run: coldiron assets verify, then coldiron assets build'
      verified=yes
      say "appliance: ${session%/boot/session/*} must prove its identity with a certificate"
      ;;
    http://*)
      [ ! -e "$AUTHORITY" ] || give_up "coldiron.session is not an https URL, and this system talks only to an appliance that proves its identity: ${session%/boot/session/*}"
      say "appliance: ${session%/boot/session/*} is not verified, and the session is not encrypted"
      ;;
    *) give_up "coldiron.session is not a URL: $session" ;;
  esac
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
    [ "$tries" = 1 ] && say "the appliance does not reply at $(server_of "$2"): $(request_error); retrying"
    case $tries in 3 | 20) say "to do: $(reach_remedy "$2")" ;; esac
    sleep "$(backoff "$tries")"
  done
}

open_session() {
  : > "$KEY"
  rm -f "$SECRET"
  check_transport
  introduction > "$RUN/introduction.json"
  tries=0
  until deliver POST "$session" "$RUN/introduction.json"; do
    [ "$status" = 000 ] || give_up "the appliance refused the session: $(request_error)"
    say "still no reply from ${session%/boot/session/*}: $(request_error)"
  done
  take_session_key
  jq '.order' "$ANSWER" > "$ORDER"
  node=$(jq -r '.node // empty' "$ANSWER")
  mode=$(jq -r '.mode // .order.mode // empty' "$ANSWER")
  rm -f "$ANSWER" "$MEDIUM/secret"
  # The ticket is consumed; the remaining API is beside its path.
  api=${session%/*}
  echo 0 > "$RUN/sequence"
  say "session open: ${node:-this machine} is to $mode"
}

# The session key: made from a secret that only this machine can have, or contained in the answer.
take_session_key() {
  case $(jq -r 'if .credential then "tpm" elif .session then "session" else .identity // empty end' "$ANSWER") in
    tpm)
      open_credential "$ANSWER" || give_up "the TPM did not open the session: $(line_of "$TPM/reason")"
      take_secret "$TPM/secret" || give_up 'the TPM opened a session secret of a wrong length'
      say "identity: the TPM of this machine opened the session"
      ;;
    media)
      [ -s "$MEDIUM/secret" ] || give_up 'the appliance expects the secret of a medium, and this machine has none'
      take_secret "$MEDIUM/secret" || give_up 'the secret of the medium has a wrong length'
      say 'identity: the medium that the BMC inserted opened the session'
      ;;
    session)
      jq -r '"Authorization: Bearer \(.session)"' "$ANSWER" > "$KEY"
      say "identity: $(jq -r '.identity // "asserted"' "$ANSWER")"
      ;;
    *) give_up 'the answer of the appliance contains no session key' ;;
  esac
}

# The nonce is the same for every attempt: with it, a lost reply is sent again, to this machine only.
introduction() {
  collect_tpm
  collect_medium
  head -c 32 /dev/urandom | sha256sum | cut -d ' ' -f 1 | tr -d '\n' > "$RUN/nonce"
  jq -n --rawfile nonce "$RUN/nonce" --arg mac "$(line_of "$SYS/class/net/$card/address")" --arg uuid "$(system_uuid)" \
    --arg serial "$(line_of "$SYS/class/dmi/id/product_serial")" --arg architecture "$(machine_architecture)" \
    --arg firmware "$(firmware_kind)" --argjson secure_boot "$(secure_boot)" --arg macs "$(permanent_addresses)" \
    --slurpfile tpm "$TPM/report.json" --slurpfile tpm_error "$TPM/error.json" --slurpfile media "$MEDIUM/hash.json" '
    def given: if . == "" then null else . end;
    { $mac, uuid: ($uuid | given), serial: ($serial | given), $architecture, $firmware, $secure_boot, $nonce,
      macs: ($macs | split("\n")), tpm: $tpm[0], tpm_error: $tpm_error[0], media: $media[0] }'
}

# Each report has its own number, so that a duplicate does no harm.
next_sequence() {
  sequence=$(($(cat "$RUN/sequence") + 1))
  echo "$sequence" > "$RUN/sequence"
}

# write_step STEP STATUS PERCENT MESSAGE [BYTES]: writes the report to a file. With BYTES the appliance sees whether the step moves.
write_step() {
  next_sequence
  tail -n 20 "$LOG" | tail -c 2000 > "$RUN/log-tail"
  jq -n --argjson sequence "$sequence" --arg step "$1" --arg status "$2" --arg percent "$3" --arg message "$4" \
    --arg bytes "${5:-}" --rawfile log "$RUN/log-tail" \
    'def number: if . == "" then null else tonumber end;
    {$sequence, $step, $status, percent: ($percent | number), $message, bytes: ($bytes | number), $log}' \
    > "$RUN/step-$sequence.json"
}

# The work continues only after the appliance has received the report.
report_step() {
  write_step "$@"
  deliver_step "$1"
}

# deliver_step STEP: the report that was written last.
deliver_step() {
  deliver POST "$api/steps" "$RUN/step-$sequence.json"
  case $? in
    1) refused "$1" ;;
    2) give_up "the appliance has not replied at $(server_of "$api") for $DELIVERY_SECONDS seconds: $(request_error)" "$(reach_remedy "$api")" ;;
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

# step_progress STEP PERCENT MESSAGE [BYTES]. May be lost: the next report supersedes it.
step_progress() {
  write_step "$1" progress "$2" "$3" "${4:-}"
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
  # The disks that were erased, one in each line.
  [ -e "$RUN/erased" ] || : > "$RUN/erased"
  jq -n --argjson ok "$1" --arg step "$2" --arg reason "$3" \
    --slurpfile erased "$RUN/erased" \
    '{$ok, $step, reason: (if $reason == "" then null else $reason end)} + (if $erased == [] then {} else {$erased} end)' > "$RUN/outcome.json"
  deliver POST "$api/outcome" "$RUN/outcome.json" || give_up "the outcome could not be reported to $(server_of "$api"): $(request_error)" "$(reach_remedy "$api")"
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
  case $content_type in
    "$SEALED_TYPE"*) open_sealed "$1" "$ANSWER" || { rm -f "$ANSWER" && return 1; } ;;
  esac
  mv "$ANSWER" "$2"
}
