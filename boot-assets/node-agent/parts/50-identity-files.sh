# The key, the certificate, the token and the trusted authorities on disk.
# Sets next_key, renew_at, task_keys, clock_offset, heartbeat_seconds.

# The token is read each time, because an operator may have installed a new bundle.
token() { sed -n "s/^${prefix}ENROLLMENT_TOKEN=//p" "$env_file" | sed "s/^['\"]//; s/['\"]\$//" | tail -n 1; }
keep_token() {
  { grep -v "^${prefix}ENROLLMENT_TOKEN=" "$env_file" && printf '%sENROLLMENT_TOKEN="%s"\n' "$prefix" "$1"; } |
    place "$env_file" 600
}

# The key is on disk before it is certified, and is kept until then. A second request with the same key gets the lost reply
# again.
next_key=$key.next
make_request() {
  if ! openssl pkey -in "$next_key" -noout 2>/dev/null; then
    openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 2>/dev/null | place "$next_key" 600 || return 1
  fi
  openssl req -new -key "$next_key" -subj "/CN=$node_id" -out "$scratch/request" 2>/dev/null
}

# Writes the new identity in an order that leaves a complete one after an interruption at any point: first the certificate
# beside its key, then the token, then both replace the old ones.
take_identity() {
  decoded certificate | place "$cert.next" 644 || return 1
  fits "$cert.next" "$next_key" || {
    say 'the reply has no certificate for this key'
    return 1
  }
  keep_token "$(field recovery_token)" || return 1
  take_trust
  finish_taking || return 1
  # Also kept in memory: if the disk cannot be written, the agent must not renew in every round.
  renew_at=$(field renew_after)
  printf '%s\n' "$renew_at" | place "$state/renew-after" 600
  task_keys=$(field task_keys)
  set_heartbeat
}
finish_taking() {
  mv -f "$next_key" "$key" && mv -f "$cert.next" "$cert"
}
# fits CERTIFICATE KEY: both exist and belong together.
fits() {
  [ -s "$1" ] && [ -s "$2" ] &&
    [ "$(openssl x509 -in "$1" -noout -pubkey 2>/dev/null)" = "$(openssl pkey -in "$2" -pubout 2>/dev/null)" ]
}
# Completes an identity that was interrupted while it was replaced.
repair_identity() {
  [ -s "$cert.next" ] || return 0
  if fits "$cert.next" "$next_key"; then
    finish_taking
  elif fits "$cert.next" "$key"; then
    mv -f "$cert.next" "$cert"
  fi
  # Its recovery token may be lost. The next certificate comes with a new one.
  rm -f "$cert.next" "$state/renew-after"
  renew_at=0
}

# Replaces the trusted authorities. The reply came over a connection that the current ones verified.
take_trust() {
  decoded ca_pem >"$scratch/ca"
  openssl x509 -in "$scratch/ca" -noout 2>/dev/null || return 1
  place "$ca_bundle" 644 <"$scratch/ca" && place "$node_ca_bundle" 644 <"$scratch/ca"
}

set_clock() {
  server_time=$(field time)
  case $server_time in '' | *[!0-9]*) return 0 ;; esac
  clock_offset=$((server_time - $(now)))
  if [ "$clock_offset" -gt 30 ] || [ "$clock_offset" -lt -30 ]; then
    say "the clock of this node is $((-clock_offset)) s off"
  fi
}

set_heartbeat() {
  interval=$(field heartbeat_seconds)
  case $interval in '' | *[!0-9]*) ;; *) heartbeat_seconds=$interval ;; esac
}

has_certificate() { fits "$cert" "$key"; }
has_expired() { ! openssl x509 -in "$cert" -noout -checkend "$clock_offset" >/dev/null 2>&1; }
# Asks for the appliance's time before it discards a certificate because of this node's clock.
has_expired_for_sure() {
  has_expired || return 1
  request /node/v1/ca 20
  [ "$status" != 200 ] || set_clock
  has_expired
}

# The appliance sends the renewal time with the certificate: two thirds of its lifetime. Without it, renew now.
renew_at=$(cat "$state/renew-after" 2>/dev/null)
renew_is_due() { [ "$(($(now) + clock_offset))" -ge "${renew_at:-0}" ]; }
