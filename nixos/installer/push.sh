# shellcheck shell=bash disable=SC2154
# Mode push: the appliance installs this machine. It gets SSH access with the key of this one deployment, and this script waits.

POLL_SECONDS=${POLL_SECONDS:-5}

run_push() {
  keys=$(order '.authorized_keys[]?')
  [ -n "$keys" ] || finish_failed await-push 'the order has no SSH key for the appliance'
  trap remove_keys EXIT
  add_keys
  step_started await-push 'waiting for the appliance to install this machine'
  until cancelled; do sleep "$POLL_SECONDS"; done
  give_up 'the appliance has ended this installation'
}

add_keys() {
  (
    umask 077
    mkdir -p "$ROOT_HOME/.ssh"
    printf '%s\n' "$keys" >> "$ROOT_HOME/.ssh/authorized_keys"
  )
}

remove_keys() {
  (
    umask 077
    grep -vxF "$keys" "$ROOT_HOME/.ssh/authorized_keys" > "$ROOT_HOME/.ssh/authorized_keys.new"
    mv "$ROOT_HOME/.ssh/authorized_keys.new" "$ROOT_HOME/.ssh/authorized_keys"
  )
}
