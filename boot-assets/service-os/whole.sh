# shellcheck shell=sh
# Whether the kernel unpacked the whole initrd. It unpacks one that is damaged, or too large for the memory, as far as it can and starts
# this system all the same: what is missing then looks like missing hardware.

# initrd_problem ROOT MEMINFO: says what is missing; false when everything is there. The list has the number of files, and the last one.
initrd_problem() {
  files_wanted='' last_file=''
  { read -r files_wanted && read -r last_file; } < "$1/service-os/files" 2> /dev/null
  [ -n "$last_file" ] || return 1
  [ ! -e "$1/$last_file" ] || return 1
  printf 'the initrd is incomplete: %s of %s files are there. It was cut off or damaged, or does not fit into the memory of this machine (%s MB)\n' \
    "$(find "${1:-/}" -xdev -type f | wc -l)" "$files_wanted" "$(awk '/^MemTotal:/ { print int($2 / 1024) }' "$2")"
}
