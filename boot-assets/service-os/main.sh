#!/bin/sh
# From an address to an outcome.
# shellcheck source-path=SCRIPTDIR
. /service-os/common.sh
. /service-os/drivers.sh
. /service-os/network.sh
. /service-os/session.sh
. /service-os/facts.sh
. /service-os/disks.sh

mkdir -p "$RUN"
: > "$LOG"
say "service OS on $(uname -m), kernel $(uname -r)"
mount_efi_variables
load_drivers
read_command_line /proc/cmdline
say "${node:-a machine without a name}: ${mode:-no mode}${profile:+, profile $profile}"
if [ -z "$session" ]; then
  stay 'the kernel command line has no coldiron.session: the boot script that started this was not made for a session'
fi
bring_up_network
open_session
start_neighbour_watch

case $mode in
  inspect | commission | install | erase | rescue)
    # shellcheck source=/dev/null
    . "/service-os/$mode.sh"
    "run_$mode"
    ;;
  *) finish_failed start "the order has a mode that this service OS does not know: $mode" ;;
esac
