say "started for node $node_id, $api_url"
printf '%s\n' "$$" | place "$state/pid" 600
repair_identity
while [ "$stopping" = no ]; do
  { ensure_identity && heartbeat_if_due && report_system && report_unreported && ship_log && wait_for_task; } || {
    restore_if_settings_fail
    back_off
  }
done
exit 0
