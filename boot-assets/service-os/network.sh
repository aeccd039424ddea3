# shellcheck shell=sh
# The card that the machine booted from, with an address by DHCP.

cards() {
  for path in "$SYS"/class/net/*; do
    [ -e "$path/device" ] && basename "$path"
  done
}

card_with_mac() {
  for name in $(cards); do
    [ "$(line_of "$SYS/class/net/$name/address")" = "$1" ] && printf '%s\n' "$name" && return 0
  done
  return 1
}

# BOOTIF's; without one, or when that card is not to be found, the first with a link.
choose_boot_card() {
  if [ -n "$boot_mac" ]; then
    card_with_mac "$boot_mac"
    return
  fi
  for name in $(cards); do ip link set "$name" up 2> /dev/null; done
  for _ in 1 2 3 4 5 6 7 8 9 10; do
    for name in $(cards); do
      [ "$(line_of "$SYS/class/net/$name/carrier")" = 1 ] && printf '%s\n' "$name" && return 0
    done
    sleep 0.5
  done
  return 1
}

# For as long as it takes: a switch port that is not forwarding yet, an appliance that is being restarted.
bring_up_network() {
  ip link set lo up
  tries=0
  until take_address; do
    tries=$((tries + 1))
    say "no network yet (try $tries): $network_trouble"
    sleep "$(backoff "$tries")"
    load_drivers
  done
}

take_address() {
  network_trouble='there is no network card that a driver knows'
  [ -n "$(cards)" ] || return 1
  network_trouble="no card has the address ${boot_mac:-of a link}; there are: $(card_list)"
  card=$(choose_boot_card) || return 1
  ip link set "$card" up
  # A switch may take its time; DHCP itself is tried without a link too, because not every driver tells.
  for _ in 1 2 3 4 5 6; do
    [ "$(line_of "$SYS/class/net/$card/carrier")" = 1 ] && break
    sleep 0.5
  done
  network_trouble="$card has no link: is the cable in?"
  [ "$(line_of "$SYS/class/net/$card/carrier")" = 0 ] && return 1
  network_trouble="no DHCP server answers on $card"
  lease_address "$card"
}

card_list() {
  for name in $(cards); do printf '%s %s ' "$name" "$(line_of "$SYS/class/net/$name/address")"; done
}

# udhcpc stays and renews the lease.
lease_address() {
  udhcpc -i "$1" -n -t 6 -T 2 -p "$RUN/udhcpc.pid" -s /service-os/lease.sh >> "$LOG" 2>&1
}

give_up_address() {
  [ -f "$RUN/udhcpc.pid" ] && kill "$(cat "$RUN/udhcpc.pid")" 2> /dev/null
  rm -f "$RUN/udhcpc.pid"
  ip address flush dev "$1"
}

# 1, 2, 4 … 30 seconds.
backoff() {
  if [ "$1" -ge 5 ]; then echo 30; else echo $((1 << ($1 - 1))); fi
}
