# The user's side of a terminal, between the two marks. It runs as the user of the allocation, in a shell of its own, with nothing of the
# agent: no key, no variable, no open file but the three. Standard output has the bytes of the terminal. Standard input has lines:
#   k BASE64          keys
#   s ROWS COLUMNS    the size of the window; the first line is one of these
#   n ...             nothing, so that the connection is known to be alive
# The end of standard input hangs up, as a line does: programs that ignore SIGHUP continue, and everything else ends.
# shellcheck disable=SC2317 # 27-terminals.sh runs this text.
terminal_session() {
  # terminal session begins
  umask 022
  login=$1
  read -r _ rows columns || exit 1
  case $rows$columns in '' | *[!0-9]*) exit 1 ;; esac
  places=$(mktemp -d) || exit 1
  trap 'rm -rf "$places"' EXIT
  trap 'exit 129' HUP TERM INT
  mkfifo "$places/keys" "$places/tty" || exit 1
  # A background process of a shell has no standard input of its own.
  exec 4<&0 </dev/null
  # The shell starts when the size is set and the name of its terminal is known.
  # A background process of a shell ignores Ctrl-C, and so would everything in the terminal.
  SHELL=/bin/sh env --default-signal script -q -e -f -c \
    "stty rows $rows cols $columns; tty >$places/tty; SHELL=$login exec $login -l" /dev/null \
    <"$places/keys" 4<&- &
  line=$!
  (
    trap - EXIT
    exec 3>"$places/keys"
    read -r device <"$places/tty"
    while read -r event value more; do
      case $event in
        k) printf '%s' "$value" | base64 -d >&3 ;;
        s) stty -F "$device" rows "$value" cols "$more" ;;
      esac
    done
    kill -s HUP "$line"
    sleep 5
    kill -s KILL "$line"
  ) <&4 >/dev/null 2>&1 &
  keys=$!
  wait "$line"
  ended=$?
  kill -s KILL "$keys" 2>/dev/null
  exit "$ended"
  # terminal session ends
}
