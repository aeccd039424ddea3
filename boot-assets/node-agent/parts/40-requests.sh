# Requests to the node API, and files that are written whole. Sets status, failures, shown_at, trouble.
shown_at=0
trouble=
now() { date +%s; }
random_below() { printf '%s' "$(($(od -An -N4 -tu4 /dev/urandom | tr -d ' ') % $1))"; }
# field NAME: one line of the last reply. decoded NAME: a field of several lines, sent in base64 as NAME.base64.
field() { sed -n "s/^$1 //p" "$answer" | head -n 1; }
decoded() { field "$1.base64" | openssl base64 -d -A; }
# The message of an error reply, without control characters.
reason() { sed -n 's/.*"message":"\([^"]*\)".*/\1/p' "$answer" | tr -cd '[:print:]' | cut -c 1-300; }

# show_trouble WHAT TO-DO: on the screen of this node, whose login prompt looks healthy: at once, then every ten minutes while it lasts.
show_trouble() {
  trouble=$1
  [ "$(now)" -ge "$((shown_at + 600))" ] || return 0
  shown_at=$(now)
  show "$1"
  show "to do: $2"
}
trouble_is_over() {
  [ -n "$trouble" ] || return 0
  [ "$shown_at" = 0 ] || show "$api_url replies again"
  trouble='' shown_at=0
}
# One line, without control characters. A system without a console has nobody to show it to.
show() { printf '\r\nColdiron node agent: %s\r\n' "$(printf '%s' "$*" | tr -cd '[:print:]' | cut -c 1-500)" 2>/dev/null >>"$console"; }
# Address and port of the node API.
api_place() {
  api_host=${api_url#https://} api_host=${api_host%%/*}
  case $api_host in *:*) ;; *) api_host=$api_host:443 ;; esac
  printf 'TCP port %s of %s' "${api_host##*:}" "${api_host%:*}"
}
own_name() { hostname 2>/dev/null || uname -n; }

# place FILE MODE: atomically replaces the file with standard input, and syncs it to disk.
place() {
  { cat >"$1.new" && chmod "$2" "$1.new"; } 2>"$scratch/errors" || {
    fault disk "cannot write $1 (is the disk full or read-only?): $(tr -d '\n' <"$scratch/errors" | cut -c 1-200)"
    rm -f "$1.new" 2>/dev/null
    return 1
  }
  sync "$1.new" 2>/dev/null
  [ -s "$1.new" ] && mv -f "$1.new" "$1"
}

# The pause doubles with each failure, up to five minutes. It is partly random so that nodes do not retry all at once.
back_off() {
  failures=$((failures + 1))
  ceiling=$((failures < 9 ? 1 << failures : 300))
  [ "$ceiling" -le 300 ] || ceiling=300
  pause=$((ceiling / 2 + $(random_below $((ceiling / 2 + 1)))))
  say "next try in $pause s"
  run sleep "$pause"
}

# request PATH SECONDS [curl options]: the body is in the file $answer, the HTTP status in $status. Without --capath curl would also trust
# the authorities of the operating system.
request() {
  path=$1
  seconds=$2
  shift 2
  : >"$answer"
  run curl --silent --show-error --proto '=https' --noproxy '*' --tlsv1.2 --cacert "$ca_bundle" --capath /dev/null \
    --connect-timeout 10 --max-time "$seconds" --header 'Accept: text/plain' --output "$answer" \
    --write-out '%{http_code}' "$@" "$api_url$path" >"$scratch/status" 2>"$scratch/errors"
  status=$(cat "$scratch/status")
  [ -n "$status" ] || status=000
  if [ "$status" != 000 ]; then
    case $status in 2??) trouble_is_over ;; esac
    return 0
  fi
  problem="no reply from $api_url: $(tr -d '\n' <"$scratch/errors" | cut -c 1-300)"
  class=unreachable
  if grep -q -e 'not yet valid' -e 'has expired' "$scratch/errors"; then
    class=clock
  elif grep -qi -e 'ssl' -e 'certificate' "$scratch/errors"; then
    class=tls
  fi
  fault "$class" "$problem"
  # A certificate looks expired, or not yet valid, when the clock of this node is wrong.
  if [ "$class" = clock ]; then
    clock_says="$(date -u '+%Y-%m-%d %H:%M:%S') UTC"
    say "is the clock of this node right? It says $clock_says"
    valid_from=$(openssl x509 -in "$ca_bundle" -noout -startdate 2>/dev/null | cut -d = -f 2)
    show_trouble "$problem" "set the clock of this node: it says $clock_says, and the authority of the appliance is valid from $valid_from"
  else
    show_trouble "$problem" "check that $(api_place) is reachable from this node (VLAN, firewall); on the appliance, run: coldiron diagnose $(own_name)"
  fi
}
# The same with the node's certificate.
as_node() {
  as_path=$1
  as_seconds=$2
  shift 2
  request "$as_path" "$as_seconds" --cert "$cert" --key "$key" "$@"
}
