#!/bin/sh
# Usage: unshare … in-root.sh ROOT GIVEN CHANGED PROGRAM
# Runs a shell program in a Debian system of its own: ROOT stays as it is, the files below GIVEN are put into it, and what was
# changed is afterwards below CHANGED. There are no disks, no devices of the machine, and no network but what it makes itself.
set -eu
root=$1 given=$2 changed=$3 program=$4

work=$(mktemp -d)
mount -t tmpfs -o mode=0755 none "$work"
mkdir "$work/upper" "$work/work" "$work/root"
mount -t overlay -o "lowerdir=$root,upperdir=$work/upper,workdir=$work/work" overlay "$work/root"
cd "$work/root"
mount -t proc proc proc
mount -t sysfs -o ro sysfs sys
for folder in dev run tmp; do mount -t tmpfs -o mode=0755 none "$folder"; done
mknod -m 666 dev/null c 1 3
mknod -m 666 dev/zero c 1 5
mknod -m 666 dev/random c 1 8
mknod -m 666 dev/urandom c 1 9
ln -s /proc/self/fd dev/fd
cp -a "$given/." .
ip link set lo up

result=0
chroot . /bin/sh -eu -c "$program" || result=$?
cp -a "$work/upper/." "$changed/"
exit "$result"
