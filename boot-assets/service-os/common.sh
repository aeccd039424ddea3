# shellcheck shell=sh disable=SC2034
# Functions that every other file uses: output, parsing, and ending the machine's work.

RUN=${RUN:-/run/coldiron}
SYS=${SYS:-/sys}
DEV=${DEV:-/dev}
LOG=$RUN/log
CONSOLE=${CONSOLE:-/dev/console}

# Prints to the screen and to the log, whose last lines are part of every report. Control characters could change a terminal.
say() {
  printf 'coldiron: %s\n' "$*" | tr -d '\000-\010\013-\037\177' | tee -a "$LOG" > "$CONSOLE"
}

# Reads our kernel parameters; missing ones are empty.
read_command_line() {
  server='' mode='' session='' node='' profile='' boot_mac=''
  read -r words < "$1"
  for word in $words; do
    case $word in
      coldiron.server=*) server=${word#*=} ;;
      coldiron.mode=*) mode=${word#*=} ;;
      coldiron.session=*) session=${word#*=} ;;
      coldiron.node=*) node=${word#*=} ;;
      coldiron.profile=*) profile=${word#*=} ;;
      # 01 is the hardware type Ethernet.
      BOOTIF=01-*) boot_mac=$(printf '%s' "${word#BOOTIF=01-}" | tr 'A-F-' 'a-f:') ;;
    esac
  done
}

# The first line of a file, without surrounding blanks; nothing when it cannot be read.
line_of() {
  head -n 1 "$1" 2> /dev/null | tr -d '\000' | sed 's/^[[:space:]]*//; s/[[:space:]]*$//'
}

# 1.5 GB, for people.
size_in_words() {
  awk -v bytes="$1" 'BEGIN {
    split("bytes kB MB GB TB PB", unit, " "); at = 1
    while (bytes >= 1000 && at < 6) { bytes /= 1000; at++ }
    printf (at == 1 || bytes >= 100) ? "%d %s" : "%.1f %s", bytes, unit[at]
  }'
}

# Leaves the machine on with the reason on its screen, so that it can be read, and so that nothing is retried forever.
give_up() {
  say "STOPPED: $1"
  say 'this machine now waits; it does nothing more until it is switched off or reset'
  while :; do sleep 3600; done
}

restart() {
  say 'restarting'
  leave reboot
}

switch_off() {
  say 'switching off'
  leave poweroff
}

leave() {
  sync
  umount -a -r 2> /dev/null
  "$1" -f
  while :; do sleep 60; done
}
