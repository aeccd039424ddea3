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

file '/etc/network/interfaces' '0644' 'YXV0byBsbwppZmFjZSBsbyBpbmV0IGxvb3BiYWNrCg=='
file '/etc/systemd/network/20-eno1.network' '0644' 'W01hdGNoXQpOYW1lPWVubzEKCltOZXR3b3JrXQpESENQPWlwdjQK'
file '/etc/ssh/sshd_config.d/10-coldiron.conf' '0600' 'UGFzc3dvcmRBdXRoZW50aWNhdGlvbiBubwpLYmRJbnRlcmFjdGl2ZUF1dGhlbnRpY2F0aW9uIG5vClBlcm1pdFJvb3RMb2dpbiBubwo='
systemctl enable 'systemd-networkd.service'
