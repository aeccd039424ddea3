#!/bin/busybox sh
# The only program of the reporter: takes an address, reports, and switches the machine off.
/bin/busybox mount -t proc proc /proc
/bin/busybox --install -s /bin
export PATH=/bin
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
# An error must not leave the machine running forever.
trap 'echo "coldiron-reporter: ends"; poweroff -f' EXIT

# Kernel updates have changed which virtio module needs which, so those that fail are tried again after the others.
for pass in 1 2 3; do
  while read -r module; do insmod "/modules/$module" 2> /dev/null; done < /modules/order
done

report= server=
for word in $(cat /proc/cmdline); do
  case $word in
    coldiron.report=*) report=${word#*=} ;;
    coldiron.server=*) server=${word#*=}/boot/report ;;
  esac
done
report=${report:-$server}
if [ -z "$report" ]; then
  echo 'coldiron-reporter: the kernel command line has neither coldiron.report nor coldiron.server'
  exit 1
fi

card=
# All limits are generous: on a busy host, time passes while the machine has no processor.
for attempt in $(seq 120); do
  for path in /sys/class/net/*/device; do
    [ -e "$path" ] && card=$(basename "$(dirname "$path")")
  done
  [ -n "$card" ] && break
  sleep 0.5
done
if [ -z "$card" ]; then
  echo 'coldiron-reporter: no network card'
  exit 1
fi
ip link set "$card" up
if ! udhcpc -i "$card" -n -q -t 60 -T 2 -s /address; then
  echo "coldiron-reporter: no address on $card"
  exit 1
fi

if [ -d /sys/firmware/efi ]; then platform=efi; else platform=pcbios; fi
mac=$(cat "/sys/class/net/$card/address")
query="mac=$mac&stage=reporter&platform=$platform&version=$(uname -r)&message=$(uname -m)"
for attempt in $(seq 60); do
  if wget -q -T 10 -O /dev/null "$report?$query"; then
    echo "coldiron-reporter: reported $mac $platform $(uname -m)"
    exit 0
  fi
  sleep 1
done
echo "coldiron-reporter: no answer from $report"
exit 1
