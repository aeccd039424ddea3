# shellcheck shell=sh disable=SC2154
# An SSH login for the keys of the order only, without passwords.

run_rescue() {
  step_started rescue 'starting SSH'
  mkdir -p /root/.ssh /etc/dropbear
  # One key per line, whatever the order's strings contain.
  jq -r '.authorized_keys // [] | .[] | select(test("^[a-z0-9@.-]+ [A-Za-z0-9+/=]+( [^\r\n]*)?$"))' "$ORDER" > /root/.ssh/authorized_keys
  chmod 700 /root /root/.ssh
  chmod 600 /root/.ssh/authorized_keys
  [ -s /root/.ssh/authorized_keys ] || finish_failed rescue 'the order has no valid SSH key'
  for type in ed25519 rsa; do
    dropbearkey -t "$type" -f "/etc/dropbear/dropbear_${type}_host_key" > "$RUN/host-key-$type" 2>&1
  done
  # -s, -g: no passwords. -j, -k: no forwarding.
  dropbear -s -g -j -k -P "$RUN/dropbear.pid" -r /etc/dropbear/dropbear_ed25519_host_key -r /etc/dropbear/dropbear_rsa_host_key >> "$LOG" 2>&1 ||
    finish_failed rescue "the SSH server does not start: $(tail -n 1 "$LOG")"
  fingerprints=$(sed -n 's/^Fingerprint: //p' "$RUN"/host-key-* | tr '\n' ' ')
  step_done rescue "ssh root@$(own_address); host keys: $fingerprints"
  wait_until_rescue_ends
}

# Until its time is up or it is cancelled. Users who are logged in are warned.
wait_until_rescue_ends() {
  minutes=$(order .minutes)
  deadline=$(($(seconds) + ${minutes:-240} * 60))
  while [ "$(seconds)" -lt "$deadline" ]; do
    sleep "${RESCUE_POLL_SECONDS:-20}"
    if cancelled; then break; fi
    case $status in
      401 | 403 | 404 | 410) break ;;
    esac
  done
  echo 'coldiron: the rescue session has ended; this machine restarts in 15 seconds' | tee /dev/pts/[0-9]* > "$CONSOLE" 2> /dev/null
  sleep 15
  case $status in
    401 | 403 | 404 | 410) restart ;;
  esac
  finish_done rescue
}
