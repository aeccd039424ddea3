#!/bin/sh
# The Coldiron node agent. It enrolls this machine as a node, renews its certificate, sends heartbeats, and runs the signed
# tasks that it knows. It needs a POSIX shell, curl, openssl and setsid, and the variables of its bundle.
#
#   no certificate            enroll with the token of the bundle; the key is made here and never leaves this machine
#   certificate has expired   recover with the recovery token, which replaces that token
#   two thirds are over       renew
#   every half minute         heartbeat, also while a task runs; failed units and the end of cloud-init when they change
#   in between                wait for a task, check it, report that it begins, run it, report its result
#
# Each event is one line on standard error. A token is never printed and never an argument.
#
# This file is joined from boot-assets/node-agent/parts by `npm run docs`; edit the parts. Each part starts with the globals
# that it sets. Globals that several parts use:
#
#   answer, status      body and HTTP status of the last request; status 000 means that there was no reply
#   child               what a signal must end: the process id that `run` waits for, or empty
#   handler             the process group of the running task handler with a minus sign, or empty
#   stopping            yes after SIGTERM or SIGINT
#   scratch, state      folder for temporary files; folder that outlives a restart
#   clock_offset        seconds to add to this node's clock to get the appliance's time
#   failures            failed rounds in a row; sets the pause before the next one
#   next_heartbeat      when the next heartbeat is due, in seconds since 1970
#   task_keys           the public keys that may sign tasks: state:id:key, separated by commas
set -u
umask 077
export LC_ALL=C
agent_version=5

say() { printf 'node-agent: %s\n' "$*" >&2; }
die() {
  say "$*"
  exit 1
}
