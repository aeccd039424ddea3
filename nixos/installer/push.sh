# shellcheck shell=bash disable=SC2154
# Somebody else installs this machine: the appliance is let in, with the key of this one deployment, and this waits.

POLL_SECONDS=${POLL_SECONDS:-5}

run_push() {
  keys=$(order '.authorized_keys[]?')
  [ -n "$keys" ] || finish_failed await-push 'the order has no key to let the appliance in with'
  trap shut_out EXIT
  let_in
  step_started await-push 'the appliance may come in'
  until cancelled; do sleep "$POLL_SECONDS"; done
  stay 'the appliance has ended this installation'
}

let_in() {
  (
    umask 077
    mkdir -p "$ROOT_HOME/.ssh"
    printf '%s\n' "$keys" >> "$ROOT_HOME/.ssh/authorized_keys"
  )
}

shut_out() {
  (
    umask 077
    grep -vxF "$keys" "$ROOT_HOME/.ssh/authorized_keys" > "$ROOT_HOME/.ssh/authorized_keys.new"
    mv "$ROOT_HOME/.ssh/authorized_keys.new" "$ROOT_HOME/.ssh/authorized_keys"
  )
}
