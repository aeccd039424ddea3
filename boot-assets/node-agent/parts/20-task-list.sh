# The closed list of tasks. Each handler writes its output, and its exit status is the result. Handlers run in a session of
# their own (see 25-handler-process.sh) and read task_parameters and clock_offset.
parameter() { printf '%s\n' "$task_parameters" | tr ',' '\n' | sed -n "s/^\"$1\":\"\([A-Za-z0-9_-]*\)\"\$/\1/p"; }

task_ping() { printf 'pong from %s\n' "$(uname -n)"; }

task_collect_facts() {
  printf 'hostname: %s\nkernel: %s\narchitecture: %s\n' "$(uname -n)" "$(uname -r)" "$(uname -m)"
  sed -n 's/^PRETTY_NAME=/system: /p' /etc/os-release 2>/dev/null | tr -d '"'
  sed -n 's/^model name[^:]*: */processor: /p' /proc/cpuinfo | head -n 1
  printf 'processors: %s\n' "$(grep -c '^processor' /proc/cpuinfo)"
  sed -n 's/^MemTotal: */memory: /p' /proc/meminfo
  for name in sys_vendor product_name product_serial product_uuid bios_version; do
    [ -r "/sys/class/dmi/id/$name" ] && printf '%s: %s\n' "$name" "$(cat "/sys/class/dmi/id/$name")"
  done
  for device in /sys/class/net/*; do
    [ -e "$device/device" ] || continue
    printf 'card %s: %s %s\n' "${device##*/}" "$(cat "$device/address")" "$(cat "$device/operstate")"
  done
  for device in /sys/block/*; do
    [ -e "$device/device" ] || continue
    printf 'disk %s: %s sectors\n' "${device##*/}" "$(cat "$device/size")"
  done
  return 0
}

task_run_diagnostics() {
  printf 'uptime: %s\nload: %s\n' "$(cut -d . -f 1 /proc/uptime)" "$(cut -d ' ' -f 1-3 /proc/loadavg)"
  sed -n 's/^MemAvailable: */memory available: /p' /proc/meminfo
  df -P / 2>/dev/null | sed -n '2s/.* \([0-9]*%\) .*/root file system: \1 used/p'
  printf 'clock: %s s off\n' "$((-clock_offset))"
  printf 'certificate: %s\n' "$(openssl x509 -in "$cert" -noout -enddate | cut -d = -f 2)"
  [ "$(parameter level)" = full ] || return 0
  command -v systemctl >/dev/null 2>&1 && systemctl --failed --no-legend --plain 2>/dev/null | sed 's/^/failed unit: /'
  command -v journalctl >/dev/null 2>&1 && journalctl -k -b -p err -n 50 --no-pager -q 2>/dev/null | sed 's/^/kernel: /'
  return 0
}

