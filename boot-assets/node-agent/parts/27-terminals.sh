# A terminal, when this file is started as: terminal ID USER TERM HOME SHELL. Two connections of the node carry it: one with what is typed,
# one with what is shown. It is a session of its own, so that heartbeats and tasks go on, and it ends when either connection ends.
# Standard error is the log of the agent.

# terminal_request NAME METHOD-OPTIONS...: without a limit of time, but it ends when the appliance is silent for half a minute.
terminal_request() {
  request_name=$1
  shift
  exec curl --silent --proto '=https' --noproxy '*' --tlsv1.2 --cacert "$ca_bundle" --capath /dev/null --cert "$cert" --key "$key" \
    --connect-timeout 10 --fail --no-buffer "$@" "$api_url/node/v1/terminals/$terminal/$request_name"
}

# terminal_as_user USER TERM HOME SHELL: the session with an environment of its own. The agent's own service is confined, so
# systemd starts it beside that.
terminal_as_user() {
  session_text=$(sed -n '/^  # terminal session begins$/,/^  # terminal session ends$/p' "$0")
  set -- "$1" "TERM=$2" "HOME=$3" "$4" /bin/sh -c "$session_text" session "$4"
  user=$1 term=$2 home=$3 login=$4
  shift 4
  cd / || exit 1
  if [ -w /etc ]; then
    cd "${home#HOME=}" 2>/dev/null || cd / || exit 1
    exec env -i "$term" "$home" "USER=$user" "LOGNAME=$user" "SHELL=$login" "PATH=$PATH" LANG=C.UTF-8 \
      runuser -u "$user" -- "$@"
  fi
  exec systemd-run --quiet --wait --pipe --collect --service-type=exec "--uid=$user" "--working-directory=-${home#HOME=}" \
    --property=KillMode=process --property=SendSIGHUP=yes "--description=Coldiron terminal of $user" \
    "--setenv=$term" "--setenv=$home" "--setenv=SHELL=$login" "--setenv=PATH=$PATH" --setenv=LANG=C.UTF-8 "$@"
}

terminal_run() {
  exec 8>&-
  terminal=$1
  shift
  pipes=$(mktemp -d) || exit 1
  typed='' shown=''
  trap 'for process in $typed $shown; do kill -s TERM "$process" 2>/dev/null; done; rm -rf "$pipes"' EXIT
  trap 'exit 143' TERM INT HUP
  mkfifo "$pipes/typed" "$pipes/shown" || exit 1
  terminal_request input --speed-limit 1 --speed-time 30 >"$pipes/typed" </dev/null &
  typed=$!
  # Without Expect, which would cost a second.
  terminal_request output --upload-file - --header 'Expect:' <"$pipes/shown" >/dev/null &
  shown=$!
  terminal_as_user "$@" <"$pipes/typed" >"$pipes/shown" 2>&1 &
  session=$!
  wait "$session"
  session_status=$?
  say "terminal $terminal: the shell of $1 ended with status $session_status"
  # What was shown last may still be on its way to a slow viewer.
  wait "$shown" &&
    (terminal_request end --data-urlencode "status=$session_status" --max-time 20 >/dev/null </dev/null)
  exit 0
}

if [ "${1-}" = terminal ]; then
  shift
  terminal_run "$@"
fi
