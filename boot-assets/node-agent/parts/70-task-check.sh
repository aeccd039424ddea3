# Which tasks are accepted: signed by a key of the site, for this node, in time. The signature is verified before anything in
# the payload is read.

# pubkey_of ID: the public key with this id, if it is active, staged or in its grace period.
pubkey_of() {
  printf '%s\n' "$task_keys" | tr ',' '\n' | while IFS=: read -r key_state id public; do
    case $key_state in active | staged | grace) ;; *) continue ;; esac
    [ "$id" = "$1" ] || continue
    printf -- '-----BEGIN PUBLIC KEY-----\n%s\n-----END PUBLIC KEY-----\n' "$public"
  done
}
is_signed() {
  pubkey_of "$(field key_id)" >"$scratch/public"
  [ -s "$scratch/public" ] || return 1
  field payload | tr -d '\n' >"$scratch/payload"
  field signature | openssl base64 -d -A >"$scratch/signature"
  openssl pkeyutl -verify -rawin -pubin -inkey "$scratch/public" -in "$scratch/payload" \
    -sigfile "$scratch/signature" >/dev/null 2>&1
}

# part N: one value of the payload: 1 expires_at, 2 issued_at, 3 kind, 4 node_id, 5 parameters, 6 task_id. The payload must have
# exactly this form; otherwise every value is empty and the task is refused.
time_form='[0-9]\{4\}-[0-9][0-9]-[0-9][0-9]T[0-9][0-9]:[0-9][0-9]:[0-9][0-9]\.[0-9]\{3\}Z'
part() {
  sed -n "s/^{\"expires_at\":\"\($time_form\)\",\"issued_at\":\"\($time_form\)\",\"kind\":\"\([a-z-]*\)\",\"node_id\":\"\([0-9a-f-]*\)\",\"parameters\":{\([A-Za-z0-9_\":,-]*\)},\"task_id\":\"\([0-9a-f-]*\)\"}\$/\\$1/p" "$scratch/payload"
}
digits() { printf '%s' "$1" | tr -cd 0-9 | cut -c 1-14; }
has_passed() {
  corrected=$(($(now) + clock_offset))
  today=$(date -u -d "@$corrected" +%Y%m%d%H%M%S)
  [ "$today" -ge "$(digits "$1")" ]
}

# problem_of ID KIND: why the signed task is not run; empty when it may be.
problem_of() {
  if [ "$(part 6)" != "$1" ]; then
    printf 'it is not the task that was signed'
  elif [ "$(part 4)" != "$node_id" ]; then
    printf 'it is for another node'
  elif has_passed "$(part 1)"; then
    printf 'it has expired'
  elif ! is_on_list "$2"; then
    printf 'this agent knows no task %s' "$2"
  elif ! command -v setsid >/dev/null 2>&1; then
    printf 'setsid is missing on this node'
  elif [ -e "$state/tasks/$1" ]; then
    printf 'it was already run'
  fi
}
