#!/bin/sh
# Usage: unshare --mount --pid --fork --kill-child sh in-debian.sh ROOT FOLDER PROGRAM
# Runs the agent PROGRAM in a Debian system of its own, with the network of the host: ROOT is not changed, and FOLDER, which
# has the agent's files, is the same inside and outside.
set -eu
root=$1 folder=$2 program=$3

work=$folder/system
mkdir -p "$work"
mount -t tmpfs -o mode=0755 none "$work"
mkdir "$work/upper" "$work/work" "$work/root"
mount -t overlay -o "lowerdir=$root,upperdir=$work/upper,workdir=$work/work" overlay "$work/root"
cd "$work/root"
mount -t proc proc proc
for place in dev run; do mount -t tmpfs -o mode=0755 none "$place"; done
for device in null:3 zero:5 random:8 urandom:9; do mknod -m 666 "dev/${device%:*}" c 1 "${device#*:}"; done
mknod -m 666 dev/tty c 5 0
mkdir dev/pts
mount -t devpts -o newinstance,ptmxmode=0666,mode=0620 devpts dev/pts
ln -s pts/ptmx dev/ptmx
chmod 1777 tmp
mkdir -p ".$folder"
mount --bind "$folder" ".$folder"
exec chroot . dash "$program"
