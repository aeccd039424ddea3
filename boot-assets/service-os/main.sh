#!/bin/sh
# Main program of the service OS: network, session, and the mode of the order.
# shellcheck source-path=SCRIPTDIR disable=SC2154
. /service-os/common.sh
. /service-os/drivers.sh
. /service-os/network.sh
. /service-os/seal.sh
. /service-os/tpm.sh
. /service-os/media.sh
. /service-os/session.sh
. /service-os/facts.sh
. /service-os/disks.sh
. /service-os/erased.sh

mkdir -p "$RUN"
: > "$LOG"
say "service OS on $(uname -m), kernel $(uname -r)"
mount_efi_variables
load_drivers
read_command_line /proc/cmdline
say "${node:-unnamed machine}: ${mode:-no mode}${profile:+, profile $profile}"
if [ -z "$session" ]; then
  give_up 'the kernel command line has no coldiron.session: boot this machine through the appliance'
fi
set_clock "$boot_time"
start_tpm
start_medium
bring_up_network
open_session
start_neighbour_watch

case $mode in
  inspect | commission | install | erase | rescue)
    # shellcheck source=/dev/null
    . "/service-os/$mode.sh"
    "run_$mode"
    ;;
  *) finish_failed start "the order has a mode that this service OS does not support: $mode" ;;
esac
