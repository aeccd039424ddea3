#!/bin/sh
# Installs the node agent of node01 with the bootstrap bundle 0123456789ab.
# It contains an enrollment token: only root on that node may read it. Delete it afterwards.
# Running it again changes nothing but damaged files, which it repairs; a newer bundle makes the node enroll again.
set -eu
umask 077

hostname='node01'
bundle_id='0123456789ab'
install_root='/opt/coldiron/node-agent'
agent_path='/opt/coldiron/node-agent/node-agent'
env_file='/etc/coldiron/node-agent.env'
unit_name='coldiron-node-agent.service'
ca_bundle='/etc/coldiron/ca-bundle.crt'
node_ca_bundle='/etc/coldiron/node-cert-ca-bundle.crt'
cert='/etc/coldiron/cert.pem'
key='/etc/coldiron/key.pem'
marker=$install_root/bundle-id
unit_file=/etc/systemd/system/$unit_name
wanted_by=/etc/systemd/system/multi-user.target.wants/$unit_name

ca_bundle_text='-----BEGIN CERTIFICATE-----
AAAA
-----END CERTIFICATE-----
'
node_ca_bundle_text='-----BEGIN CERTIFICATE-----
AAAA
-----END CERTIFICATE-----
-----BEGIN CERTIFICATE-----
AAAA
-----END CERTIFICATE-----
'
unit_text='[Unit]
Description=Coldiron node agent of node01
Wants=network-online.target
After=network-online.target
# An agent that cannot reach its control plane retries without limit.
StartLimitIntervalSec=0

[Service]
Type=simple
EnvironmentFile=/etc/coldiron/node-agent.env
ExecStart=/opt/coldiron/node-agent/node-agent
Restart=always
RestartSec=5
UMask=0077
StateDirectory=coldiron
StateDirectoryMode=0700
# It writes only its own files and cannot gain privileges.
ProtectSystem=strict
ReadWritePaths=/etc/coldiron
NoNewPrivileges=yes
PrivateTmp=yes
ProtectHome=yes
ProtectControlGroups=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
LockPersonality=yes
MemoryDenyWriteExecute=yes
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX AF_NETLINK
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
SystemCallArchitectures=native

[Install]
WantedBy=multi-user.target
'
env_text='COLDIRON_NODE_ID="11111111-2222-3333-4444-555555555555"
COLDIRON_API_URL="https://api.internal:8444"
COLDIRON_ENROLLMENT_TOKEN="ce_0123456789ab_S3cr3t-_S3cr3t-_S3cr3t-_S3cr3t-_S3cr3t-_abc"
COLDIRON_TASK_SIGNING_PUBKEYS="active:0011223344556677:MCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=,staged:8899aabbccddeeff:MCowBQYDK2VwAyEA/FHNjmIYoaONpH7QAjDwWAgW7RO6MwOsXeuRFUiQgCU="
COLDIRON_CA_BUNDLE_PATH="/etc/coldiron/ca-bundle.crt"
COLDIRON_CA_FINGERPRINT="AB:CD"
COLDIRON_NODE_CERT_CA_BUNDLE_PATH="/etc/coldiron/node-cert-ca-bundle.crt"
COLDIRON_CERT_PATH="/etc/coldiron/cert.pem"
COLDIRON_KEY_PATH="/etc/coldiron/key.pem"
COLDIRON_NODE_AGENT_OCI_REF="registry.internal/coldiron/node-agent:1.0"
COLDIRON_NODE_AGENT_DIGEST="sha256:313254b50daae8acd17f35aa8f0dc6298d1d72d58f75bf0793da2bd1f7fac364"
COLDIRON_NODE_AGENT_PULL_DELIVERY_MODE="embedded"
COLDIRON_NODE_AGENT_INSTALL_ROOT="/opt/coldiron/node-agent"
COLDIRON_NODE_AGENT_ENV_FILE="/etc/coldiron/node-agent.env"
COLDIRON_NODE_AGENT_SYSTEMD_UNIT="coldiron-node-agent.service"
'
agent_text='#!/bin/sh
# It'\''s an agent: "quotes", $variables, `commands`, back\slashes and ümlauts.
printf '\''%s\n'\'' '\''hello'\'' "$1"

'
agent_digest='sha256:313254b50daae8acd17f35aa8f0dc6298d1d72d58f75bf0793da2bd1f7fac364'

root=
dry_run=no
start=yes
changed=no

