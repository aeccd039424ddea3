#!/bin/sh
# Usage: remove-interrupted.sh FOLDER
# Removes the systems FOLDER/*.new that an interrupted run left. Their mounts come first, the last one first: below a bind mount of /dev,
# rm would delete the devices of the host.
set -eu

for left in "$1"/*.new; do
  [ -d "$left" ] || continue
  awk -v below="$left/" 'index($5 "/", below) == 1 { print $5 }' /proc/self/mountinfo | tac |
    while read -r mount; do umount "$mount" || umount --lazy "$mount"; done
  rm -rf --one-file-system "$left"
done
