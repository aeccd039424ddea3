# The settings that the appliance signs for this node: the URL of the node API, the trusted authorities and the task-signing keys. New ones
# are used only after a request with them has succeeded; the previous ones are kept until the next heartbeat, and restored without one.
# Sets settings_problem, settings_again, api_url, task_keys.
settings_problem=
settings_again=0
settings_before=$state/settings-before
settings_time=$state/settings-time
# Rounds that may fail with new settings.
settings_tries=3

# key_ids KEYS: the ids of task-signing keys, sorted, separated by commas.
key_ids() { printf '%s\n' "$1" | tr ',' '\n' | cut -d : -f 2 | sort | tr '\n' ',' | sed 's/^,*//; s/,*$//'; }

# settings_part N: one value of the payload: 1 api_url, 2 ca_sha256, 3 issued_at, 4 node_id, 5 task_keys. The payload must have exactly this
# form; otherwise every value is empty and the settings are refused.
settings_part() {
  sed -n "s/^{\"api_url\":\"\(https:[][A-Za-z0-9:/._-]*\)\",\"ca_sha256\":\"\([0-9a-f]*\)\",\"issued_at\":\"\($time_form\)\",\"kind\":\"settings\",\"node_id\":\"\([0-9a-f-]*\)\",\"task_keys\":\"\([A-Za-z0-9:+/=,]*\)\"}\$/\\$1/p" "$scratch/payload"
}

# prove_settings URL CA-FILE: whether the node API replies there to this node, with a certificate of these authorities.
prove_settings() {
  current_url=$api_url current_ca=$ca_bundle
  api_url=$1 ca_bundle=$2
  as_node /node/v1/settings 20
  api_url=$current_url ca_bundle=$current_ca
  [ "$status" = 200 ] && [ "$(field node_id)" = "$node_id" ]
}

refuse_settings() {
  settings_problem=$(printf '%s' "$1" | cut -c 1-300)
  fault "${2:-refused}" "the new settings are not used: $1"
}

# set_setting NAME VALUE: for this process and its handlers.
set_setting() {
  eval "${prefix}$1=\$2"
  # shellcheck disable=SC2163 # The name is in the variable.
  export "${prefix}$1"
}

# write_settings URL KEYS, with the authorities in the file `new-ca`.
write_settings() {
  mkdir -p "$settings_before" && cp "$env_file" "$settings_before/env" && cp "$ca_bundle" "$settings_before/ca" &&
    cp "$node_ca_bundle" "$settings_before/node-ca" && printf '%s\n' "$1" | place "$settings_before/trial" 600 || return 1
  place "$ca_bundle" 644 <"$scratch/new-ca" && place "$node_ca_bundle" 644 <"$scratch/new-ca" || return 1
  { grep -v -e "^${prefix}API_URL=" -e "^${prefix}TASK_SIGNING_PUBKEYS=" "$env_file" &&
    printf '%sAPI_URL="%s"\n%sTASK_SIGNING_PUBKEYS="%s"\n' "$prefix" "$1" "$prefix" "$2"; } | place "$env_file" 600
}
use_settings() {
  api_url=${1%/}
  task_keys=$2
  set_setting API_URL "$1"
  set_setting TASK_SIGNING_PUBKEYS "$2"
}

# Compares what the heartbeat named with what is in use, and changes it.
reconcile_settings() {
  if [ "${wanted_url%/}" = "$api_url" ] && [ "$trust_hash" = "$(trust_sum)" ] &&
    [ "$(key_ids "$new_keys")" = "$(key_ids "$(setting TASK_SIGNING_PUBKEYS)")" ]; then
    settings_problem=
    return 0
  fi
  if [ "$must_reconcile" != yes ] && [ "$(now)" -lt "$settings_again" ]; then return 0; fi
  settings_again=$(($(now) + 240 + $(random_below 120)))
  log_action=settings
  as_node /node/v1/settings 20
  if [ "$status" != 200 ]; then
    [ "$status" = 000 ] || refuse_settings "they cannot be fetched ($status): $(reason)"
    return 0
  fi
  decoded ca_pem >"$scratch/new-ca"
  signer=$(field ca_fingerprint)
  if ! is_signed; then
    refuse_settings 'they are not signed by a key of this site'
    return 0
  fi
  new_url=$(settings_part 1)
  settings_keys=$(settings_part 5)
  if [ -z "$new_url" ] || [ "$(settings_part 4)" != "$node_id" ]; then
    refuse_settings 'they are not for this node'
  elif [ "$(digits "$(settings_part 3)")" -lt "$(cat "$settings_time" 2>/dev/null || printf 0)" ]; then
    refuse_settings 'they are older than the ones in use'
  elif [ "$(openssl dgst -sha256 -r "$scratch/new-ca" | cut -d ' ' -f 1)" != "$(settings_part 2)" ] ||
    ! openssl x509 -in "$scratch/new-ca" -noout 2>/dev/null; then
    refuse_settings 'their authorities are not the signed ones'
  else
    issued=$(digits "$(settings_part 3)")
    if ! prove_settings "${new_url%/}" "$scratch/new-ca"; then
      why=$(reason)
      [ "$status" != 000 ] || why=$(tr -cd '[:print:]' <"$scratch/errors" | cut -c 1-150)
      refuse_settings "$new_url does not accept this node ($status): $why" unreachable
    elif ! write_settings "$new_url" "$settings_keys"; then
      restore_settings 'they cannot be written'
    else
      printf '%s\n' "$issued" | place "$settings_time" 600
      [ "${new_url%/}" = "$api_url" ] || say "the node API is at $new_url from now on"
      [ "$(trust_sum)" = "$(openssl dgst -sha256 -r "$settings_before/ca" | cut -d ' ' -f 1)" ] ||
        say "the authorities have changed: $signer signs"
      use_settings "$new_url" "$settings_keys"
      settings_problem=
      settings_again=0
      # The next heartbeat proves them.
      next_heartbeat=0
    fi
  fi
  return 0
}

# After a heartbeat: it came through the settings that are in use.
settings_are_proven() {
  [ -e "$settings_before/trial" ] || return 0
  [ "$(cat "$settings_before/trial")" = "$(setting API_URL)" ] || return 0
  rm -rf "$settings_before"
  log_action=settings
  say 'the new settings work'
}

# restore_settings WHY
restore_settings() {
  log_action=settings
  [ -s "$settings_before/env" ] || return 0
  place "$env_file" 600 <"$settings_before/env" && place "$ca_bundle" 644 <"$settings_before/ca" &&
    place "$node_ca_bundle" 644 <"$settings_before/node-ca" || return 1
  old_url=$(sed -n "s/^${prefix}API_URL=\"\(.*\)\"\$/\1/p" "$env_file" | tail -n 1)
  old_keys=$(sed -n "s/^${prefix}TASK_SIGNING_PUBKEYS=\"\(.*\)\"\$/\1/p" "$env_file" | tail -n 1)
  use_settings "$old_url" "$old_keys"
  rm -rf "$settings_before"
  settings_problem="$(printf '%s' "$1" | cut -c 1-250): the previous settings were restored"
  fault failed "the new settings do not work: $settings_problem"
}

# After a failed round.
restore_if_settings_fail() {
  [ -e "$settings_before/trial" ] || return 0
  [ "$failures" -ge "$settings_tries" ] || return 0
  restore_settings "no heartbeat succeeded at $api_url"
}
