# What the operating system says about itself: units that failed, with their last lines, and how cloud-init ended. It is looked at with
# each heartbeat and reported when it changes. Sets system_reported, next_system, system_until.
cloud_init_folder=${AGENT_CLOUD_INIT:-/run/cloud-init}
system_reported=never
next_system=0
system_until=0

# A service manager that hangs must not stop the heartbeats.
limited() { timeout 5 "$@" </dev/null 2>/dev/null; }

# describe_units: for each unit in the file `failed` its name, its result, and the last lines that it wrote. A unit that wrote nothing has
# only the lines of systemd.
# shellcheck disable=SC2317 # `run` calls it.
describe_units() {
  trap - EXIT INT TERM
  while read -r unit _; do
    [ -n "$unit" ] || continue
    printf 'unit %s %s\n' "$unit" "$(limited systemctl show --property=Result --value -- "$unit")"
    [ "$(now)" -lt "$system_until" ] || continue
    limited journalctl --boot --lines=5 --output=cat --no-pager --quiet "_SYSTEMD_UNIT=$unit" >"$scratch/lines"
    [ -s "$scratch/lines" ] ||
      limited journalctl --boot --lines=5 --output=cat --no-pager --quiet --unit="$unit" >"$scratch/lines"
    tr -cd '[:print:]\n' <"$scratch/lines" | cut -c 1-300 | sed 's/^/line /'
  done <"$scratch/failed" | head -c 24000
}

# An old cloud-init prints no JSON, but its result is in a file.
# shellcheck disable=SC2317 # `run` calls it.
describe_cloud_init() {
  trap - EXIT INT TERM
  timeout 20 cloud-init status --format json </dev/null 2>/dev/null | head -c 24000 >"$scratch/status.json"
  if [ -s "$scratch/status.json" ]; then cat "$scratch/status.json"; else head -c 24000 "$cloud_init_folder/result.json"; fi
}

# Never an error: a node without systemd has nothing to report, and an appliance of another version may not want it.
report_system() {
  log_action=system
  [ "$(now)" -ge "$next_system" ] || return 0
  next_system=$(($(now) + heartbeat_seconds))
  limited systemctl list-units --failed --plain --no-legend --no-pager >"$scratch/all-failed" || return 0
  head -n 20 "$scratch/all-failed" >"$scratch/failed"
  cloud_init_ended=no
  [ ! -e "$cloud_init_folder/result.json" ] || cloud_init_ended=yes
  system_now="$cloud_init_ended $(cut -d ' ' -f 1 "$scratch/failed" | tr '\n' ' ')"
  [ "$system_now" != "$system_reported" ] || return 0
  system_until=$(($(now) + 20))
  run describe_units >"$scratch/units"
  : >"$scratch/cloud-init"
  [ "$cloud_init_ended" = no ] || run describe_cloud_init >"$scratch/cloud-init"
  as_node /node/v1/system 20 --data-urlencode "units@$scratch/units" --data-urlencode "cloud_init@$scratch/cloud-init"
  case $status in
    200) say "reported the state of the system: cloud-init has ended: $cloud_init_ended, failed units: $(wc -l <"$scratch/all-failed" | tr -d ' ')" ;;
    000 | 5??) return 0 ;;
    *) say "the state of the system was refused ($status): $(reason)" ;;
  esac
  system_reported=$system_now
}
