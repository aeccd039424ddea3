# shellcheck shell=sh disable=SC2154
# Inspects and tests the machine: each test of the order is a step. All tests run before the outcome is reported.

run_commission() {
  inspect_machine
  verify_erasure
  failed_step='' failed_reason='' test_name=''
  jq -c '.tests // [] | .[]' "$ORDER" > "$RUN/tests"
  while read -r test; do
    test_name=$(test_field name)
    step_started "test-$test_name" 'testing'
    case $test_name in
      memory | disk | network) result=$("test_$test_name") ;;
      *) result="this service OS has no such test" && false ;;
    esac && step_done "test-$test_name" "$result" && continue
    say "test-$test_name: FAILED: $result"
    report_step "test-$test_name" failed '' "$result"
    failed_step=test-$test_name failed_reason=$result
  done < "$RUN/tests"
  report_neighbours
  [ -z "$failed_step" ] || send_outcome false "$failed_step" "$failed_reason"
  finish_done "${test_name:+test-}${test_name:-inspect}"
}

test_field() {
  printf '%s' "$test" | jq -r ".$1 // empty"
}

# Tests for stuck address lines and bits, in the requested amount of memory or in what is free.
test_memory() {
  wanted=$(test_field megabytes)
  free=$(($(awk '$1 == "MemAvailable:" { print $2 }' "$PROC/meminfo") / 1024 - 64))
  [ "$free" -gt 8 ] || { echo 'there is not enough free memory for a test' && return 1; }
  wanted=${wanted:-64}
  [ "$wanted" -le "$free" ] || wanted=$free
  # Those of memtester's tests that pass over the memory once: random value, exclusive or, difference, sequential increment.
  MEMTESTER_TEST_MASK=0x87 memtester "${wanted}M" 1 > "$RUN/memory-says" 2>&1
  case $? in
    0) echo "$wanted MB without a fault" ;;
    *) echo "faults in $wanted MB: $(tr -s '\b\r' '\n' < "$RUN/memory-says" | grep -i -m 1 'FAILURE' || tail -n 1 "$RUN/memory-says")" && return 1 ;;
  esac
}

# Reads the SMART health of each disk, its first 64 MiB and 32 samples.
test_disk() {
  summary=''
  for disk in $(jq -r '.[].name' "$RUN/disks.json"); do
    health=$(jq -r --arg name "$disk" '.[] | select(.name == $name) | .health // "unknown"' "$RUN/disks.json")
    [ "$health" != failing ] || { echo "$disk reports that it is failing (SMART)" && return 1; }
    size=$(disk_bytes "$disk")
    begun=$(hundredths)
    dd if="$DEV/$disk" of=/dev/null bs=1M count=64 iflag=direct 2> "$RUN/read-says" || { echo "$disk cannot be read: $(sed -n 's/^dd: //p' "$RUN/read-says" | head -n 1)" && return 1; }
    speed=$((6400 * 1048576 / 1000000 / ($(hundredths) - begun + 1)))
    at=0
    while [ "$at" -lt 32 ]; do
      offset=$((size * at / 32 / 4096 * 4096))
      dd if="$DEV/$disk" of=/dev/null bs=4096 count=1 iflag=direct,skip_bytes skip="$offset" 2> "$RUN/read-says" || { echo "$disk cannot be read at $offset: $(sed -n 's/^dd: //p' "$RUN/read-says" | head -n 1)" && return 1; }
      at=$((at + 1))
    done
    summary="$summary${summary:+, }$disk $health, $speed MB/s"
  done
  echo "${summary:-there is no disk}"
}

hundredths() {
  cut -d ' ' -f 1 "$PROC/uptime" | tr -d .
}

# Measures packet loss to the appliance, and the download speed of its files.
test_network() {
  host=$(printf '%s' "$server" | sed 's,^[a-z]*://,,; s,[:/].*,,')
  lost=$(ping -c 20 -i 0.1 -W 2 "$host" 2> /dev/null | sed -n 's/.* \([0-9]*\)% packet loss.*/\1/p')
  speed=$(curl --silent --fail --max-time 20 --output /dev/null --write-out '%{speed_download}' "$server/boot/service-os-$(machine_architecture)/initrd" 2> /dev/null) || speed=''
  # Some networks drop pings on purpose; if a download works, the network is fine.
  [ "${lost:-100}" -lt 100 ] || [ -n "$speed" ] || { echo "the appliance at $host does not reply" && return 1; }
  [ "${lost:-0}" -le 5 ] || [ "${lost:-0}" = 100 ] || { echo "$lost % of the packets to $host are lost" && return 1; }
  echo "${lost:-?} % lost${speed:+, $((${speed%.*} * 8 / 1000000)) Mbit/s}"
}
