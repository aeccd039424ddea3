# Enroll, recover and renew. Sets renew_again, must_recover, next_heartbeat, failures.
renew_again=0
must_recover=no

# enroll PATH WORDS
enroll() {
  log_action=${1##*/}
  text=$(token)
  if [ -z "$text" ]; then
    fault config "$2: there is no token in $env_file; reissue the bundle of this node"
    show_trouble "$2: there is no token in $env_file" "on the appliance, run: coldiron agent recover $(own_name), and run its command here"
    return 1
  fi
  make_request || {
    fault failed 'cannot make a key and a request'
    return 1
  }
  say "$2"
  printf '%s' "$text" >"$scratch/token"
  request "$1" 30 --data-urlencode "node_id=$node_id" --data-urlencode "token@$scratch/token" \
    --data-urlencode "certificate_request@$scratch/request"
  rm -f "$scratch/token"
  case $status in
    200)
      take_identity || return 1
      set_clock
      say "$(field result): the certificate is valid until $(openssl x509 -in "$cert" -noout -enddate | cut -d = -f 2)"
      next_heartbeat=0
      ;;
    000) return 1 ;;
    *)
      fault refused "refused ($status): $(reason)"
      show_trouble "$api_url refused this node ($status): $(reason)" "on the appliance, run: coldiron agent recover $(own_name), and run its command here"
      # A rejected token stays rejected, so wait longer.
      case $status in 401 | 403) failures=8 ;; esac
      return 1
      ;;
  esac
}

# renew WORDS
renew() {
  log_action=renew
  make_request || return 1
  say "$1"
  as_node /node/v1/renew 30 --data-urlencode "certificate_request@$scratch/request"
  if [ "$status" = 200 ] && take_identity; then
    say "renewed: the certificate is valid until $(openssl x509 -in "$cert" -noout -enddate | cut -d = -f 2)"
    next_heartbeat=0
    return 0
  fi
  [ "$status" = 000 ] || fault refused "not renewed ($status): $(reason)"
  refused_as_node
  return 1
}

# After 401 the certificate is useless, but the recovery token may still be valid.
refused_as_node() {
  [ "$status" = 401 ] || return 0
  must_recover=yes
}

ensure_identity() {
  if ! has_certificate; then
    enroll /node/v1/enroll 'enrolling'
  elif has_expired_for_sure; then
    enroll /node/v1/recover 'the certificate has expired: recovering with the recovery token'
  elif [ "$must_recover" = yes ]; then
    must_recover=no
    enroll /node/v1/recover 'the certificate is not accepted: recovering with the recovery token'
  elif renew_is_due && [ "$(now)" -ge "$renew_again" ]; then
    # The certificate is still valid, so the agent continues when this fails.
    renew 'two thirds of the certificate lifetime have passed: renewing' || renew_again=$(($(now) + 60 + $(random_below 240)))
  fi
}
