# shellcheck shell=sh disable=SC2154
# Reads samples of disks that an earlier session erased. The order names the disks and the places; the appliance decides what follows.

VERIFY_SECONDS=${VERIFY_SECONDS:-20}

verify_erasure() {
  [ "$(jq '.erased // [] | length' "$ORDER")" -gt 0 ] || return 0
  step_started verify-erasure 'reading samples of the erased disks'
  verify_deadline=$(($(seconds) + VERIFY_SECONDS))
  sample_disks
  with_data=$(jq -rs 'map(select(.state == "not-empty") | .disk) | join(" ")' "$RUN/sampled")
  if [ -z "$with_data" ]; then
    verify_result="$(size_in_words "$(jq -s 'map(.bytes) | add' "$RUN/sampled")") read: $(jq -rs 'map(.state) | unique | join(", ")' "$RUN/sampled")"
    say "verify-erasure: done: $verify_result"
    write_step verify-erasure 'done' 100 "$verify_result"
  else
    say 'verify-erasure: FAILED: erased disks hold data'
    write_step verify-erasure failed '' 'erased disks hold data'
  fi
  jq --slurpfile samples "$RUN/sampled" '. + { samples: $samples }' "$RUN/step-$sequence.json" > "$RUN/step-with-samples.json"
  mv "$RUN/step-with-samples.json" "$RUN/step-$sequence.json"
  deliver_step verify-erasure
  [ -z "$with_data" ] || send_outcome false verify-erasure 'erased disks hold data'
}

# One line for each disk of the order. A disk is found by its serial number and its size; namespaces of one NVMe drive share the number.
sample_disks() {
  : > "$RUN/sampled"
  jq -r --slurpfile disks "$RUN/disks.json" '
    .erased | to_entries[] | .key as $number | .value as $erased
    | $disks[0] | map(select(.bytes == $erased.bytes and .serial == $erased.serial and ($erased.serial != null or .name == $erased.name)))
    | sort_by(.name != $erased.name) | "\($number) \(.[0].name // "-")"' "$ORDER" > "$RUN/to-sample"
  while read -r number disk; do
    sample_disk "$number" "$disk"
    sampled_bytes=$(awk '{ sum += $1 } END { print sum + 0 }' "$RUN/samples-read")
    jq -cn --argjson disk "$number" --arg state "$sample_state" --argjson bytes "$sampled_bytes" --arg offset "$sample_offset" \
      '{ $disk, $state, $bytes, offset: (if $offset == "" then null else ($offset | tonumber) end) }' >> "$RUN/sampled"
  done < "$RUN/to-sample"
}

# sample_disk NUMBER DISK: sets $sample_state and $sample_offset; $RUN/samples-read has the lengths that were read.
sample_disk() {
  sample_state=missing sample_offset=''
  : > "$RUN/samples-read"
  [ "$2" != - ] || return 0
  echo empty > "$RUN/samples-state"
  jq -r --argjson number "$1" '.erased[$number].samples[] | "\(.[0]) \(.[1])"' "$ORDER" > "$RUN/samples"
  blockdev --flushbufs "$DEV/$2" 2> /dev/null || :
  if [ "$(read_samples "$2" | tr -d '\000' | head -c 1 | wc -c)" != 0 ]; then
    sample_state=not-empty
    sample_offset=$(first_sample_with_data "$2")
    return 0
  fi
  read -r sample_state sample_offset < "$RUN/samples-state" || :
}

# All samples one after the other, until the time is over or one cannot be read.
read_samples() {
  while read -r offset length; do
    read -r now _ < /proc/uptime
    if [ "${now%.*}" -ge "$verify_deadline" ]; then
      echo out-of-time > "$RUN/samples-state"
      return 0
    fi
    if ! read_sample "$1"; then
      echo "unreadable $offset" > "$RUN/samples-state"
      return 0
    fi
    echo "$length" >> "$RUN/samples-read"
  done < "$RUN/samples"
}

read_sample() {
  dd if="$DEV/$1" bs=65536 iflag=skip_bytes,count_bytes,fullblock skip="$offset" count="$length" 2> /dev/null
}

first_sample_with_data() {
  while read -r offset length; do
    [ "$(read_sample "$1" | tr -d '\000' | head -c 1 | wc -c)" = 0 ] || { echo "$offset" && return 0; }
  done < "$RUN/samples"
}
