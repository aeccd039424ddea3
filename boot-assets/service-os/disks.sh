# shellcheck shell=sh
# Disks: lists and identifies them, and selects the one that an order describes.

# Whole disks with a size; no virtual devices, no optical drives, no empty card readers, not the medium with the session secret.
disk_names() {
  for path in "$SYS"/block/*; do
    name=$(basename "$path")
    [ "$name" != "$(cat "$RUN/medium/drive" 2> /dev/null)" ] || continue
    case $name in
      loop* | ram* | zram* | dm-* | md* | sr* | fd* | nbd* | mtdblock* | mmcblk*boot* | mmcblk*rpmb) continue ;;
      nvme*c*n*) continue ;;
    esac
    [ "$(line_of "$path/size")" -gt 0 ] 2> /dev/null && printf '%s\n' "$name"
  done
}

disk_bytes() {
  echo $(($(line_of "$SYS/block/$1/size") * 512))
}

# smartctl finds a serial number where the kernel has none; virtual disks have no SMART data.
smart_facts() {
  case $1 in
    sd* | nvme*) timeout 30 smartctl --json --info --health "$DEV/$1" 2> /dev/null ;;
  esac
}

disk_facts() {
  for name in $(disk_names); do
    path=$SYS/block/$name
    smart_facts "$name" > "$RUN/smart.json"
    [ -s "$RUN/smart.json" ] || echo '{}' > "$RUN/smart.json"
    serial=$(line_of "$path/serial")
    [ -n "$serial" ] || serial=$(line_of "$path/device/serial")
    # Page 80h of a disk's vital product data: four bytes, then the serial number.
    [ -n "$serial" ] || serial=$(tail -c +5 "$path/device/vpd_pg80" 2> /dev/null | tr -cd '[:print:]' | sed 's/^ *//; s/ *$//')
    wwid=$(line_of "$path/wwid")
    [ -n "$wwid" ] || wwid=$(line_of "$path/device/wwid")
    jq -n --arg name "$name" --arg serial "$serial" --arg model "$(line_of "$path/device/model")" \
      --arg vendor "$(line_of "$path/device/vendor")" --arg wwid "$wwid" --arg bytes "$(disk_bytes "$name")" \
      --arg rotational "$(line_of "$path/queue/rotational")" --arg read_only "$(line_of "$path/ro")" \
      --arg removable "$(line_of "$path/removable")" --slurpfile smart "$RUN/smart.json" -f "$LIB/disk-fact.jq"
  done | jq -s .
}

# choose_disk: prints the disk that matches the order; otherwise prints the reason and returns 1.
choose_disk() {
  jq -r --slurpfile order "$ORDER" -f "$LIB/choose-disk.jq" "$RUN/disks.json" > "$RUN/chosen"
  case $(cat "$RUN/chosen") in
    'disk '*) sed 's/^disk //' "$RUN/chosen" ;;
    *) sed 's/^refused //' "$RUN/chosen" && return 1 ;;
  esac
}

# /dev/sda 3 → /dev/sda3, /dev/nvme0n1 3 → /dev/nvme0n1p3
partition_device() {
  case $1 in
    *[0-9]) echo "$1p$2" ;;
    *) echo "$1$2" ;;
  esac
}

LIB=${LIB:-/service-os}
