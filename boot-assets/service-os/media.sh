# shellcheck shell=sh disable=SC2154
# The one-time secret of a session on a CD or USB medium that the appliance inserted through the BMC: an ISO 9660 file system with the
# label COLDIRON and the file SECRET, 64 hexadecimal digits.

MEDIUM=$RUN/medium
# Counted from the start of the drivers: a drive needs time to find its medium, and a USB device needs time to be found.
MEDIUM_SECONDS=${MEDIUM_SECONDS:-5}
USB_SECONDS=${USB_SECONDS:-2}

# Optical drives and removable disks.
medium_drives() {
  for path in "$SYS"/block/*; do
    case ${path##*/} in
      sr*) printf '%s\n' "${path##*/}" ;;
      sd*) if [ "$(line_of "$path/removable")" = 1 ]; then printf '%s\n' "${path##*/}"; fi ;;
    esac
  done
}

# True if a USB storage device (interface class 08) has no disk yet.
usb_storage_is_starting() {
  for path in "$SYS"/bus/usb/devices/*/bInterfaceClass; do
    [ "$(line_of "$path")" = 08 ] || continue
    ls -d "${path%/*}"/host*/target*/*/block > /dev/null 2>&1 || return 0
  done
  return 1
}

# Waits only on a machine that has a drive or may have one soon.
find_medium() {
  while :; do
    for drive in $(medium_drives); do
      read_medium "$drive" && return 0
    done
    if [ -n "$(medium_drives)" ] || usb_storage_is_starting; then
      medium_wait=$MEDIUM_SECONDS
    elif ls -d "$SYS"/bus/usb/devices/usb* > /dev/null 2>&1; then
      medium_wait=$USB_SECONDS
    else
      return 1
    fi
    [ "$(seconds)" -lt "$((medium_began + medium_wait))" ] || return 1
    sleep 0.3
  done
}

# Without Rock Ridge extensions the kernel shows names in lower case.
read_medium() {
  [ "$(timeout 10 blkid -p -o value -s LABEL "$DEV/$1" 2> /dev/null)" = COLDIRON ] || return 1
  mkdir -p "$MEDIUM/mounted"
  timeout 20 mount -t iso9660 -o ro,nosuid,nodev,noexec "$DEV/$1" "$MEDIUM/mounted" || return 1
  cat "$MEDIUM/mounted/SECRET" "$MEDIUM/mounted/secret" 2> /dev/null | head -c 64 | tr 'A-F' 'a-f' > "$MEDIUM/digits"
  umount "$MEDIUM/mounted"
  printf '%s' "$1" > "$MEDIUM/drive"
  if [ "$(tr -d '0-9a-f' < "$MEDIUM/digits" | wc -c)" != 0 ] || [ "$(wc -c < "$MEDIUM/digits")" -ne 64 ]; then
    rm -f "$MEDIUM/digits"
    return 1
  fi
  : > "$MEDIUM/found"
}

# The drivers of drives that the kernel has not found yet.
start_medium() {
  rm -rf "$MEDIUM"
  (umask 077 && mkdir -p "$MEDIUM")
  medium_began=$(seconds)
  modprobe -abq usb-storage uas sr_mod isofs 2> /dev/null || :
}

# Writes the secret to $MEDIUM/secret and its hash, as JSON, to $MEDIUM/hash.json. A drive that hangs does not stop the machine.
collect_medium() {
  [ -n "${medium_began:-}" ] || start_medium
  echo null > "$MEDIUM/hash.json"
  in_background medium find_medium
  wait_until_ended medium "$((MEDIUM_SECONDS + 30))" || say 'medium: a drive does not reply'
  if [ ! -e "$MEDIUM/found" ]; then
    [ ! -e "$MEDIUM/drive" ] || say "medium: COLDIRON in $(cat "$MEDIUM/drive") has no valid secret"
    return 0
  fi
  (
    umask 077
    unhex "$(cat "$MEDIUM/digits")" > "$MEDIUM/secret"
    rm -f "$MEDIUM/digits"
    printf '"%s"' "$(sha256sum < "$MEDIUM/secret" | cut -d ' ' -f 1)" > "$MEDIUM/hash.json"
  )
  say "medium: the secret of a session was found on $(cat "$MEDIUM/drive")"
}
