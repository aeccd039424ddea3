# shellcheck shell=sh disable=SC2154
# What the machine consists of, and whether it works: each test of the order is a step. All are done before the outcome is told.

run_commission() {
  inspect_machine
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
  finish_well "${test_name:+test-}${test_name:-inspect}"
}

test_field() {
  printf '%s' "$test" | jq -r ".$1 // empty"
}

# Stuck address lines and bits, over as much as was asked for and is free.
test_memory() {
  wanted=$(test_field megabytes)
  free=$(($(awk '$1 == "MemAvailable:" { print $2 }' "$PROC/meminfo") / 1024 - 64))
  [ "$free" -gt 8 ] || { echo 'there is not enough free memory to test any' && return 1; }
  wanted=${wanted:-64}
  [ "$wanted" -le "$free" ] || wanted=$free
  # Of memtester's tests those that pass once over the memory: random value, exclusive or, difference, sequential increment.
  MEMTESTER_TEST_MASK=0x87 memtester "${wanted}M" 1 > "$RUN/memory-says" 2>&1
  case $? in
    0) echo "$wanted MB without a fault" ;;
    *) echo "faults in $wanted MB: $(tr -s '\b\r' '\n' < "$RUN/memory-says" | grep -i -m 1 'FAILURE' || tail -n 1 "$RUN/memory-says")" && return 1 ;;
  esac
}

# What the disks say of themselves, and the first part and 32 places of each, read.
test_disk() {
  summary=''
  for disk in $(jq -r '.[].name' "$RUN/disks.json"); do
    health=$(jq -r --arg name "$disk" '.[] | select(.name == $name) | .health // "unknown"' "$RUN/disks.json")
    [ "$health" != failing ] || { echo "$disk says that it is failing (SMART)" && return 1; }
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

# Lost packets to the appliance, and how fast its files come.
test_network() {
  host=$(printf '%s' "$server" | sed 's,^[a-z]*://,,; s,[:/].*,,')
  lost=$(ping -c 20 -i 0.1 -W 2 "$host" 2> /dev/null | sed -n 's/.* \([0-9]*\)% packet loss.*/\1/p')
  speed=$(curl --silent --fail --max-time 20 --output /dev/null --write-out '%{speed_download}' "$server/boot/service-os-$(machine_architecture)/initrd" 2> /dev/null) || speed=''
  # Some networks drop pings on purpose; when files come, the network is there.
  [ "${lost:-100}" -lt 100 ] || [ -n "$speed" ] || { echo "the appliance at $host does not answer" && return 1; }
  [ "${lost:-0}" -le 5 ] || [ "${lost:-0}" = 100 ] || { echo "$lost % of the packets to $host are lost" && return 1; }
  echo "${lost:-?} % lost${speed:+, $((${speed%.*} * 8 / 1000000)) Mbit/s}"
}
