# shellcheck shell=sh
# Loads drivers: each device has a modalias, and modprobe finds the matching modules.

modaliases() {
  find "$SYS/devices" -name modalias -exec cat {} + 2> /dev/null | sort -u
}

# Seen aliases are listed twice, so that `uniq -u` leaves only new ones. A driver may add buses with more devices (a controller, then its disks), so it repeats until nothing new appears.
load_drivers() {
  [ -f "$RUN/aliases-seen" ] || : > "$RUN/aliases-seen"
  for _ in 1 2 3 4 5 6; do
    modaliases > "$RUN/aliases"
    fresh=$(sort "$RUN/aliases-seen" "$RUN/aliases-seen" "$RUN/aliases" | uniq -u)
    [ -n "$fresh" ] || break
    mv "$RUN/aliases" "$RUN/aliases-seen"
    # In one call, so that modprobe reads its tables once. A device without a driver is no error.
    printf '%s\n' "$fresh" | tr '\n' '\000' | xargs -0 modprobe -abq 2> /dev/null
  done
  # No device has an alias for these: checksums of file systems, and character sets.
  modprobe -abq crc32c_generic sd_mod nls_cp437 nls_ascii nls_iso8859_1 2> /dev/null
}

mount_efi_variables() {
  [ -d "$SYS/firmware/efi" ] || return 0
  modprobe -q efivarfs 2> /dev/null
  mount -t efivarfs efivarfs "$SYS/firmware/efi/efivars" 2> /dev/null || :
}

# Controllers find their disks asynchronously.
wait_for_disks() {
  before=-1
  for _ in 1 2 3 4 5 6 7 8; do
    load_drivers
    now=$(find "$SYS/block" -mindepth 1 -maxdepth 1 2> /dev/null | wc -l)
    [ "$now" -gt 0 ] && [ "$now" = "$before" ] && return 0
    before=$now
    sleep 0.5
  done
}
