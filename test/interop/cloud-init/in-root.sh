#!/bin/sh
# Usage: unshare … in-root.sh ROOT GIVEN CHANGED PROGRAM
# Runs a shell program in a separate Debian system: ROOT is not changed, the files below GIVEN are copied into it, and
# changed files are below CHANGED afterwards. There are no disks, no host devices, and no network but what it creates itself.
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
