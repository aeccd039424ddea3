# shellcheck shell=sh
# The hardware facts of the machine, as specified in docs/service-os.md. Unknown values are null.

PROC=${PROC:-/proc}

machine_architecture() {
  case ${MACHINE:-$(uname -m)} in
    aarch64) echo arm64 ;;
    *) echo x86_64 ;;
  esac
}

firmware_kind() {
  if [ -d "$SYS/firmware/efi" ]; then echo uefi; else echo bios; fi
}

# The variable has four bytes of attributes and one of value. Firmware without it cannot enforce Secure Boot; null: the variables
# cannot be read.
secure_boot() {
  variable=$SYS/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c
  case $(od -An -t u1 -j 4 -N 1 "$variable" 2> /dev/null | tr -d ' ') in
    1) echo true ;;
    0) echo false ;;
    *) if [ -d "$SYS/firmware/efi" ] && [ -z "$(ls "$SYS/firmware/efi/efivars" 2> /dev/null)" ]; then echo null; else echo false; fi ;;
  esac
}

system_uuid() {
  line_of "$SYS/class/dmi/id/product_uuid" | tr 'A-F' 'a-f'
}

tpm_version() {
  for path in "$SYS"/class/tpm/tpm*; do
    [ -e "$path" ] || continue
    case $(line_of "$path/tpm_version_major") in
      2) echo 2.0 ;;
      *) echo 1.2 ;;
    esac
    return
  done
}

# Drops the placeholders that manufacturers use for empty fields.
without_placeholder() {
  case $1 in
    '' | 'None' | 'none' | 'N/A' | 'Not Specified' | 'Default string' | 'To Be Filled By O.E.M.' | 'To be filled by O.E.M.' | 'System Serial Number' | 'System Product Name' | 'Not Available') ;;
    *) printf '%s' "$1" ;;
  esac
}

dmi() {
  without_placeholder "$(line_of "$SYS/class/dmi/id/$1")"
}

system_facts() {
  jq -n --arg manufacturer "$(dmi sys_vendor)" --arg product "$(dmi product_name)" --arg serial "$(dmi product_serial)" \
    --arg uuid "$(system_uuid)" --arg kind "$(firmware_kind)" --arg vendor "$(dmi bios_vendor)" \
    --arg version "$(dmi bios_version)" --argjson secure_boot "$(secure_boot)" --arg tpm "$(tpm_version)" '
    def given: if . == "" then null else . end;
    { system: { manufacturer: ($manufacturer | given), product: ($product | given), serial: ($serial | given), uuid: ($uuid | given) },
      firmware: { $kind, vendor: ($vendor | given), version: ($version | given), $secure_boot, tpm: ($tpm | given) } }'
}

# Sockets and cores are counted from the topology of each processor; arm64 has no "model name".
cpu_facts() {
  for path in "$SYS"/devices/system/cpu/cpu[0-9]*/topology; do
    [ -d "$path" ] && printf '%s %s\n' "$(line_of "$path/physical_package_id")" "$(line_of "$path/core_id")"
  done > "$RUN/processors"
  jq -n --arg model "$(sed -n 's/^model name[[:space:]]*: *//p' "$PROC/cpuinfo" | head -n 1)" \
    --arg architecture "$(machine_architecture)" --arg sockets "$(cut -d ' ' -f 1 "$RUN/processors" | sort -u | wc -l)" \
    --arg cores "$(sort -u "$RUN/processors" | wc -l)" --arg threads "$(wc -l < "$RUN/processors")" \
    --arg kilobytes "$(installed_kilobytes)" '
    { cpu: { model: (if $model == "" then null else $model end), $architecture, sockets: ($sockets | tonumber), cores: ($cores | tonumber),
             threads: ($threads | tonumber) },
      memory: { bytes: (($kilobytes | tonumber) * 1024) } }'
}

