#!/bin/busybox sh
# Called by udhcpc with the values of the lease.
case $1 in
  deconfig) ip link set "$interface" up ;;
  bound | renew)
    ip address flush dev "$interface"
    ip address add "$ip/${mask:-24}" dev "$interface"
    for gateway in $router; do ip route add default via "$gateway"; done
    echo "coldiron-reporter: $interface has $ip from $serverid"
    ;;
esac
