#!/usr/bin/env bash
# The installer's main program: opens its session, reports the hardware, and installs the machine as ordered.
# shellcheck disable=SC1091,SC2154,SC2034
# Each job gets its own process group, so that it can be ended with all its children.
set -m

HERE=${HERE:-$(dirname "$0")}
# The session protocol is that of the service OS.
LIB=${LIB:-/service-os}
ROOT=${ROOT:-/mnt}
ETC=${ETC:-/etc}
ROOT_HOME=${ROOT_HOME:-/root}
COMMAND_LINE=${COMMAND_LINE:-/proc/cmdline}
DISK_KEY=${DISK_KEY:-/tmp/disk-encryption.key}

. "$LIB/common.sh"
. "$LIB/network.sh"
. "$LIB/seal.sh"
. "$LIB/tpm.sh"
. "$LIB/media.sh"
. "$LIB/session.sh"
. "$LIB/facts.sh"
. "$LIB/disks.sh"
. "$HERE/pull.sh"
. "$HERE/push.sh"

# systemd shuts the machine down here, udev finds the disks, and an operator can log in after a failure.
wait_for_disks() {
  udevadm settle --timeout=60 || :
}

restart() {
  say 'restarting'
  sync
  systemctl reboot
  exit 0
}

switch_off() {
  say 'switching off'
  sync
  systemctl poweroff
  exit 0
}

give_up() {
  say "STOPPED: $1"
  exit 1
}

# The SSH host keys, so that the appliance can verify this server.
host_keys() {
  cat "$ETC"/ssh/ssh_host_*_key.pub 2> /dev/null | cut -d ' ' -f 1,2 | jq -R . | jq -s .
}

report_machine() {
  step_started inspect 'collecting hardware facts'
  collect_facts
  jq --argjson keys "$(host_keys)" '. + { ssh_host_keys: $keys }' "$RUN/facts.json" > "$RUN/facts-with-keys.json"
  send_facts "$RUN/facts-with-keys.json"
  step_done inspect "$(jq -r '"\(.disks | length) disks, \(.nics | length) cards"' "$RUN/facts.json")"
}

umask 022
mkdir -p "$RUN"
chmod 0700 "$RUN"
: > "$LOG"
read_command_line "$COMMAND_LINE"
[ -n "$session" ] || give_up 'the kernel command line has no coldiron.session: there is nothing to do'
set_clock "$boot_time"
start_tpm
start_medium
until card=$(card_with_mac "$boot_mac"); do
  say "waiting for the card with the address ${boot_mac:-that BOOTIF= should name}"
  sleep 5
done
open_session
[ "$(order .kind)" = nixos ] || finish_failed start "this installer installs NixOS, and the order is for $(order .kind)"
report_machine
case $(order .way) in
  pull) run_pull ;;
  push) run_push ;;
  *) finish_failed start "the order has an install method that this installer does not support: $(order .way)" ;;
esac