# run_programs FOLDER WORD: runs the site's own programs in name order. They know which workload runs here and how to move it.
# Without programs there is nothing to do. A program that others can write is not run.
run_programs() {
  programs_run=0
  for program in "$1"/*; do
    if [ ! -f "$program" ] || [ ! -x "$program" ]; then continue; fi
    if [ -n "$(find "$program" -perm -020 -o -perm -002)" ]; then
      printf '%s can be written by others, and was not run\n' "$program"
      return 1
    fi
    "$program" || {
      printf '%s failed with status %s\n' "$program" "$?"
      return 1
    }
    programs_run=$((programs_run + 1))
  done
  printf '%s: %s programs in %s\n' "$2" "$programs_run" "$1"
}
task_drain() { run_programs "${env_file%/*}/drain.d" drained; }
task_undrain() { run_programs "${env_file%/*}/undrain.d" undrained; }

# account_task VERB [VALUE...]: the agent's own service cannot write outside of its folders, so systemd starts the step beside it.
account_task() {
  accounts=${STATE_DIRECTORY:-/var/lib/coldiron}
  accounts=${accounts%%:*}/node-agent/accounts
  verb=$1
  shift
  set -- account "$verb" "$accounts" "$(parameter allocation)" "$(parameter user)" "$@"
  if [ -w /etc ]; then
    /bin/sh "$0" "$@"
  else
    systemd-run --quiet --wait --pipe --collect --property=RuntimeMaxSec=600 "--setenv=PATH=$PATH" /bin/sh "$0" "$@"
  fi
}
task_provision_account() { account_task provision "$(parameter keys)" "$(parameter sudo)"; }
task_check_account() { account_task check "$(parameter sudo)" "$(parameter rules)"; }
task_remove_account() { account_task remove; }

# Fetches the next agent and compares it with the signed checksum. It is put in place after the result is reported: see 68-update.sh.
task_update_agent() {
  next_agent=${STATE_DIRECTORY:-/var/lib/coldiron}
  next_agent=${next_agent%%:*}/node-agent/agent.next
  rm -f "$next_agent"
  if [ "$(sha256sum <"$0" | cut -d ' ' -f 1)" = "$(parameter digest)" ]; then
    printf 'the agent is this one already\n'
    return 0
  fi
  curl --silent --show-error --fail --proto '=https' --noproxy '*' --tlsv1.2 --cacert "$ca_bundle" --capath /dev/null \
    --connect-timeout 10 --max-time 120 --cert "$cert" --key "$key" --output "$next_agent.new" "$api_url/node/v1/agent" || {
    printf 'the new agent cannot be fetched\n'
    return 1
  }
  if [ "$(sha256sum <"$next_agent.new" | cut -d ' ' -f 1)" != "$(parameter digest)" ]; then
    rm -f "$next_agent.new"
    printf 'the new agent has another checksum than the task: it was discarded\n'
    return 1
  fi
  if ! grep -q '^agent_version=' "$next_agent.new" || ! /bin/sh -n "$next_agent.new"; then
    rm -f "$next_agent.new"
    printf 'the new agent is not a program that this node can run: it was discarded\n'
    return 1
  fi
  mv -f "$next_agent.new" "$next_agent" && printf 'fetched the agent %s\n' "$(parameter digest)"
}

# The terminal goes on after its task. The log of the agent is open as 9.
task_open_terminal() {
  accounts=${STATE_DIRECTORY:-/var/lib/coldiron}
  accounts=${accounts%%:*}/node-agent/accounts
  user=$(parameter user)
  if [ -z "$user" ] || [ "$(cat "$accounts/$(parameter allocation)" 2>/dev/null)" != "$user" ]; then
    printf 'this node has no account of allocation %s\n' "$(parameter allocation)"
    return 1
  fi
  uid=$(id -u "$user" 2>/dev/null) || uid=0
  if [ "$uid" -lt 1000 ]; then
    printf '%s is not the account of a person\n' "$user"
    return 1
  fi
  for program in script base64 mkfifo stty env; do
    command -v "$program" >/dev/null 2>&1 || {
      printf '%s is missing on this node\n' "$program"
      return 1
    }
  done
  login=$(getent passwd "$user" | cut -d : -f 7)
  # It closes 8 when it has left the group of this task, which is killed when the task is over.
  : "$(setsid /bin/sh "$0" terminal "$(parameter terminal)" "$user" "$(parameter term)" "$(getent passwd "$user" | cut -d : -f 6)" \
    "${login:-/bin/sh}" 8>&1 </dev/null >/dev/null 2>&9 9>&- &)"
  printf 'terminal %s of %s begins\n' "$(parameter terminal)" "$user"
}

# Parts that succeeded do not run again, unless their status is removed. As for accounts, systemd starts it beside the agent.
task_rerun_bootstrap() {
  state=${STATE_DIRECTORY:-/var/lib/coldiron}
  state=${state%%:*}
  if [ ! -f "$state/run-first-boot" ]; then
    printf 'there is no first boot to run again: %s/run-first-boot is missing\n' "$state"
    return 1
  fi
  again="$(parameter part)"
  # shellcheck disable=SC2016 # The inner shell expands it.
  set -- -c 'if [ "$2" = site ]; then rm -f "$1"/site-bootstrap/*.status; fi; exec /bin/sh "$1/run-first-boot"' sh "$state" "$again"
  if [ -w /etc ]; then
    /bin/sh "$@"
  else
    systemd-run --quiet --wait --pipe --collect --property=RuntimeMaxSec=1700 "--setenv=PATH=$PATH" /bin/sh "$@"
  fi
}

# The restart itself follows after the result is reported: see do_task.
task_restart_agent() { printf 'restarting the agent\n'; }
task_reboot() { printf 'restarting in %s s\n' "$(parameter delay_seconds)"; }

handle() {
  case $1 in
    ping) task_ping ;;
    collect-facts) task_collect_facts ;;
    run-diagnostics) task_run_diagnostics ;;
    drain) task_drain ;;
    undrain) task_undrain ;;
    provision-account) task_provision_account ;;
    check-account) task_check_account ;;
    remove-account) task_remove_account ;;
    update-agent) task_update_agent ;;
    open-terminal) task_open_terminal ;;
    rerun-bootstrap) task_rerun_bootstrap ;;
    restart-agent) task_restart_agent ;;
    reboot) task_reboot ;;
  esac
}
is_on_list() {
  case $1 in
    ping | collect-facts | run-diagnostics | drain | undrain | restart-agent | reboot) ;;
    provision-account | check-account | remove-account | update-agent | open-terminal | rerun-bootstrap) ;;
    *) return 1 ;;
  esac
}
