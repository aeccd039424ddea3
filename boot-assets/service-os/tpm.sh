# shellcheck shell=sh disable=SC2154
# The machine's TPM 2.0: its endorsement keys, an attestation key, a quote of PCR 0-7, and opening the session secret. A TPM that is absent,
# broken, locked or slow does not stop the machine: the reason goes to the screen and to the appliance.

TPM=$RUN/tpm
# For one command: a TPM may need half a minute to make an RSA key.
TPM_CALL_SECONDS=${TPM_CALL_SECONDS:-45}
# For all of them. A driver that hangs cannot be killed, so nothing waits for the process itself.
TPM_SECONDS=${TPM_SECONDS:-90}
TPM_INTERFACE=${TPM_INTERFACE:-device:$DEV/tpmrm0}

# tpm_call COMMAND…: on failure the reason is in $TPM/reason.
tpm_call() {
  TPM2TOOLS_TCTI=$TPM_INTERFACE timeout "$TPM_CALL_SECONDS" tpm2 "$@" > "$TPM/says" 2>&1 && return 0
  tpm_code=$?
  case $tpm_code in
    124 | 137 | 143) tpm_says="no reply within $TPM_CALL_SECONDS seconds" ;;
    # 'ERROR: Esys_Quote(0x101) - tpm:error(2.0): …'; only some lines have a code.
    *) tpm_says=$(sed -n 's/^ERROR: [^ ]*(0x[0-9A-Fa-f]*) - //p' "$TPM/says" | head -n 1) ;;
  esac
  [ -n "$tpm_says" ] || tpm_says=$(grep -v '^WARN' "$TPM/says" | tail -n 1)
  printf '%s: %s' "$1" "${tpm_says:-exit status $tpm_code}" | tr -cd '[:print:]' | cut -c 1-200 > "$TPM/reason"
  return 1
}

# Without a resource manager objects stay in the TPM, which has room for three.
tpm_flush() {
  TPM2TOOLS_TCTI=$TPM_INTERFACE timeout "$TPM_CALL_SECONDS" tpm2 flushcontext -t > /dev/null 2>&1 || :
}

# tpm_ek TYPE INDEX: the endorsement key, the hash of its public key, and the certificate that the manufacturer may have stored.
tpm_ek() {
  tpm_stored_ek "$1" || tpm_call createek -G "$1" -c "$TPM/ek-$1.ctx" -u "$TPM/ek-$1.pub" || return 1
  tpm_call readpublic -c "$(tpm_ek_object "$1")" -f der -o "$TPM/ek-$1.der" || return 1
  tpm_flush
  sha256sum < "$TPM/ek-$1.der" | cut -d ' ' -f 1 > "$TPM/ek-$1.name"
  tpm_certificate "$1" "$2"
  : > "$TPM/ek-$1.done"
}

# Firmware often stores the RSA key at this handle, which saves the seconds that it takes to make it again. The policy is that of all
# endorsement keys: any other object at the handle is ignored.
TPM_STORED_RSA=0x81010001
TPM_EK_POLICY=837197674484b3f81a90cc8d46a5d724fd52d76e06520b64f2a1da1b331469aa
tpm_stored_ek() {
  [ "$1" = rsa ] && tpm_call readpublic -c "$TPM_STORED_RSA" -o "$TPM/ek-rsa.pub" || return 1
  grep -q "^authorization policy: $TPM_EK_POLICY\$" "$TPM/says" && grep -q '^bits: 2048$' "$TPM/says" || return 1
  : > "$TPM/ek-rsa.stored"
}

# What names the key in a command: its handle, or the file that contains it.
tpm_ek_object() {
  if [ -e "$TPM/ek-$1.stored" ]; then echo "$TPM_STORED_RSA"; else echo "$TPM/ek-$1.ctx"; fi
}