usage() {
  printf '%s\n' \
    'install-node-agent.sh [--dry-run] [--no-start] [--root DIR] [--report PART]' \
    '  --dry-run   say what would change, and change nothing' \
    '  --no-start  install only; the agent starts with the next boot' \
    '  --root DIR  install into the system below DIR, which is not running' \
    '  --report PART  tell the appliance that this part of the first boot failed, and change nothing'
}

say() { printf '%s\n' "$*"; }

fail() {
  printf 'install-node-agent.sh: %s\n' "$*" >&2
  exit 1
}

# A trailing mark keeps the line ends that a command substitution would remove.
holds() {
  [ -f "$1" ] && [ ! -L "$1" ] && [ "$(cat "$1" 2>/dev/null && printf x)" = "$2x" ]
}

# place FILE MODE TEXT: writes atomically. Prints the name and never the text.
place() {
  target=$root$1
  if holds "$target" "$3" && [ "$(stat -c %a "$target")" = "$2" ]; then
    say "unchanged: $1"
    return
  fi
  changed=yes
  if [ "$dry_run" = yes ]; then
    say "would write: $1"
    return
  fi
  (umask 022 && mkdir -p "${target%/*}")
  rm -f "$target.new"
  printf '%s' "$3" >"$target.new"
  chmod "$2" "$target.new"
  mv -f "$target.new" "$target"
  say "written: $1"
}

# keep_authorities FILE TEXT: keeps newer authorities, if they can be read.
keep_authorities() {
  if grep -q -e '-----BEGIN CERTIFICATE-----' "$root$1" 2>/dev/null &&
    { ! command -v openssl >/dev/null 2>&1 || openssl x509 -in "$root$1" -noout 2>/dev/null; }; then
    say "kept: $1"
  else
    place "$1" 644 "$2"
  fi
}

# value_of NAME: a value of the env file, without the prefix that the site chose. Only values in the form that the agent writes.
value_of() { sed -n "s/^[A-Z][A-Z0-9]*_$1=\"\([^\"]*\)\"\$/\1/p" "$root$env_file" 2>/dev/null | tail -n 1; }

# Every variable is there and has a plausible value, and no line is something else.
env_is_whole() {
  [ -f "$root$env_file" ] && [ ! -L "$root$env_file" ] || return 1
  [ "$(value_of NODE_ID)" = "$(setting NODE_ID)" ] || return 1
  case $(value_of API_URL) in https://?*) ;; *) return 1 ;; esac
  case $(value_of ENROLLMENT_TOKEN) in ce_?*) ;; *) return 1 ;; esac
  for name in $(printf '%s' "$env_text" | sed 's/=.*//'); do
    grep -q "^$name=\".*\"\$" "$root$env_file" || return 1
  done
  ! grep -qv '^[A-Z][A-Z0-9_]*=".*"$' "$root$env_file"
}

# The token that the agent stored is kept if it can still be read: the one of the bundle works only once.
repair_env() {
  kept_token=$(value_of ENROLLMENT_TOKEN)
  case $kept_token in
    ce_*[!A-Za-z0-9_-]* | '') place "$env_file" 600 "$env_text" ;;
    ce_*)
      place "$env_file" 600 "$(printf '%s' "$env_text" | grep -v '_ENROLLMENT_TOKEN=')
$(printf '%s' "$env_text" | sed -n 's/_ENROLLMENT_TOKEN=.*/_ENROLLMENT_TOKEN=/p')\"$kept_token\"
"
      ;;
    *) place "$env_file" 600 "$env_text" ;;
  esac
}

# An earlier certificate would keep the agent from using the new token.
set_aside() {
  [ -e "$root$1" ] || return 0
  changed=yes
  if [ "$dry_run" = yes ]; then
    say "would set aside: $1"
    return
  fi
  mv -f "$root$1" "$root$1.before-$bundle_id"
  say "set aside: $1"
}

check_agent() {
  [ -n "$agent_digest" ] || return 0
  found=$(printf '%s' "$agent_text" | sha256sum | cut -d ' ' -f 1)
  [ "sha256:$found" = "$agent_digest" ] || fail "the agent in this file is not the one the bundle names: $agent_digest"
}

is_installed() {
  [ -f "$root$env_file" ] && holds "$root$marker" "$bundle_id
"
}

enable_at_boot() {
  if [ "$(readlink "$root$wanted_by" 2>/dev/null)" = "../$unit_name" ]; then
    say "unchanged: $wanted_by"
    return
  fi
  changed=yes
  if [ "$dry_run" = yes ]; then
    say "would enable: $unit_name"
    return
  fi
  (umask 022 && mkdir -p "$root${wanted_by%/*}")
  ln -sfn "../$unit_name" "$root$wanted_by"
  say "enabled: $unit_name"
}

