# shellcheck shell=sh disable=SC2154
# Configures the boot card by DHCP.

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

# The addresses that the cards were made with, one per line: a bond or an operator may have set another one. Only Ethernet.
permanent_addresses() {
  for name in $(cards); do
    permanent=$(ethtool -P "$name" 2> /dev/null | sed -n 's/^Permanent address: //p')
    case $permanent in
      ??:??:??:??:??:??) [ "$permanent" != 00:00:00:00:00:00 ] || permanent='' ;;
      *) permanent='' ;;
    esac
    printf '%s\n' "${permanent:-$(line_of "$SYS/class/net/$name/address")}"
  done | tr 'A-F' 'a-f' | grep -E '^([0-9a-f]{2}:){5}[0-9a-f]{2}$' | sort -u
}

# The card that BOOTIF names; without BOOTIF, the first card with a link.
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

# Retries forever: a switch port may not forward yet, or the appliance may be restarting.
bring_up_network() {
  ip link set lo up
  tries=0
  until take_address; do
    tries=$((tries + 1))
    say "no network yet (try $tries): $network_error"
    case $tries in 1 | 5 | 20) say "to do: $network_remedy" ;; esac
    sleep "$(backoff "$tries")"
    load_drivers
  done
}

take_address() {
  network_error="there is no network card with a driver; PCI network devices: $(pci_network_devices)"
  network_remedy='use a card that this service OS has a driver for; if the list is empty, switch the card on in the firmware setup'
  [ -n "$(cards)" ] || return 1
  network_error="no card has ${boot_mac:-a link}; cards: $(card_list); PCI network devices: $(pci_network_devices)"
  network_remedy='check the cable, and that the card that booted has a driver'
  card=$(choose_boot_card) || return 1
  ip link set "$card" up
  # A switch may take some time. DHCP is also tried when the link state is unknown: not every driver reports it.
  for _ in 1 2 3 4 5 6; do
    [ "$(line_of "$SYS/class/net/$card/carrier")" = 1 ] && break
    sleep 0.5
  done
  network_error="$card $(line_of "$SYS/class/net/$card/address") has no link"
  network_remedy='check the cable, the transceiver and the switch port'
  [ "$(line_of "$SYS/class/net/$card/carrier")" = 0 ] && return 1
  network_error="no reply from a DHCP server on $card $(line_of "$SYS/class/net/$card/address") within 12 s (UDP ports 67 and 68)"
  network_remedy="check the VLAN of the switch port and the DHCP relay; on the appliance, run: coldiron diagnose ${node:-NODE}"
  lease_address "$card"
}

# vendor:device and driver of each network controller (PCI class 02) on the bus, as `lspci -n` shows them.
pci_network_devices() {
  pci_found=''
  for path in "$SYS"/bus/pci/devices/*; do
    case $(line_of "$path/class") in 0x02*) ;; *) continue ;; esac
    pci_driver=$(readlink "$path/driver" 2> /dev/null) || pci_driver=''
    pci_vendor=$(line_of "$path/vendor") pci_device=$(line_of "$path/device")
    if [ -n "$pci_driver" ]; then pci_driver="driver ${pci_driver##*/}"; else pci_driver='no driver'; fi
    pci_found="$pci_found${pci_found:+, }${path##*/} ${pci_vendor#0x}:${pci_device#0x} ($pci_driver)"
  done
  printf '%s\n' "${pci_found:-none}"
}

card_list() {
  for name in $(cards); do printf '%s %s ' "$name" "$(line_of "$SYS/class/net/$name/address")"; done
}

own_address() {
  ip -4 -o address show dev "$card" | awk '{ sub(/\/.*/, "", $4); print $4; exit }'
}

# udhcpc keeps running and renews the lease.
lease_address() {
  udhcpc -i "$1" -n -t 6 -T 2 -p "$RUN/udhcpc.pid" -s /service-os/lease.sh >> "$LOG" 2>&1
}

release_address() {
  [ -f "$RUN/udhcpc.pid" ] && kill "$(cat "$RUN/udhcpc.pid")" 2> /dev/null
  rm -f "$RUN/udhcpc.pid"
  ip address flush dev "$1"
}

# 1, 2, 4 … 30 seconds.
backoff() {
  if [ "$1" -ge 5 ]; then echo 30; else echo $((1 << ($1 - 1))); fi
}
