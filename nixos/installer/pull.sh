# shellcheck shell=bash disable=SC2154
# Mode pull: runs the whole installation here. The flake comes from the appliance, everything else from Nix.

FLAKE=$RUN/flake
WORK_LOG=$RUN/work-log
WORK_OUTPUT=$RUN/work-output
PROGRESS_SECONDS=${PROGRESS_SECONDS:-10}
NIX=(nix --extra-experimental-features 'nix-command flakes')

run_pull() {
  attribute=$(order .flake.attribute)
  case $attribute in
    '' | *[!a-z0-9-]*) finish_failed prepare 'the order names no node of its flake' ;;
  esac
  system="path:$FLAKE#nixosConfigurations.$attribute.config.system.build"
  trap 'rm -f "$DISK_KEY" "$RUN/secrets.tar"' EXIT
  prepare
  partition
  copy_system
  place_secrets
  install_system
  release_disks
  finish_done reboot
}

prepare() {
  step_started prepare 'fetching the configuration of this node'
  fetch_file "$(order .flake.file)" "$RUN/flake.tar" || finish_failed prepare "the configuration cannot be fetched: $(request_error)"
  mkdir -p "$FLAKE"
  tar -x -f "$RUN/flake.tar" -C "$FLAKE" 2> "$WORK_LOG" || finish_failed prepare "the configuration cannot be unpacked: $(last_line)"
  work prepare "${NIX[@]}" build --no-link --print-out-paths --no-write-lock-file "$system.diskoScript"
  disko=$(tail -n 1 "$WORK_OUTPUT")
  [ -x "$disko" ] || finish_failed prepare 'Nix built no program that divides the disks'
  step_done prepare 'the configuration is valid'
}

# From here on the disks are changed.
partition() {
  stop_if_cancelled partition
  step_started partition 'dividing the disks'
  if [ -n "$(order .disk_key)" ]; then
    fetch_secret "$(order .disk_key)" "$DISK_KEY" || finish_failed partition "the passphrase of the disks cannot be fetched: $(request_error)"
  fi
  work partition "$disko"
  rm -f "$DISK_KEY"
  # Otherwise everything would be installed into memory, and be lost.
  mountpoint -q "$ROOT" || finish_failed partition "nothing is mounted at $ROOT after the disks were divided"
  step_done partition "mounted at $ROOT"
}

# Builds in the store on the new disk: the installer's memory is too small for a whole system.
copy_system() {
  step_started copy-system 'building and fetching the system'
  scratch=$(mktemp -d -p "$ROOT")
  TMPDIR=$scratch work copy-system "${NIX[@]}" build --no-link --print-out-paths --no-write-lock-file \
    --store "$ROOT" --extra-substituters 'auto?trusted=1' "$system.toplevel"
  rm -rf "$scratch"
  toplevel=$(tail -n 1 "$WORK_OUTPUT")
  case $toplevel in
    /nix/store/*) ;;
    *) finish_failed copy-system 'Nix built no system' ;;
  esac
  step_done copy-system "$toplevel"
}

# As files that only root can read, never as part of the configuration: the Nix store is world-readable.
place_secrets() {
  step_started secrets 'placing the secrets of this node'
  fetch_secret "$(order .secrets)" "$RUN/secrets.tar" || finish_failed secrets "the secrets cannot be fetched: $(request_error)"
  tar -x -p --no-same-owner -f "$RUN/secrets.tar" -C "$ROOT" 2> "$WORK_LOG" || finish_failed secrets "the secrets cannot be unpacked: $(last_line)"
  rm -f "$RUN/secrets.tar"
  if [ -d "$ROOT/etc/nixos/secrets" ]; then
    chmod 0700 "$ROOT/etc/nixos/secrets"
    find "$ROOT/etc/nixos/secrets" -type f -exec chmod 0600 {} +
  fi
  step_done secrets 'placed'
}

install_system() {
  step_started install 'installing the system and its boot loader'
  work install nixos-install --root "$ROOT" --system "$toplevel" --no-root-passwd --no-channel-copy
  step_done install 'installed'
}

release_disks() {
  step_started reboot 'unmounting the disks'
  sync
  swapoff -a 2>> "$LOG" || :
  umount -R "$ROOT" 2>> "$LOG" || :
  # A pool that is not exported belongs to the installer, and the new system would not import it.
  if command -v zpool > /dev/null; then zpool export -a 2>> "$LOG" || :; fi
}

fetch_secret() {
  local result
  # An existing file would keep its mode.
  rm -f "$ANSWER" "$2"
  umask 077
  fetch_file "$1" "$2"
  result=$?
  umask 022
  return "$result"
}

# work STEP COMMAND…: runs a command, reports progress regularly, and ends it when the work is cancelled.
work() {
  local step=$1 job
  shift
  say "$step: ${1##*/} ${2:-}"
  : > "$WORK_OUTPUT"
  "$@" > "$WORK_OUTPUT" 2> "$WORK_LOG" < /dev/null &
  job=$!
  while still_running "$job"; do
    if cancelled; then
      end_job "$job"
      finish_failed "$step" 'the work was cancelled'
    fi
    step_progress "$step" '' "$(last_line)"
  done
  if ! wait "$job"; then
    tail -n 15 "$WORK_LOG" | cut -c 1-300 >> "$LOG"
    finish_failed "$step" "${1##*/} failed: $(last_line)"
  fi
}

# True if the job still runs after PROGRESS_SECONDS; false as soon as it has ended.
still_running() {
  local until=$((SECONDS + PROGRESS_SECONDS))
  while kill -0 "$1" 2> /dev/null; do
    [ "$SECONDS" -lt "$until" ] || return 0
    sleep 0.2
  done
  return 1
}

end_job() {
  kill -TERM -- "-$1" 2> /dev/null
  for _ in 1 2 3 4 5 6 7 8 9 10; do
    kill -0 -- "-$1" 2> /dev/null || return 0
    sleep 0.5
  done
  kill -KILL -- "-$1" 2> /dev/null || :
}

last_line() {
  grep -v '^[[:space:]]*$' "$WORK_LOG" 2> /dev/null | tail -n 1 | cut -c 1-300
}
