#!/bin/sh
# Runs in Debian's installer before partitioning: finds the selected disks. If one of them is missing, a nonexistent
# disk is set, so that the installer has no disk to partition, whatever is done at its console.
set -eu
disks=

# Usage: meant PATH
meant() {
  if [ ! -b "$1" ]; then
    logger -t coldiron "this machine has no disk $1"
    debconf-set partman-auto/disk /dev/coldiron/no-such-disk
    exit 1
  fi
  disks="${disks:+$disks }$(readlink -f "$1")"
}

meant '/dev/disk/by-id/ata-DISK_A'
meant '/dev/disk/by-id/ata-DISK_B'
debconf-set partman-auto/disk "$disks"
