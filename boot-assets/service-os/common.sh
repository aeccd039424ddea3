# shellcheck shell=sh disable=SC2034
# Words, files and the end: what every other file uses.

RUN=${RUN:-/run/coldiron}
SYS=${SYS:-/sys}
DEV=${DEV:-/dev}
LOG=$RUN/log
CONSOLE=${CONSOLE:-/dev/console}

# To the screen and to the log whose last lines go with every report. Control characters would write on somebody's terminal.
say() {
  printf 'coldiron: %s\n' "$*" | tr -d '\000-\010\013-\037\177' | tee -a "$LOG" > "$CONSOLE"
}

# The parameters of the kernel that are ours; what is not there is empty.
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
      # 01 is the type of hardware: Ethernet.
      BOOTIF=01-*) boot_mac=$(printf '%s' "${word#BOOTIF=01-}" | tr 'A-F-' 'a-f:') ;;
    esac
  done
}

# One line of a file, without the blanks around it; nothing when it cannot be read.
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

# The machine stays on with this on its screen: whoever stands before it can read it, and nothing is tried over and over.
stay() {
  say "STOPPED: $1"
  say 'this machine now waits; nothing more will happen until it is switched off or reset'
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
