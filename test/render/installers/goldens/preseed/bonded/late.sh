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
file '/etc/systemd/network/10-enp1s0f0.link' '0644' 'W01hdGNoXQpQZXJtYW5lbnRNQUNBZGRyZXNzPTUyOjU0OjAwOjEyOjM1OjAxCgpbTGlua10KTmFtZT1lbnAxczBmMAo='
file '/etc/systemd/network/20-enp1s0f0.network' '0644' 'W01hdGNoXQpOYW1lPWVucDFzMGYwCgpbTGlua10KTVRVQnl0ZXM9OTAwMAoKW05ldHdvcmtdCkJvbmQ9Ym9uZDAKTGlua0xvY2FsQWRkcmVzc2luZz1ubwo='
file '/etc/systemd/network/10-enp1s0f1.link' '0644' 'W01hdGNoXQpQZXJtYW5lbnRNQUNBZGRyZXNzPTUyOjU0OjAwOjEyOjM1OjAyCgpbTGlua10KTmFtZT1lbnAxczBmMQo='
file '/etc/systemd/network/20-enp1s0f1.network' '0644' 'W01hdGNoXQpOYW1lPWVucDFzMGYxCgpbTGlua10KTVRVQnl0ZXM9OTAwMAoKW05ldHdvcmtdCkJvbmQ9Ym9uZDAKTGlua0xvY2FsQWRkcmVzc2luZz1ubwo='
file '/etc/systemd/network/20-bond0.netdev' '0644' 'W05ldERldl0KTmFtZT1ib25kMApLaW5kPWJvbmQKTUFDQWRkcmVzcz01Mjo1NDowMDoxMjozNTowMQoKW0JvbmRdCk1vZGU9ODAyLjNhZApNSUlNb25pdG9yU2VjPTEwMG1zCg=='
file '/etc/systemd/network/20-bond0.network' '0644' 'W01hdGNoXQpOYW1lPWJvbmQwCgpbTGlua10KTVRVQnl0ZXM9OTAwMAoKW05ldHdvcmtdCkFkZHJlc3M9MTAuMC4xMDAuNjEvMjQKVkxBTj1ib25kMC4yMDAKVkxBTj1zdG9yYWdlCg=='
file '/etc/systemd/network/20-bond0.200.netdev' '0644' 'W05ldERldl0KTmFtZT1ib25kMC4yMDAKS2luZD12bGFuCgpbVkxBTl0KSWQ9MjAwCg=='
file '/etc/systemd/network/20-bond0.200.network' '0644' 'W01hdGNoXQpOYW1lPWJvbmQwLjIwMAoKW0xpbmtdCk1UVUJ5dGVzPTE1MDAKCltOZXR3b3JrXQpBZGRyZXNzPTEwLjAuMjAwLjMxLzI0CkROUz0xMC4wLjIwMC4xCkROUz04LjguOC44CkRvbWFpbnM9ZXhhbXBsZS5jb20KCltSb3V0ZV0KR2F0ZXdheT0xMC4wLjIwMC4xCgpbUm91dGVdCkRlc3RpbmF0aW9uPTEwLjkuMC4wLzE2CkdhdGV3YXk9MTAuMC4yMDAuMjU0Cg=='
file '/etc/systemd/network/20-storage.netdev' '0644' 'W05ldERldl0KTmFtZT1zdG9yYWdlCktpbmQ9dmxhbgoKW1ZMQU5dCklkPTMwMAo='
file '/etc/systemd/network/20-storage.network' '0644' 'W01hdGNoXQpOYW1lPXN0b3JhZ2UKCltOZXR3b3JrXQpESENQPWlwdjQKCltESENQdjRdClVzZVJvdXRlcz1ubwo='
file '/etc/systemd/network/10-enp2s0.link' '0644' 'W01hdGNoXQpQZXJtYW5lbnRNQUNBZGRyZXNzPTUyOjU0OjAwOjEyOjM1OjAzCgpbTGlua10KTmFtZT1lbnAyczAK'
file '/etc/systemd/network/20-enp2s0.network' '0644' 'W01hdGNoXQpOYW1lPWVucDJzMAoKW0xpbmtdCk1UVUJ5dGVzPTQyMDAKUmVxdWlyZWRGb3JPbmxpbmU9bm8KCltOZXR3b3JrXQpBZGRyZXNzPTEwLjAuNTAuMzEvMjQK'
file '/etc/ssh/sshd_config.d/10-coldiron.conf' '0600' 'UGFzc3dvcmRBdXRoZW50aWNhdGlvbiBubwpLYmRJbnRlcmFjdGl2ZUF1dGhlbnRpY2F0aW9uIG5vClBlcm1pdFJvb3RMb2dpbiBubwo='
file '/etc/sudoers.d/90-coldiron' '0440' 'IyByZXZpZXdlZCBieSBhZGEKb3BlcmF0b3IgQUxMPShyb290KSBOT1BBU1NXRDogL3Vzci9iaW4vc3lzdGVtY3RsIHJlc3RhcnQgbmdpbnguc2VydmljZSwgL3Vzci9iaW4vaWQgIiIK'
file '/etc/systemd/system/coldiron-roce.service' '0644' 'W1VuaXRdCkRlc2NyaXB0aW9uPVRyYWZmaWMgY2xhc3NlcyBvZiB0aGUgUm9DRSBsaW5rcyB0aGF0IGxvc2Ugbm8gZnJhbWUKV2FudHM9bmV0d29yay1vbmxpbmUudGFyZ2V0CkFmdGVyPW5ldHdvcmstb25saW5lLnRhcmdldAoKW1NlcnZpY2VdClR5cGU9b25lc2hvdApSZW1haW5BZnRlckV4aXQ9eWVzCkV4ZWNTdGFydD0vdXNyL3NiaW4vZGNiIHBmYyBzZXQgZGV2IGVucDJzMCBwcmlvLXBmYyBhbGw6b2ZmIDM6b24KCltJbnN0YWxsXQpXYW50ZWRCeT1tdWx0aS11c2VyLnRhcmdldAo='
account 'operator' 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJt1vHfBpYDDDqDdnQ5Q1PpoQFwSKuJnE9RyCj0mVfEg operator@example.com
'
systemctl enable 'systemd-networkd.service'
systemctl enable 'coldiron-roce.service'
