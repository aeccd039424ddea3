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
  server='' mode='' session='' node='' profile='' boot_mac='' boot_time=''
  read -r words < "$1"
  for word in $words; do
    case $word in
      coldiron.server=*) server=${word#*=} ;;
      coldiron.mode=*) mode=${word#*=} ;;
      coldiron.session=*) session=${word#*=} ;;
      coldiron.node=*) node=${word#*=} ;;
      coldiron.profile=*) profile=${word#*=} ;;
      coldiron.time=*) boot_time=${word#*=} ;;
      # 01 is the hardware type Ethernet.
      BOOTIF=01-*) boot_mac=$(printf '%s' "${word#BOOTIF=01-}" | tr 'A-F-' 'a-f:') ;;
    esac
  done
}

# set_clock SECONDS: the appliance's time when it made the boot script. Certificates have dates, and the clock of a machine may be wrong. A small
# difference is left alone.
set_clock() {
  case $1 in
    '' | *[!0-9]* | ????????????*) return 0 ;;
  esac
  clock_difference=$(($(date +%s) - $1))
  if [ "$clock_difference" -gt 300 ] || [ "$clock_difference" -lt -300 ]; then
    date -u -s "@$1" > /dev/null 2>> "$LOG" && say "clock: set to the time of the appliance; it was wrong by ${clock_difference#-} seconds"
  fi
  return 0
}

# Uptime, because the clock can be set.
seconds() {
  cut -d . -f 1 /proc/uptime
}

hundredths() {
  cut -d ' ' -f 1 /proc/uptime | tr -d .
}

# in_background NAME FUNCTION…: $RUN/NAME/ended exists when it has ended.
in_background() {
  background_name=$1
  shift
  mkdir -p "$RUN/$background_name"
  rm -f "$RUN/$background_name/ended"
  (
    umask 077
    "$@" || :
    : > "$RUN/$background_name/ended"
  ) < /dev/null > /dev/null 2>&1 &
}

# wait_until_ended NAME SECONDS: false when it has not ended by then.
wait_until_ended() {
  ended_deadline=$(($(seconds) + $2))
  until [ -e "$RUN/$1/ended" ]; do
    [ "$(seconds)" -lt "$ended_deadline" ] || return 1
    sleep 0.1
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

# give_up REASON [TO-DO]: leaves the machine on with the reason on its screen, so that it can be read, and so that nothing is retried forever.
give_up() {
  say "STOPPED: $1"
  say "to do: ${2:-on the appliance, run: coldiron diagnose ${node:-NODE}}"
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
