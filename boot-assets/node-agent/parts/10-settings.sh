# The settings of the bundle, from environment variables with a prefix that the site chooses.
# Sets prefix, node_id, api_url, ca_bundle, node_ca_bundle, cert, key, env_file, task_keys.
prefix=$(env | sed -n 's/^\([A-Z][A-Z0-9]*_\)NODE_AGENT_ENV_FILE=.*/\1/p' | head -n 1)
[ -n "$prefix" ] || die 'no variable ends in _NODE_AGENT_ENV_FILE: start it with the environment of its bundle'
setting() { eval "printf '%s' \"\${${prefix}$1-}\""; }
needed() {
  needed_value=$(setting "$1")
  [ -n "$needed_value" ] || die "${prefix}$1 is not set"
  printf '%s' "$needed_value"
}
node_id=$(needed NODE_ID) || exit 1
api_url=$(needed API_URL) || exit 1
ca_bundle=$(needed CA_BUNDLE_PATH) || exit 1
node_ca_bundle=$(needed NODE_CERT_CA_BUNDLE_PATH) || exit 1
cert=$(needed CERT_PATH) || exit 1
key=$(needed KEY_PATH) || exit 1
env_file=$(needed NODE_AGENT_ENV_FILE) || exit 1
task_keys=$(needed TASK_SIGNING_PUBKEYS) || exit 1
api_url=${api_url%/}
case $api_url in
  https://*) ;;
  *) die "${prefix}API_URL must be https: $api_url" ;;
esac
# From here on the token is only in its file, and not in the environment of any child.
unset "${prefix}ENROLLMENT_TOKEN"
