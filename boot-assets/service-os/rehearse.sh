# shellcheck shell=sh disable=SC2154
# The call-home rehearsal: configures the final network of the installed machine in a separate network namespace, and calls the
# appliance and its node API through it. Nothing is written before it succeeds. The cards return when the namespace is deleted.

REHEARSAL=rehearsal
CALL_SECONDS=${CALL_SECONDS:-20}

rehearse_network() {
  step_started rehearse 'testing the final network of this machine'
  home=$(order .network.call_home)
  if [ -z "$home" ]; then
    step_done rehearse 'the order has no network to test'
    return
  fi
  release_address "$card"
  problem=$(in_rehearsal 2>> "$LOG")
  ip netns delete "$REHEARSAL" 2>> "$LOG"
  bring_up_network
  [ -z "$problem" ] || finish_failed rehearse "$problem"
  step_done rehearse "$home replies through the final network"
}

# Prints the problem, or nothing.
in_rehearsal() {
  ip netns add "$REHEARSAL" && ip -n "$REHEARSAL" link set lo up || { echo 'the network namespace cannot be created' && return; }
  jq -c '.network.links[]' "$ORDER" > "$RUN/links"
  for kind in ethernet bond vlan; do
    while read -r link; do
      [ "$(field kind)" = "$kind" ] || continue
      "make_$kind" || return
      configure_link || return
    done < "$RUN/links"
  done
  gateway=$(order .network.gateway)
  if [ -n "$gateway" ] && ! inside ip route replace default via "$gateway"; then
    echo "the gateway $gateway is not reachable from any of the addresses"
    return
  fi
  call_home || return
  call_node_api
}

inside() {
  ip netns exec "$REHEARSAL" "$@"
}

field() {
  printf '%s' "$link" | jq -r ".$1 // empty"
}

make_ethernet() {
  own=$(card_with_mac "$(field mac | tr 'A-F' 'a-f')") || { echo "no card has the address $(field mac): there are $(card_list)" && return 1; }
  ip link set "$own" netns "$REHEARSAL" || { echo "$own cannot be moved into the namespace" && return 1; }
  [ "$own" = "$(field name)" ] || inside ip link set "$own" name "$(field name)" || { echo "$own cannot be renamed to $(field name)" && return 1; }
}

make_bond() {
  modprobe -q bonding max_bonds=0 2> /dev/null
  inside ip link add "$(field name)" type bond mode "$(field mode)" miimon 100 || { echo "the bond $(field name) cannot be created" && return 1; }
  for member in $(printf '%s' "$link" | jq -r '.members[]'); do
    inside ip link set "$member" down
    inside ip link set "$member" master "$(field name)" || { echo "$member cannot be added to $(field name)" && return 1; }
    inside ip link set "$member" up
  done
}

make_vlan() {
  modprobe -q 8021q 2> /dev/null
  inside ip link add link "$(field parent)" name "$(field name)" type vlan id "$(field id)" || { echo "VLAN $(field id) cannot be created on $(field parent)" && return 1; }
}

configure_link() {
  name=$(field name) mtu=$(field mtu) address=$(field address)
  if [ -n "$mtu" ] && ! inside ip link set "$name" mtu "$mtu"; then
    echo "$name does not accept an MTU of $mtu"
    return 1
  fi
  inside ip link set "$name" up
  case $address in
    '') ;;
    dhcp) lease_inside "$name" || { echo "$name gets no address by DHCP in the final network" && return 1; } ;;
    *) inside ip address add "$address" dev "$name" || { echo "$name does not accept the address $address" && return 1; } ;;
  esac
  printf '%s' "$link" | jq -r '.routes // [] | .[] | "\(.to) \(.via)"' | while read -r to via; do
    inside ip route add "$to" via "$via" dev "$name" || echo "the route to $to via $via on $name cannot be added"
  done
}

# For the time of the rehearsal: it does not stay to renew the lease.
lease_inside() {
  inside udhcpc -i "$1" -n -q -t 6 -T 2 -s /service-os/lease.sh >> "$LOG" 2>&1
}

# A link takes time to come up, and a switch to forward. Fails after it has printed the problem.
call_home() {
  until=$(($(seconds) + CALL_SECONDS))
  while :; do
    said=$(inside curl --silent --show-error --fail --connect-timeout 3 --max-time 10 --output /dev/null "$home" 2>&1) && return 0
    [ "$(seconds)" -lt "$until" ] || break
    sleep 1
  done
  unlit=''
  while read -r link; do
    [ "$(inside cat "/sys/class/net/$(field name)/carrier" 2> /dev/null)" = 1 ] || unlit="$unlit $(field name)"
  done < "$RUN/links"
  echo "the appliance cannot be reached at $home through the final network: $(printf '%s' "$said" | sed 's/^curl: ([0-9]*) //')${unlit:+; no link on$unlit}"
  return 1
}

# The installed system enrolls there, with the same authority. Any status is an answer: without a token there is nothing to get.
call_node_api() {
  node_api=$(order .network.node_api)
  if [ -z "$node_api" ] || [ ! -e "$AUTHORITY" ]; then return; fi
  # A handshake has more packets than a request, and each of them can be lost on a bad cable.
  until=$(($(seconds) + 3 * CALL_SECONDS))
  while :; do
    said=$(inside curl --silent --show-error --connect-timeout 5 --max-time 20 --output /dev/null --proto =https --noproxy '*' \
      --cacert "$AUTHORITY" --capath "$RUN/no-other-authorities" "$node_api" 2>&1) && return
    [ "$(seconds)" -lt "$until" ] || break
    sleep 1
  done
  echo "the node API cannot be reached at $node_api through the final network, so it could not enroll: $(printf '%s' "$said" | sed 's/^curl: ([0-9]*) //')"
}
