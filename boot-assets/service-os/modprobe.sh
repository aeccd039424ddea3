#!/bin/sh
# modprobe(8) for modules that are compressed one by one, which busybox's own does not load: it is asked for the order in which
# they have to be loaded. The kernel calls this too (/sbin/modprobe).
export PATH=/usr/bin:/bin
busybox modprobe -D "$@" | awk '!seen[$2]++' | while read -r _ path options; do
  name=$(printf '%s' "${path##*/}" | tr - _)
  name=${name%.ko.gz}
  [ -d "/sys/module/$name" ] && continue
  unpacked=/run/module-$$-$name.ko
  # shellcheck disable=SC2086
  gzip -dc "$path" > "$unpacked" && insmod "$unpacked" $options
  rm -f "$unpacked"
done