# Most TPMs have one, and a missing one is no error.
tpm_certificate() {
  : > "$TPM/ek-$1.crt"
  cp "$TPM/reason" "$TPM/reason-before" 2> /dev/null
  tpm_call nvread "$2" -o "$TPM/ek-$1.read" && head -c 4096 "$TPM/ek-$1.read" > "$TPM/ek-$1.crt"
  mv "$TPM/reason-before" "$TPM/reason" 2> /dev/null || rm -f "$TPM/reason"
}

# tpm_ak TYPE SCHEME: an attestation key of this boot, which signs the quote and to which the session secret is bound.
tpm_ak() {
  tpm_call createak -C "$(tpm_ek_object "$1")" -c "$TPM/ak.ctx" -G "$1" -g sha256 -s "$2" -u "$TPM/ak.pub" || return 1
  tpm_flush
  : > "$TPM/ak.done"
}

# Bound to the ticket, so that it cannot be an older one.
tpm_quote() {
  printf '%s' "${session##*/}" | sha256sum | cut -d ' ' -f 1 > "$TPM/ticket"
  tpm_call quote -c "$TPM/ak.ctx" -l sha256:0,1,2,3,4,5,6,7 -g sha256 -q "$(cat "$TPM/ticket")" \
    -m "$TPM/quote.msg" -s "$TPM/quote.sig" -o "$TPM/quote.pcrs" -F values || return 1
  tpm_flush
  [ "$(wc -c < "$TPM/quote.pcrs")" -eq 256 ] || { echo 'quote: the SHA-256 bank of PCR 0-7 is not active' > "$TPM/reason" && return 1; }
  : > "$TPM/quote.done"
}

# ECC first: a TPM makes such keys at once, and RSA keys slowly.
tpm_exchange() {
  if tpm_ek ecc 0x01c0000a; then
    tpm_ak ecc ecdsa && tpm_quote
    cp "$TPM/reason" "$TPM/reason-kept" 2> /dev/null
    tpm_ek rsa 0x01c00002
    # A TPM without RSA is in order; what failed before is not.
    mv "$TPM/reason-kept" "$TPM/reason" 2> /dev/null || rm -f "$TPM/reason"
  else
    tpm_ek rsa 0x01c00002 && rm -f "$TPM/reason" && tpm_ak rsa rsassa && tpm_quote
  fi
}

# Early, so that the TPM works while the network comes up.
start_tpm() {
  rm -rf "$TPM"
  (umask 077 && mkdir -p "$TPM")
  tpm_present=no
  tpm_began=$(hundredths)
  if [ -e "$DEV/tpmrm0" ]; then
    tpm_present=yes
    in_background tpm tpm_exchange_timed
  elif [ -n "$(tpm_version)" ]; then
    tpm_present=yes
    printf 'version %s without %s: this service OS supports TPM 2.0' "$(tpm_version)" "$DEV/tpmrm0" > "$TPM/reason"
    : > "$TPM/ended"
  else
    : > "$TPM/ended"
  fi
}

tpm_exchange_timed() {
  tpm_exchange
  echo $(($(hundredths) - tpm_began)) > "$TPM/hundredths"
}

# Writes $TPM/report.json and $TPM/error.json, which the opening of the session contains, and prints the result.
collect_tpm() {
  [ -n "${tpm_present:-}" ] || start_tpm
  echo null > "$TPM/report.json"
  echo null > "$TPM/error.json"
  if [ "$tpm_present" = no ]; then
    say 'TPM: none'
    return
  fi
  if ! wait_until_ended tpm "$TPM_SECONDS" && [ ! -e "$TPM/quote.done" ]; then
    echo "no reply within $TPM_SECONDS seconds" > "$TPM/reason"
  fi
  tpm_report
  tpm_error=$(line_of "$TPM/reason")
  [ -z "$tpm_error" ] || jq -n --arg error "$tpm_error" '$error' > "$TPM/error.json"
  if [ -e "$TPM/ak.done" ]; then
    say "TPM: endorsement keys $(tpm_key_list); ${tpm_error:-PCR 0-7 quoted}$(awk '{ printf "; %.2f seconds", $1 / 100 }' "$TPM/hundredths" 2> /dev/null)"
  else
    say "TPM: cannot be used: $tpm_error"
  fi
}

