#!/bin/sh
# Waits until every service of this node reports healthy; otherwise logs which one does not.
#
# HEALTH_URLS CA_FILE TIMEOUT_SECONDS
set -eu

log() { jq -cn --arg level "$1" --arg message "$2" '{level: $level, message: $message}'; }

is_healthy() { curl --silent --fail --cacert "$CA_FILE" --max-time 10 --output /dev/null "$1"; }

deadline=$(($(date +%s) + TIMEOUT_SECONDS))
failed=
for url in $HEALTH_URLS; do
  until is_healthy "$url"; do
    [ "$(date +%s)" -lt "$deadline" ] || break
    sleep "${POLL_SECONDS:-2}"
  done
  if is_healthy "$url"; then
    log INFO "Healthy: $url"
  else
    log ERROR "Health check timeout after ${TIMEOUT_SECONDS}s: $url"
    failed=yes
  fi
done
[ -z "$failed" ]
