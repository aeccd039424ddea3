# The accounts of allocations, when this file is started as: account VERB FOLDER ALLOCATION USER, and for `provision` KEYS SUDO, for
# `check` SUDO-SUM RULES-SUM.
# FOLDER has one file for each account that the agent made: its name is the allocation, its content the user. An account without
# such a file belongs to the system and is never touched. Every step may be repeated after an interruption.
# Sets account_homes, account_folder, account_marker.
account_homes=/home
account_fail() {
  printf '%s\n' "$*"
  exit 1
}
account_exists() { id -u "$1" >/dev/null 2>&1; }
account_home() { getent passwd "$1" | cut -d : -f 6; }

# The commands that sudo lets a user run, one line for each rule; empty: none.
account_rules() {
  command -v sudo >/dev/null 2>&1 || return 0
  sudo -l -U "$1" 2>/dev/null | sed -n '/may run the following commands/,$p' | sed 1d
}
account_rules_sum() { account_rules "$1" | sha256sum | cut -d ' ' -f 1; }
# A rule for every command, from whatever file or group it comes.
account_may_do_all() { account_rules "$1" | sed 's/^ *([^)]*) *//; s/[A-Z_]*: *//g' | grep -Eq '(^|, )ALL(,|$)'; }

# account_sudo USER TEXT: installs the policy only if visudo accepts it, alone and with the other files.
account_sudo() {
  sudo_file=/etc/sudoers.d/coldiron-$1
  if [ "$2" = none ]; then
    rm -f "$sudo_file"
    return 0
  fi
  command -v visudo >/dev/null 2>&1 || account_fail 'sudo is missing on this node'
  # sudo ignores files with a dot in their name.
  { printf '%s' "$2" | tr '_-' '/+' | base64 -d >"$sudo_file.new" && chmod 440 "$sudo_file.new"; } ||
    account_fail "$sudo_file cannot be written"
  if ! visudo -cqf "$sudo_file.new" >/dev/null 2>&1; then
    rm -f "$sudo_file.new"
    account_fail 'visudo does not accept the sudo policy'
  fi
  mv -f "$sudo_file.new" "$sudo_file" || account_fail "$sudo_file cannot be written"
  if ! visudo -cq >/dev/null 2>&1; then
    rm -f "$sudo_file"
    account_fail 'visudo does not accept the sudo policy beside the other files of this node'
  fi
}

# account_check ALLOCATION USER SUDO-SUM RULES-SUM
account_check() {
  [ "$(cat "$account_folder/$1" 2>/dev/null)" = "$2" ] || account_fail "this node has no account of allocation $1"
  sudo_file=/etc/sudoers.d/coldiron-$2
  found=none
  [ ! -e "$sudo_file" ] || found=$(sha256sum "$sudo_file" | cut -d ' ' -f 1)
  if account_may_do_all "$2"; then account_fail "drift: $2 may run every command as root"; fi
  [ "$found" = "$3" ] || account_fail "drift: $sudo_file is not the reviewed one ($found)"
  [ "$(account_rules_sum "$2")" = "$4" ] || account_fail "drift: sudo gives $2 other commands than before"
  printf 'the root rights of %s are as given\n' "$2"
}

# Ends every process of a user. New logins are refused before this.
account_end_processes() {
  for second in 1 2 3 4 5 6 7 8 9 10; do
    still=
    for process in /proc/[0-9]*; do
      [ "$(stat -c %u "$process" 2>/dev/null)" = "$1" ] || continue
      kill -s KILL "${process##*/}" 2>/dev/null
      still=yes
    done
    [ -n "$still" ] || return 0
    [ "$second" = 10 ] || sleep 1
  done
  return 1
}

