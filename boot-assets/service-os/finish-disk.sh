# shellcheck shell=sh disable=SC2154
# Work after the image is written: growing the partition, the cloud-init seed, and the firmware's boot entry.

# Space at the end of the disk for the seed, if the image's own file system cannot hold it.
SEED_SECTORS=16384
EFI_SYSTEM=c12a7328-f81f-11d2-ba4b-00a0c93ec93b

reread_partitions() {
  blockdev --rereadpt "$target" 2> /dev/null || partx --update "$target" 2> /dev/null || :
  for _ in 1 2 3 4 5 6 7 8 9 10; do
    [ -z "$(partition_numbers)" ] || [ -e "$(partition_device "$target" "$(partition_numbers | head -n 1)")" ] && return 0
    sleep 0.2
  done
}

# In disk order: number, start, size, type.
partitions() {
  sfdisk --json "$target" 2> /dev/null | jq -r --arg disk "$target" '
    .partitiontable.partitions // [] | sort_by(.start)[]
    | "\(.node | ltrimstr($disk) | ltrimstr("p")) \(.start) \(.size) \(.type | ascii_downcase)"'
}

partition_numbers() {
  partitions | cut -d ' ' -f 1
}

# Finds the partition with an operating system: $root_device, or empty.
find_root() {
  root_device='' root_type=''
  for number in $(partition_numbers); do
    device=$(partition_device "$target" "$number")
    type=$(blkid -o value -s TYPE "$device" 2> /dev/null)
    case $type in
      ext2 | ext3 | ext4 | xfs | btrfs) ;;
      *) continue ;;
    esac
    modprobe -q "$type" 2> /dev/null
    mount -t "$type" "$device" /mnt 2> /dev/null || continue
    if [ -e /mnt/etc/os-release ] || [ -L /mnt/etc/os-release ] || [ -e /mnt/usr/lib/os-release ]; then
      root_device=$device root_type=$type
    fi
    umount /mnt
    [ -n "$root_device" ] && return 0
  done
  return 0
}

grow_target() {
  step_started grow "growing the system to the whole of $disk"
  reread_partitions
  find_root
  if [ "$(order .grow)" != true ]; then
    step_done grow 'the order does not request it'
    return
  fi
  last=$(partitions | tail -n 1)
  if [ -z "$last" ]; then
    step_done grow 'the image has no partitions'
    return
  fi
  # The backup GPT belongs at the end of the disk; an MBR has none.
  sfdisk --quiet --relocate gpt-bak-std "$target" >> "$LOG" 2>&1 || :
  number=${last%% *}
  size='+'
  [ -n "$root_device" ] || size=$(($(disk_bytes "$disk") / 512 - $(echo "$last" | cut -d ' ' -f 2) - SEED_SECTORS - 34))
  if ! printf ',%s\n' "$size" | sfdisk --quiet --no-reread --force -N "$number" "$target" >> "$LOG" 2>&1; then
    finish_failed grow "partition $number cannot be made larger: $(tail -n 1 "$LOG")"
  fi
  reread_partitions
  grow_file_system "$(partition_device "$target" "$number")"
  step_done grow "partition $number is now $(size_in_words $(($(partitions | tail -n 1 | cut -d ' ' -f 3) * 512)))$grown"
}

# If the file system cannot be grown here, the system grows it at its first boot.
grow_file_system() {
  grown=', its file system grows at the first start'
  case $(blkid -o value -s TYPE "$1" 2> /dev/null) in
    ext2 | ext3 | ext4)
      e2fsck -fp "$1" >> "$LOG" 2>&1
      [ $? -le 1 ] && resize2fs "$1" >> "$LOG" 2>&1 && grown=' with its file system'
      ;;
    xfs)
      mount -t xfs "$1" /mnt && xfs_growfs /mnt >> "$LOG" 2>&1 && grown=' with its file system'
      umount /mnt 2> /dev/null || :
      ;;
  esac
}