# Installed memory from the firmware's tables if it has them; otherwise the memory that the kernel sees.
installed_kilobytes() {
  by_firmware=$(dmidecode --type 17 2> /dev/null | awk '
    $1 == "Size:" && $3 == "kB" { sum += $2 }
    $1 == "Size:" && $3 == "MB" { sum += $2 * 1024 }
    $1 == "Size:" && $3 == "GB" { sum += $2 * 1048576 }
    END { if (sum) printf "%d", sum }')
  if [ -n "$by_firmware" ]; then echo "$by_firmware"; else awk '$1 == "MemTotal:" { print $2 }' "$PROC/meminfo"; fi
}

card_driver() {
  basename "$(readlink -f "$SYS/class/net/$1/device/driver" 2> /dev/null)"
}

nic_facts() {
  for name in $(cards); do
    path=$SYS/class/net/$name
    jq -n --arg name "$name" --arg mac "$(line_of "$path/address")" --arg driver "$(card_driver "$name")" \
      --arg carrier "$(line_of "$path/carrier")" --arg speed "$(line_of "$path/speed")" \
      --argjson neighbour "$(neighbour_of "$name")" '
      { $name, $mac, driver: (if $driver == "" then null else $driver end),
        link: (if $carrier == "1" then true elif $carrier == "0" then false else null end),
        speed_mbps: (($speed | tonumber? // 0) | if . > 0 then . else null end), $neighbour }'
  done | jq -s '{ nics: . }'
}

# LLDP: switches announce themselves every 30 seconds. One frame per card is enough, so a background process captures it.
start_neighbour_watch() {
  watch_began=$(seconds)
  for name in $(cards); do
    ip link set "$name" up 2> /dev/null
    watch_neighbour "$name" < /dev/null > /dev/null 2>&1 &
  done
}

# watch_neighbour CARD: until a frame is understood, for two minutes at most. A card can go down meanwhile, and a frame can be malformed.
watch_neighbour() {
  while [ "$(seconds)" -lt "$((watch_began + 120))" ]; do
    # Without -Z, Debian's tcpdump becomes a user that this system does not have. -Q in: not what the machine itself sends.
    timeout 120 tcpdump -i "$1" -nn -Z root -Q in -s 1600 -c 1 -w "$RUN/frame-$1" ether proto 0x88cc
    read_neighbour "$RUN/frame-$1" > "$RUN/lldp-$1.part" && mv "$RUN/lldp-$1.part" "$RUN/lldp-$1" && return
    sleep 1
  done
}

# read_neighbour FILE: false when the file has no frame that describes a neighbour.
read_neighbour() {
  head -c 1640 "$1" | od -An -v -t u1 | jq -s -e -f "$LIB/lldp.jq"
}

neighbour_of() {
  if [ -s "$RUN/lldp-$1" ]; then cat "$RUN/lldp-$1"; else echo null; fi
}

# The BMC's address, read over the local bus.
bmc_facts() {
  modprobe -abq ipmi_si ipmi_devintf 2> /dev/null
  address='' mac='' vendor=''
  for channel in ${BMC_DEVICE_CHECK:+1} $([ -e "$DEV/ipmi0" ] && echo 1 2 8); do
    timeout 10 ipmitool lan print "$channel" > "$RUN/bmc" 2> /dev/null || continue
    address=$(sed -n 's/^IP Address  *: *//p' "$RUN/bmc" | head -n 1)
    mac=$(sed -n 's/^MAC Address  *: *//p' "$RUN/bmc" | head -n 1)
    [ "$address" != 0.0.0.0 ] && [ -n "$address" ] && break
  done
  if [ -z "$mac$address" ]; then
    echo '{ "bmc": null }'
    return
  fi
  vendor=$(timeout 10 ipmitool mc info 2> /dev/null | sed -n 's/^Manufacturer Name  *: *//p')
  jq -n --arg address "$address" --arg mac "$mac" --arg vendor "$vendor" '
    def given: if . == "" or . == "0.0.0.0" or . == "Unknown" then null else . end;
    { bmc: { address: ($address | given), mac: ($mac | given), vendor: ($vendor | given) } }'
}

# Writes $RUN/facts.json for the appliance, and $RUN/disks.json with additional fields that only we need.
collect_facts() {
  wait_for_disks
  disk_facts > "$RUN/disks.json"
  {
    system_facts
    cpu_facts
    jq '{ disks: map(del(.removable)) }' "$RUN/disks.json"
    nic_facts
    bmc_facts
  } | jq -s add > "$RUN/facts.json"
}

inspect_machine() {
  step_started inspect 'collecting hardware facts'
  collect_facts
  send_facts "$RUN/facts.json"
  step_done inspect "$(jq -r '"\(.cpu.threads) threads, \(.memory.bytes / 1048576 | floor) MiB, \(.disks | length) disks, \(.nics | length) cards"' "$RUN/facts.json")"
}

# Reports the facts again after the switches had time to announce themselves.
report_neighbours() {
  await_neighbours
  report_heard
}

# A switch may send its first frame 30 seconds after the link is up. Cards that the order names may take longer to get a link.
await_neighbours() {
  while neighbours_are_missing 32 || ordered_neighbours_are_missing 45; do sleep 1; done
}

# A virtual card is connected to a bridge, which sends no LLDP: do not wait for it unless the order does.
neighbours_are_missing() {
  [ "$(seconds)" -lt "$((watch_began + $1))" ] || return 1
  for name in $(cards); do
    [ "$(line_of "$SYS/class/net/$name/carrier")" = 1 ] && [ ! -s "$RUN/lldp-$name" ] || continue
    case $(card_driver "$name") in
      virtio_net | vmxnet3 | hv_netvsc | xen_netfront | vif) ;;
      *) return 0 ;;
    esac
  done
  return 1
}

# The order names the cards whose switch port is declared.
ordered_neighbours_are_missing() {
  [ "$(seconds)" -lt "$((watch_began + $1))" ] || return 1
  for mac in $(order '.neighbours // [] | .[]'); do
    name=$(card_with_mac "$mac") || continue
    [ -s "$RUN/lldp-$name" ] || return 0
  done
  return 1
}

# Reports the facts again when a switch was heard since they were collected. The cards keep their names and addresses: an
# installation may have changed them meanwhile.
report_heard() {
  nic_facts > "$RUN/nics.json"
  jq --slurpfile now "$RUN/nics.json" '
    ($now[0].nics | map({ key: .name, value: { link, speed_mbps, neighbour } }) | from_entries) as $news
    | .nics |= map(. + ($news[.name] // {}))' "$RUN/facts.json" > "$RUN/facts-now.json"
  cmp -s "$RUN/facts.json" "$RUN/facts-now.json" && return 0
  mv "$RUN/facts-now.json" "$RUN/facts.json"
  send_facts "$RUN/facts.json"
}