start_agent() {
  if [ "$start" = no ] || [ -n "$root" ] || [ ! -d /run/systemd/system ]; then
    say "the agent starts with the next boot"
    return
  fi
  if [ "$dry_run" = yes ]; then
    say "would start: $unit_name"
    return
  fi
  systemctl daemon-reload
  if [ "$changed" = yes ]; then
    systemctl restart "$unit_name"
  else
    systemctl start "$unit_name"
  fi
  say "started: $unit_name"
}

# setting NAME: a value of the environment, whose names begin with what the site chose.
setting() { printf '%s\n' "$env_text" | sed -n "s/^[A-Z][A-Z0-9]*_$1=\"\(.*\)\"\$/\1/p" | head -n 1; }

# report PART: the token is neither printed nor an argument, and stays valid.
report() {
  command -v curl >/dev/null 2>&1 || fail 'curl is missing'
  scratch=$(mktemp -d) || fail 'cannot make a folder for scratch files'
  trap 'rm -rf "$scratch"' EXIT
  printf '%s' "$ca_bundle_text" >"$scratch/ca"
  setting ENROLLMENT_TOKEN | tr -d '\n' >"$scratch/token"
  tail -n 20 "$1.log" 2>/dev/null | head -c 8000 >"$scratch/output" || :
  status_text=$(head -c 1000 "$1.status" 2>/dev/null) || status_text=
  outcome=$(printf '%s' "$status_text" | sed -n 's/.*"outcome":"\([a-z-]*\)".*/\1/p')
  code=$(printf '%s' "$status_text" | sed -n 's/.*"exit":\([0-9]*\).*/\1/p')
  part=${1#/var/lib/coldiron/}
  api_url=$(setting API_URL)
  # The network may have come up a moment ago.
  for pause in 2 5 10 0; do
    curl --silent --show-error --fail --proto '=https' --noproxy '*' --tlsv1.2 --cacert "$scratch/ca" --capath /dev/null \
      --connect-timeout 10 --max-time 20 --output /dev/null \
      --data-urlencode "node_id=$(setting NODE_ID)" --data-urlencode "token@$scratch/token" \
      --data-urlencode "part=$part" --data-urlencode "outcome=${outcome:-failed}" --data-urlencode "exit=$code" \
      --data-urlencode "output@$scratch/output" "${api_url%/}/node/v1/first-boot" && return 0
    sleep "$pause"
  done
  fail "$api_url did not take the report"
}

while [ $# -gt 0 ]; do
  case $1 in
    --dry-run) dry_run=yes ;;
    --no-start) start=no ;;
    --root)
      [ $# -ge 2 ] || fail '--root needs a folder'
      [ -d "$2" ] || fail "--root: there is no folder $2"
      root=$(cd "$2" && pwd)
      [ "$root" != / ] || root=
      shift
      ;;
    --report)
      [ $# -ge 2 ] || fail '--report needs the path of a part'
      report "$2"
      exit 0
      ;;
    -h | --help)
      usage
      exit 0
      ;;
    *)
      usage >&2
      exit 2
      ;;
  esac
  shift
done

if [ -z "$root" ] && [ "$dry_run" = no ] && [ "$(id -u)" -ne 0 ]; then fail 'must be run as root'; fi
check_agent
say "node agent of $hostname, bundle $bundle_id"

place "$agent_path" 755 "$agent_text"
place "$unit_file" 644 "$unit_text"
if is_installed; then
  # The agent owns these files now: it has stored its recovery token and newer CA certificates there.
  keep_authorities "$ca_bundle" "$ca_bundle_text"
  keep_authorities "$node_ca_bundle" "$node_ca_bundle_text"
  if env_is_whole; then say "kept: $env_file"; else repair_env; fi
else
  set_aside "$cert"
  set_aside "$key"
  place "$ca_bundle" 644 "$ca_bundle_text"
  place "$node_ca_bundle" 644 "$node_ca_bundle_text"
  place "$env_file" 600 "$env_text"
  # Written last: after an interruption before this point, all steps above run again.
  place "$marker" 600 "$bundle_id
"
fi
enable_at_boot
if [ "$changed" = no ]; then say 'nothing had to change'; fi
if [ "$changed" = yes ] && [ "$dry_run" = no ]; then sync; fi
start_agent
