# shellcheck shell=sh disable=SC2154
# Erases every disk that the order names, and verifies it. If one disk cannot be erased, the whole step fails after the others are
# done.

SAMPLES=${SAMPLES:-64}
MEBIBYTE=1048576

run_erase() {
  inspect_machine
  selected_disks > "$RUN/to-erase"
  if [ ! -s "$RUN/to-erase" ]; then
    [ "$(order .disks)" = all ] || finish_failed inspect "no disk matches the order; there are: $(disk_names | tr '\n' ' ')"
    finish_done inspect
  fi
  failed_step='' failed_reason=''
  # `read` clears its variable at the end of the list.
  while read -r disk; do
    last_step=erase-$disk
    erase_disk || { failed_step=erase-$disk failed_reason=$erase_error; }
  done < "$RUN/to-erase"
  report_heard
  [ -z "$failed_step" ] || send_outcome false "$failed_step" "$failed_reason"
  finish_done "$last_step"
}

# "all", or a list of names, serial numbers and names by id.
selected_disks() {
  jq -r --slurpfile order "$ORDER" '
    $order[0].disks as $selected
    | .[] | select($selected == "all" or ($selected | type) == "array" and ([.name, .serial] + .by_id | any(. as $one | $selected | index($one) != null)))
    | .name' "$RUN/disks.json"
}

erase_disk() {
  target=$DEV/$disk
  step_started "erase-$disk" "$(jq -r --arg name "$disk" '.[] | select(.name == $name) | "\(.model // "no model"), \(.serial // "no serial number"), \(.bytes) bytes"' "$RUN/disks.json")"
  if [ "$(line_of "$SYS/block/$disk/ro")" = 1 ]; then
    erase_failed "$disk is read-only: it was not erased"
    return 1
  fi
  size=$(disk_bytes "$disk")
  for method in format_nvme discard overwrite; do
    erase_method=''
    "$method" || continue
    if is_empty; then
      step_done "erase-$disk" "$erase_method; $SAMPLES samples read back, all empty"
      jq -c --arg name "$disk" --arg method "$erase_method" '.[] | select(.name == $name) | { name, serial, bytes, $method }' "$RUN/disks.json" >> "$RUN/erased"
      return 0
    fi
    say "$disk is not empty after: $erase_method"
  done
  erase_failed "$disk cannot be erased: ${erase_problem:-it is not empty after being overwritten}"
  return 1
}

erase_failed() {
  erase_error=$1
  say "erase-$disk: FAILED: $1"
  report_step "erase-$disk" failed '' "$1"
}

# The drive's own erase also reaches blocks that can no longer be addressed.
format_nvme() {
  case $disk in
    nvme*) ;;
    *) return 1 ;;
  esac
  timeout 3600 nvme format "$target" --ses=1 --force >> "$LOG" 2>&1 || return 1
  erase_method='NVMe format with user data erase'
  wait_for_disks
}

discard() {
  [ "$(line_of "$SYS/block/$disk/queue/discard_max_bytes")" -gt 0 ] 2> /dev/null || return 1
  blkdiscard --force "$target" >> "$LOG" 2>&1 || return 1
  erase_method='discarded'
}

overwrite() {
  erase_method='overwritten with zeros'
  dd if=/dev/zero of="$target" bs=4M iflag=fullblock oflag=direct count="$size" iflag=count_bytes 2> "$RUN/erase-says" &
  writer=$!
  first=$(awk '{ print $7 }' "$SYS/block/$disk/stat")
  pause=0
  while kill -0 "$writer" 2> /dev/null; do
    sleep 0.5
    pause=$((pause + 1))
    [ "$pause" -ge 10 ] || continue
    pause=0
    cleared=$((($(awk '{ print $7 }' "$SYS/block/$disk/stat") - first) * 512))
    step_progress "erase-$disk" "$((cleared * 99 / size))" "$(size_in_words "$cleared") overwritten" "$cleared"
  done
  wait "$writer" && return 0
  erase_problem=$(sed -n 's/^dd: //p' "$RUN/erase-says" | head -n 1)
  return 1
}

# Reads the first and the last mebibyte, and samples evenly between them. Bypasses the page cache to read the disk itself.
is_empty() {
  blockdev --flushbufs "$target"
  echo 3 > /proc/sys/vm/drop_caches
  last=$((size - MEBIBYTE))
  [ "$last" -gt 0 ] || last=0
  at=0
  while [ "$at" -lt "$SAMPLES" ]; do
    offset=$((last * at / (SAMPLES - 1) / 512 * 512))
    dd if="$target" bs="$MEBIBYTE" count=1 iflag=skip_bytes skip="$offset" 2> "$RUN/erase-says" > "$RUN/sample" || { erase_problem="it cannot be read at $offset" && return 1; }
    [ "$(tr -d '\000' < "$RUN/sample" | head -c 1 | wc -c)" = 0 ] || return 1
    at=$((at + 1))
  done
  rm -f "$RUN/sample"
}
