#!/usr/bin/env bash
# What the installer does by itself: opens its session, says what this machine is, and installs it as it is ordered.
# shellcheck disable=SC1091,SC2154,SC2034
# Each job gets a process group of its own, so that it can be ended with all that it started.
set -m

HERE=${HERE:-$(dirname "$0")}
# The conversation with the appliance is that of the service OS.
LIB=${LIB:-/service-os}
ROOT=${ROOT:-/mnt}
ETC=${ETC:-/etc}
ROOT_HOME=${ROOT_HOME:-/root}
COMMAND_LINE=${COMMAND_LINE:-/proc/cmdline}
DISK_KEY=${DISK_KEY:-/tmp/disk-encryption.key}

. "$LIB/common.sh"
. "$LIB/network.sh"
. "$LIB/session.sh"
. "$LIB/facts.sh"
. "$LIB/disks.sh"
. "$HERE/pull.sh"
. "$HERE/push.sh"

# systemd ends the machine here, udev knows the disks, and whoever stands before a machine that failed can log in.
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

stay() {
  say "STOPPED: $1"
  exit 1
}

# Who this SSH server is, for the appliance to know it again.
host_keys() {
  cat "$ETC"/ssh/ssh_host_*_key.pub 2> /dev/null | cut -d ' ' -f 1,2 | jq -R . | jq -s .
}

report_machine() {
  step_started inspect 'finding out what this machine consists of'
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
[ -n "$session" ] || stay 'the kernel command line has no coldiron.session: there is nothing to do'
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
  *) finish_failed start "the order is to be done in a way that this installer does not know: $(order .way)" ;;
esac