# cloud-init's NoCloud: a folder in the system, or a file system labelled CIDATA.
seed_target() {
  names=$(order '.seed | if . == null then empty else .[] end')
  step_started seed 'placing the first configuration'
  if [ -z "$names" ]; then
    step_done seed 'the order has no seed files'
    return
  fi
  if [ -n "$root_device" ]; then
    mount -t "$root_type" "$root_device" /mnt || finish_failed seed "$root_device cannot be mounted"
    place=/mnt/var/lib/cloud/seed/nocloud where="/var/lib/cloud/seed/nocloud of $(basename "$root_device")"
  else
    make_seed_partition || finish_failed seed "there is no room for the seed on $disk: $(tail -n 1 "$LOG")"
    place=/mnt where="a partition CIDATA"
  fi
  mkdir -p "$place"
  for name in $names; do
    case $name in
      */* | .*) finish_failed seed "the order has an invalid file name: $name" ;;
    esac
    if ! fetch_file "$name" "$RUN/seed-file"; then
      umount /mnt
      finish_failed seed "$name could not be fetched: $(request_error)"
    fi
    cp "$RUN/seed-file" "$place/$name" || finish_failed seed "$name cannot be written: the file system is full"
    rm -f "$RUN/seed-file"
  done
  sync
  umount /mnt || finish_failed seed 'the file system cannot be unmounted cleanly'
  step_done seed "$(echo "$names" | tr '\n' ' ')in $where"
}

make_seed_partition() {
  modprobe -abq vfat nls_cp437 nls_ascii 2> /dev/null
  printf ',%s,EBD0A0A2-B9E5-4433-87C0-68B6B72699C7\n' "$((SEED_SECTORS - 2048))" | sfdisk --quiet --no-reread --append "$target" >> "$LOG" 2>&1 || return 1
  reread_partitions
  device=$(partition_device "$target" "$(partition_numbers | tail -n 1)")
  mkdosfs -n CIDATA "$device" >> "$LOG" 2>&1 && mount -t vfat "$device" /mnt
}

add_boot_entry() {
  label=$(order .boot_entry)
  step_started boot-entry 'adding a boot entry to the firmware'
  if [ "$(firmware_kind)" = bios ]; then
    step_done boot-entry 'BIOS boots from the disk without a boot entry'
    return
  fi
  system=$(partitions | awk -v type="$EFI_SYSTEM" '$4 == type { print $1; exit }')
  [ -n "$system" ] || finish_failed boot-entry 'the image has no EFI system partition, so this machine cannot start it'
  find_loader "$system" || finish_failed boot-entry 'the EFI system partition of the image has no loader for this machine'
  remove_old_entries "${label:=Coldiron $node}"
  if ! efibootmgr --quiet --create --disk "$target" --part "$system" --label "$label" --loader "$loader" >> "$LOG" 2>&1; then
    # The loader is at the path that firmware tries by default.
    case $loader in
      '\EFI\BOOT\'*)
        step_done boot-entry "the firmware rejected the boot entry ($(tail -n 1 "$LOG")); it will find $loader by itself"
        return
        ;;
      *) finish_failed boot-entry "the firmware rejected the boot entry: $(tail -n 1 "$LOG")" ;;
    esac
  fi
  step_done boot-entry "$label starts $loader"
}

remove_old_entries() {
  efibootmgr 2> /dev/null | awk -v label="$1" '
    /^Boot[0-9A-F][0-9A-F][0-9A-F][0-9A-F]/ {
      number = substr($1, 5, 4); name = $0; sub(/^[^ ]* /, "", name); sub(/\t.*/, "", name)
      if (name == label) print number
    }' | while read -r number; do efibootmgr --quiet --bootnum "$number" --delete-bootnum >> "$LOG" 2>&1; done
}

# The removable-media path first, then the names that distributions use; shim before the loader that it starts.
find_loader() {
  case $(machine_architecture) in
    arm64) suffix=aa64 ;;
    *) suffix=x64 ;;
  esac
  modprobe -abq vfat nls_cp437 nls_ascii nls_iso8859_1 2> /dev/null
  mount -t vfat -o ro "$(partition_device "$target" "$1")" /mnt || return 1
  found=$(cd /mnt && find . -type f | grep -i -E "^\./efi/[^/]+/(boot|shim|grub|systemd-boot)$suffix\.efi\$" |
    awk '{ name = tolower($0); rank = name ~ /\/boot\/boot/ ? 0 : name ~ /\/shim/ ? 1 : 2; print rank, $0 }' | sort | head -n 1 | cut -d ' ' -f 2-)
  umount /mnt
  [ -n "$found" ] || return 1
  loader=$(printf '%s' "${found#.}" | tr '/' '\\')
}
