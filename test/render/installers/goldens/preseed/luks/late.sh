#!/bin/sh
# Runs inside the installed system, at the end of the installation.
set -eu
umask 022

# Usage: file PATH MODE BASE64
file() {
  mkdir -p "${1%/*}"
  (umask 077 && printf '%s' "$3" | base64 -d > "$1.new")
  chmod "$2" "$1.new"
  mv "$1.new" "$1"
  if command -v restorecon > /dev/null; then
    restorecon "$1"
  fi
}

# Usage: account NAME KEYS
account() {
  if ! id -u "$1" > /dev/null 2>&1; then
    getent group "$1" > /dev/null || groupadd "$1"
    useradd --create-home --shell /bin/bash --gid "$1" "$1"
  fi
  passwd --lock "$1" > /dev/null
  home=$(getent passwd "$1" | cut -d : -f 6)
  mkdir -p "$home/.ssh"
  printf '%s' "$2" > "$home/.ssh/authorized_keys"
  chmod 0700 "$home/.ssh"
  chmod 0600 "$home/.ssh/authorized_keys"
  chown -R "$1:" "$home/.ssh"
}

file '/etc/network/interfaces' '0644' 'YXV0byBsbwppZmFjZSBsbyBpbmV0IGxvb3BiYWNrCg=='
file '/etc/resolv.conf' '0644' 'c2VhcmNoIGV4YW1wbGUuY29tCm5hbWVzZXJ2ZXIgMTAuMC4yMDAuMQpuYW1lc2VydmVyIDguOC44LjgK'
file '/etc/systemd/timesyncd.conf.d/coldiron.conf' '0644' 'W1RpbWVdCk5UUD1udHAuZXhhbXBsZS5jb20K'
file '/etc/systemd/network/10-eth0.link' '0644' 'W01hdGNoXQpQZXJtYW5lbnRNQUNBZGRyZXNzPTUyOjU0OjAwOjEyOjM0OjU2CgpbTGlua10KTmFtZT1ldGgwCg=='
file '/etc/systemd/network/20-eth0.network' '0644' 'W01hdGNoXQpOYW1lPWV0aDAKCltOZXR3b3JrXQpBZGRyZXNzPTEwLjAuMTAwLjUwLzI0Cg=='
file '/etc/systemd/network/10-eth1.link' '0644' 'W01hdGNoXQpQZXJtYW5lbnRNQUNBZGRyZXNzPTUyOjU0OjAwOjIyOjM0OjU2CgpbTGlua10KTmFtZT1ldGgxCg=='
file '/etc/systemd/network/20-eth1.network' '0644' 'W01hdGNoXQpOYW1lPWV0aDEKCltOZXR3b3JrXQpBZGRyZXNzPTEwLjAuMjAwLjEwLzI0CkROUz0xMC4wLjIwMC4xCkROUz04LjguOC44CkRvbWFpbnM9ZXhhbXBsZS5jb20KCltSb3V0ZV0KR2F0ZXdheT0xMC4wLjIwMC4xCg=='
file '/etc/ssh/sshd_config.d/10-coldiron.conf' '0600' 'UGFzc3dvcmRBdXRoZW50aWNhdGlvbiBubwpLYmRJbnRlcmFjdGl2ZUF1dGhlbnRpY2F0aW9uIG5vClBlcm1pdFJvb3RMb2dpbiBubwo='
file '/etc/sudoers.d/90-coldiron' '0440' 'IyByZXZpZXdlZCBieSBhZGEKb3BlcmF0b3IgQUxMPShyb290KSBOT1BBU1NXRDogL3Vzci9iaW4vc3lzdGVtY3RsIHJlc3RhcnQgbmdpbnguc2VydmljZSwgL3Vzci9iaW4vaWQgIiIK'
account 'operator' 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJt1vHfBpYDDDqDdnQ5Q1PpoQFwSKuJnE9RyCj0mVfEg operator@example.com
'
systemctl enable 'systemd-networkd.service'
