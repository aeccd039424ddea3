# shellcheck shell=sh disable=SC2034,SC2154
# The keys of a session whose secret only this machine knows, and the files that are encrypted with them (docs/service-os.md). Keys are in
# files that only root can read, and in no argument of a process: printf is part of the shell.

# The secret in hexadecimal, without a newline; it exists only in sessions with identity tpm or media.
SECRET=$RUN/session-secret
SEALED_TYPE=application/vnd.coldiron.sealed+json

# Hexadecimal digits of standard input.
hex() {
  od -An -v -t x1 | tr -d ' \n'
}

# unhex DIGITS: the bytes.
unhex() {
  unhex_rest=$1 unhex_bytes=''
  while [ -n "$unhex_rest" ]; do
    unhex_byte=0x${unhex_rest%"${unhex_rest#??}"}
    unhex_rest=${unhex_rest#??}
    unhex_bytes=$unhex_bytes\\0$((unhex_byte >> 6))$((unhex_byte >> 3 & 7))$((unhex_byte & 7))
  done
  printf '%b' "$unhex_bytes"
}

# derived_key TEXT: SHA-256 of "TEXT <secret>", in hexadecimal.
derived_key() {
  { printf '%s ' "$1" && cat "$SECRET"; } | sha256sum | cut -d ' ' -f 1
}

# take_secret FILE: sets the secret of the session, 32 bytes, and with it the session key.
take_secret() {
  [ "$(wc -c < "$1")" -eq 32 ] || return 1
  (
    umask 077
    hex < "$1" > "$SECRET"
    printf 'Authorization: Bearer %s\n' "$(unhex "$(derived_key 'coldiron session')" | base64 | tr '+/' '-_' | tr -d '=\n')" > "$KEY"
  )
  rm -f "$1"
}

# hmac DIGITS FILE: HMAC-SHA-256 of the file with a key of 32 bytes (RFC 2104).
hmac() {
  hmac_inner=$({ hmac_pad "$1" 54 && cat "$2"; } | sha256sum | cut -d ' ' -f 1)
  { hmac_pad "$1" 92 && unhex "$hmac_inner"; } | sha256sum | cut -d ' ' -f 1
}

# hmac_pad DIGITS BYTE: the key, padded to a block of 64 bytes, XOR the byte.
hmac_pad() {
  pad_rest=$1 pad_bytes=''
  for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32; do
    pad_byte=$((0x${pad_rest%"${pad_rest#??}"} ^ $2))
    pad_rest=${pad_rest#??}
    pad_bytes=$pad_bytes\\0$((pad_byte >> 6))$((pad_byte >> 3 & 7))$((pad_byte & 7))
  done
  pad_byte=\\0$(($2 >> 6))$(($2 >> 3 & 7))$(($2 & 7))
  pad_half=$pad_byte$pad_byte$pad_byte$pad_byte$pad_byte$pad_byte$pad_byte$pad_byte
  printf '%b' "$pad_bytes$pad_half$pad_half$pad_half$pad_half"
}

# Compares hashes with a random prefix: the time that it takes tells nothing about the values.
same_text() {
  same_salt=$(head -c 16 /dev/urandom | hex)
  [ "$(printf '%s %s' "$same_salt" "$1" | sha256sum)" = "$(printf '%s %s' "$same_salt" "$2" | sha256sum)" ]
}

# open_sealed NAME FILE: replaces the sealed file by its content. Nothing is decrypted before the code that authenticates it matches.
# Sets $seal_error.
open_sealed() {
  seal_error="$1 is sealed, and this session has no secret to open it with"
  [ -s "$SECRET" ] || return 1
  seal_error="$1 is not a sealed file of that name"
  [ "$(jq -r '.name | strings' "$2" 2> /dev/null)" = "$1" ] || return 1
  (
    umask 077
    { printf '%s\0' "$1" && jq -r '.data | strings' "$2" | base64 -d 2> /dev/null; } > "$RUN/sealed-named"
  )
  sealed_mac=$(jq -r '.mac | strings' "$2")
  if ! same_text "$sealed_mac" "$(hmac "$(derived_key "coldiron authenticate $1")" "$RUN/sealed-named")"; then
    rm -f "$RUN/sealed-named"
    seal_error="$1 was changed on its way: its authentication code is wrong"
    return 1
  fi
  seal_error="$1 cannot be decrypted"
  (
    umask 077
    derived_key "coldiron encrypt $1" > "$RUN/sealed-pass"
    # The name and its zero byte precede the data.
    tail -c +$((${#1} + 2)) "$RUN/sealed-named" |
      openssl enc -d -aes-256-ctr -pbkdf2 -iter 1000 -md sha256 -pass "file:$RUN/sealed-pass" -out "$RUN/sealed-open" 2> /dev/null
  ) && mv "$RUN/sealed-open" "$2" && seal_error=''
  rm -f "$RUN/sealed-named" "$RUN/sealed-pass" "$RUN/sealed-open"
  [ -z "$seal_error" ]
}