# account_remove ALLOCATION USER
account_remove() {
  account_marker=$account_folder/$1
  if [ ! -e "$account_marker" ]; then
    printf 'nothing to remove: this node has no account of allocation %s\n' "$1"
    return 0
  fi
  [ "$(cat "$account_marker")" = "$2" ] || account_fail "the account of allocation $1 is not $2 on this node"
  if account_exists "$2"; then
    account_uid=$(id -u "$2")
    [ "$account_uid" -ge 1000 ] || account_fail "$2 is a system account (uid $account_uid), and was not removed"
    rm -f "/etc/sudoers.d/coldiron-$2"
    usermod --expiredate 1 --shell /bin/false "$2" || account_fail "the account $2 cannot be closed"
    account_end_processes "$account_uid" || account_fail "processes of $2 do not end"
    if command -v crontab >/dev/null 2>&1; then crontab -r -u "$2" 2>/dev/null; fi
    find /tmp /var/tmp /dev/shm -xdev -user "$account_uid" -delete 2>/dev/null
    userdel --remove "$2" 2>/dev/null
    if account_exists "$2"; then account_fail "the account $2 cannot be removed"; fi
  fi
  rm -f "$account_marker" || account_fail "cannot write in $account_folder"
  printf 'removed the account %s of allocation %s\n' "$2" "$1"
}

# account_provision ALLOCATION USER KEYS SUDO
account_provision() {
  # What an earlier allocation left behind must not stay beside this one.
  for other in "$account_folder"/*; do
    if [ ! -f "$other" ] || [ "${other##*/}" = "$1" ]; then continue; fi
    account_remove "${other##*/}" "$(cat "$other")"
  done
  account_marker=$account_folder/$1
  if [ ! -e "$account_marker" ]; then
    if account_exists "$2"; then account_fail "the account $2 exists on this node and belongs to no allocation"; fi
    if [ -e "$account_homes/$2" ]; then account_fail "$account_homes/$2 exists on this node and belongs to no allocation"; fi
    { printf '%s\n' "$2" >"$account_folder.new" && mv -f "$account_folder.new" "$account_marker"; } ||
      account_fail "cannot write in $account_folder"
  fi
  [ "$(cat "$account_marker")" = "$2" ] || account_fail "the account of allocation $1 is not $2 on this node"
  # Interrupted before its home was made.
  if account_exists "$2" && [ ! -d "$(account_home "$2")" ]; then userdel "$2"; fi
  if ! account_exists "$2"; then
    account_shell=/bin/sh
    [ ! -x /bin/bash ] || account_shell=/bin/bash
    # No password: the account is open for keys only.
    useradd --create-home --user-group --password '*' --shell "$account_shell" --comment 'Coldiron allocation' "$2" ||
      account_fail "the account $2 cannot be created"
    chmod 700 "$(account_home "$2")"
  fi
  # As the user: a link in the user's own folder leads nowhere that the user may not write.
  # shellcheck disable=SC2016 # The inner shell expands $1.
  printf '%s' "$3" | tr '_-' '/+' | base64 -d | runuser -u "$2" -- /bin/sh -c '
    umask 077
    cd "$1" && mkdir -p .ssh && cat >.ssh/authorized_keys.new && mv -f .ssh/authorized_keys.new .ssh/authorized_keys
  ' sh "$(account_home "$2")" || account_fail "the SSH keys of $2 cannot be written"
  account_sudo "$2" "$4"
  if account_may_do_all "$2"; then account_fail "drift: $2 may run every command as root"; fi
  printf 'the account %s of allocation %s has %s SSH keys\n' "$2" "$1" \
    "$(printf '%s' "$3" | tr '_-' '/+' | base64 -d | grep -c .)"
  printf 'sudo rules %s\n' "$(account_rules_sum "$2")"
}

if [ "${1-}" = account ]; then
  account_folder=$3
  mkdir -p "$account_folder" || account_fail "cannot make $account_folder"
  case $2 in
    provision) account_provision "$4" "$5" "$6" "$7" ;;
    check) account_check "$4" "$5" "$6" "$7" ;;
    remove) account_remove "$4" "$5" ;;
  esac
  exit
fi
