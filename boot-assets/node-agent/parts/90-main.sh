say "started for node $node_id, $api_url"
repair_identity
while [ "$stopping" = no ]; do
  { ensure_identity && heartbeat_if_due && report_system && report_unreported && wait_for_task; } || back_off
done
exit 0
