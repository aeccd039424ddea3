# shellcheck shell=sh disable=SC2154,SC2034
# Installs an image on a disk. Nothing is written before the final network has been tested and one disk has been selected.
# shellcheck source-path=SCRIPTDIR
. /service-os/rehearse.sh
. /service-os/write-image.sh
. /service-os/finish-disk.sh

run_install() {
  inspect_machine
  check_cabling
  verify_erasure
  rehearse_network
  stop_if_cancelled rehearse
  choose_target
  write_target
  verify_target
  grow_target
  seed_target
  add_boot_entry
  report_heard
  finish_done boot-entry
}

# The order names cards when the profile requires their cables to be as declared. The appliance compares, and ends the session when they
# are not.
check_cabling() {
  [ -n "$(order '.neighbours // [] | .[]')" ] || return 0
  step_started cabling 'waiting for the LLDP frames of the switches'
  await_neighbours
  report_heard
  step_done cabling "$(jq -r '[.nics[] | select(.neighbour) | "\(.name) at \(.neighbour.system // .neighbour.chassis) \(.neighbour.port // "")"] | join(", ") | if . == "" then "no switch was heard" else .[:400] end' "$RUN/facts.json")"
}

# The appliance learns the disk before its first byte is overwritten.
choose_target() {
  step_started choose-disk 'selecting the disk that the order describes'
  disk=$(choose_disk) || finish_failed choose-disk "$disk"
  target=$DEV/$disk
  step_done choose-disk "$(jq -r --arg name "$disk" '.[] | select(.name == $name) | "\(.name), \(.model // "no model"), \(.serial // "no serial number"), \(.bytes) bytes, will be overwritten"' "$RUN/disks.json")"
}
