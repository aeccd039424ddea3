#!/bin/sh
# Called by udhcpc with the values of the lease.
# shellcheck disable=SC2154
. /service-os/common.sh
case $1 in
  deconfig) ip link set "$interface" up ;;
  bound | renew)
    ip address flush dev "$interface"
    ip address add "$ip/${mask:-24}" dev "$interface"
    for gateway in $router; do ip route replace default via "$gateway" dev "$interface" && break; done
    : > /etc/resolv.conf
    for server in $dns; do echo "nameserver $server" >> /etc/resolv.conf; done
    [ "$1" = bound ] && say "$interface has $ip/${mask:-24} from $serverid"
    ;;
esac
exit 0