tpm_key_list() {
  for type in ecc rsa; do [ ! -e "$TPM/ek-$type.done" ] || printf '%s ' "$type"; done | sed 's/ $//'
}

tpm_report() {
  [ -e "$TPM/ak.done" ] || return 0
  for type in ecc rsa; do
    [ -e "$TPM/ek-$type.done" ] || continue
    base64_of "$TPM/ek-$type.pub"
    base64_of "$TPM/ek-$type.crt"
    jq -n --rawfile public "$TPM/ek-$type.pub.b64" --rawfile certificate "$TPM/ek-$type.crt.b64" \
      '{ $public, certificate: (if $certificate == "" then null else $certificate end) }'
  done | jq -s . > "$TPM/eks.json"
  base64_of "$TPM/ak.pub"
  echo null > "$TPM/quote.json"
  if [ -e "$TPM/quote.done" ]; then
    base64_of "$TPM/quote.msg"
    base64_of "$TPM/quote.sig"
    jq -n --rawfile message "$TPM/quote.msg.b64" --rawfile signature "$TPM/quote.sig.b64" --arg pcrs "$(hex < "$TPM/quote.pcrs")" \
      '{ $message, $signature, pcrs: [range(8) | { (tostring): $pcrs[. * 64:(. + 1) * 64] }] | add }' > "$TPM/quote.json"
  fi
  jq -n --slurpfile ek "$TPM/eks.json" --rawfile ak "$TPM/ak.pub.b64" --slurpfile quote "$TPM/quote.json" \
    '{ ek: $ek[0], $ak, quote: $quote[0] }' > "$TPM/report.json"
}

base64_of() {
  base64 < "$1" | tr -d '\n' > "$1.b64"
}

# open_credential FILE: the 32 bytes that the appliance encrypted for this TPM, in $TPM/secret. The answer of the appliance names the
# endorsement key. On failure the reason is in $TPM/reason.
open_credential() {
  rm -f "$TPM/reason" "$TPM/secret"
  credential_ek=$(jq -r '.credential.ek | strings' "$1")
  credential_type=''
  for type in ecc rsa; do
    [ -e "$TPM/ek-$type.done" ] && [ "$(line_of "$TPM/ek-$type.name")" = "$credential_ek" ] && credential_type=$type
  done
  if [ -z "$credential_type" ]; then
    echo "the appliance encrypted the session for another TPM: endorsement key $credential_ek" | tr -cd '[:print:]' | cut -c 1-200 > "$TPM/reason"
    return 1
  fi
  jq -r '.credential.file | strings' "$1" | base64 -d > "$TPM/credential" 2> /dev/null
  in_background tpm-credential activate_credential "$credential_type"
  wait_until_ended tpm-credential "$TPM_SECONDS" || echo "no reply within $TPM_SECONDS seconds" > "$TPM/reason"
  [ ! -s "$TPM/reason" ] && [ -s "$TPM/secret" ]
}

# The use of an endorsement key is authorised by the endorsement hierarchy. Without --quiet the secret would be printed.
activate_credential() {
  tpm_call startauthsession --policy-session -S "$TPM/session.ctx" &&
    tpm_call policysecret -S "$TPM/session.ctx" -c e &&
    tpm_call activatecredential --quiet -c "$TPM/ak.ctx" -C "$(tpm_ek_object "$1")" -i "$TPM/credential" -o "$TPM/secret" -P "session:$TPM/session.ctx"
  TPM2TOOLS_TCTI=$TPM_INTERFACE timeout "$TPM_CALL_SECONDS" tpm2 flushcontext "$TPM/session.ctx" > /dev/null 2>&1 || :
  tpm_flush
}
