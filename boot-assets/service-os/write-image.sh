# shellcheck shell=sh disable=SC2154
# Streams the image from the appliance to the disk. Its sha256 is that of the file as transferred. A second checksum, of the data
# written to the disk, is compared with the data read back: it detects faulty hardware, not tampering, so a fast
# one is enough.

RESUMES=${RESUMES:-40}

write_target() {
  url=$(order .image.url) format=$(order .image.format) bytes=$(order .image.bytes)
  step_started write-image "writing $url to $disk"
  case $format in
    raw | gzip | zstd) ;;
    *) finish_failed write-image "the image has a format that this service OS does not support: $format" ;;
  esac
  release_disk
  for attempt in 1 2 3; do
    rm -f "$RUN/from-the-start"
    stream_image &
    watch_stream $!
    [ -f "$RUN/from-the-start" ] || break
    say "the server cannot resume the image: starting over (attempt $attempt)"
  done
  check_stream
  step_done write-image "$(size_in_words "$(cat "$RUN/written")") written, sha256 matches the order"
}

# Nothing on the disk may become active while it is being written.
release_disk() {
  wipefs --all --force --quiet "$target" >> "$LOG" 2>&1 || :
  clear_disk_start
}

# Each part writes its exit status to a file.
stream_image() {
  rm -f "$RUN"/stream-* "$RUN/written"
  mkfifo "$RUN/stream-transferred" "$RUN/stream-unpacked"
  sha256sum < "$RUN/stream-transferred" | cut -d ' ' -f 1 > "$RUN/stream-sha256" &
  xxhsum -q -H1 < "$RUN/stream-unpacked" 2> /dev/null | cut -d ' ' -f 1 > "$RUN/stream-sum" &
  {
    fetch_image
    echo $? > "$RUN/stream-fetched"
  } | tee "$RUN/stream-transferred" | {
    unpack_image 2> "$RUN/stream-unpack-says"
    echo $? > "$RUN/stream-unpack"
  } | tee "$RUN/stream-unpacked" | {
    write_stream 2> "$RUN/stream-write-says"
    echo $? > "$RUN/stream-write"
  }
  wait
}

# The start of the disk is written last, after the whole image has been verified: a machine that loses power before that has a
# disk that does not boot.
write_stream() {
  dd of="$RUN/stream-disk-start" bs=1M count=1 iflag=fullblock && dd of="$target" bs=1M seek=1 iflag=fullblock conv=fsync
}

write_disk_start() {
  dd if="$RUN/stream-disk-start" of="$target" bs=1M conv=notrunc,fsync 2> "$RUN/stream-write-says"
}

unpack_image() {
  case $format in
    raw) cat ;;
    gzip) gzip -dc ;;
    zstd) zstd -dcq ;;
  esac
}

# Resumes where the connection broke, also across a restart of the appliance. 33: the server does not support ranges, so the bytes
# already passed on cannot be skipped. 23: the reader has closed the pipe; the cause is further down the pipe.
fetch_image() {
  passed=0 tries=0 last_try=0
  while :; do
    curl --silent --show-error --fail --connect-timeout 5 --speed-limit 1 --speed-time 30 --continue-at "$passed" \
      --write-out '%{stderr}\nbytes=%{size_download}\n' "$url" 2> "$RUN/stream-fetch-says"
    code=$?
    [ "$code" = 0 ] && return 0
    fresh=$(sed -n 's/^bytes=//p' "$RUN/stream-fetch-says" | tail -n 1)
    passed=$((passed + ${fresh:-0}))
    case $code in
      23) return 23 ;;
      33)
        [ "$passed" -gt 0 ] && : > "$RUN/from-the-start"
        return 33
        ;;
    esac
    # Progress resets the retry counter.
    [ "$passed" -gt "$last_try" ] && tries=0
    last_try=$passed tries=$((tries + 1))
    [ "$tries" -gt "$RESUMES" ] && return "$code"
    echo "coldiron: the image stopped after $passed bytes ($(sed -n 's/^curl: //p' "$RUN/stream-fetch-says")); resuming" >> "$LOG"
    sleep "$(backoff "$tries")"
  done
}

# Sectors that the disk has accepted: field 7.
sectors_written() {
  awk '{ print $7 }' "$SYS/block/$disk/stat"
}

watch_stream() {
  first=$(sectors_written)
  pause=0
  while kill -0 "$1" 2> /dev/null; do
    sleep 0.5
    pause=$((pause + 1))
    [ "$pause" -ge 6 ] || continue
    pause=0
    done_bytes=$((($(sectors_written) - first) * 512))
    step_progress write-image "$(percent_of "$done_bytes" "${bytes:-0}")" "$(size_in_words "$done_bytes") written" "$done_bytes"
  done
  wait "$1" 2> /dev/null || :
}

# Never 100 before the end; empty when the size is not known.
percent_of() {
  [ "$2" -gt 0 ] || return 0
  percent=$(($1 * 100 / $2))
  if [ "$percent" -gt 99 ]; then echo 99; else echo "$percent"; fi
}

stream_result() {
  cat "$RUN/stream-$1" 2> /dev/null
}

# The part that failed first is the reason; later failures are consequences.
check_stream() {
  awk '$2 == "bytes" { written += $1 } END { printf "%.0f\n", written }' "$RUN/stream-write-says" > "$RUN/written"
  if [ "$(stream_result write)" != 0 ]; then
    clear_disk_start
    finish_failed write-image "$disk cannot be written: $(write_error)"
  fi
  case $(stream_result fetched) in
    0) ;;
    *)
      clear_disk_start
      finish_failed write-image "the image could not be downloaded: $(sed -n 's/^curl: ([0-9]*) //p' "$RUN/stream-fetch-says" | head -n 1)"
      ;;
  esac
  wanted=$(order .image.sha256)
  found=$(stream_result sha256)
  if [ "$wanted" != "$found" ]; then
    clear_disk_start
    finish_failed check-image-sum "the image does not match the order: its sha256 is $found, not $wanted"
  fi
  if [ "$(stream_result unpack)" != 0 ]; then
    clear_disk_start
    finish_failed write-image "the image cannot be unpacked as $format: $(head -n 1 "$RUN/stream-unpack-says")"
  fi
  if [ -n "$bytes" ] && [ "$(cat "$RUN/written")" != "$bytes" ]; then
    clear_disk_start
    finish_failed write-image "the image has $(cat "$RUN/written") bytes, the order says $bytes"
  fi
  write_disk_start || finish_failed write-image "$disk cannot be written: $(write_error)"
}

write_error() {
  sed -n 's/^dd: //p' "$RUN/stream-write-says" | head -n 1
}

# A disk with an incomplete or wrong image must not boot.
clear_disk_start() {
  dd if=/dev/zero of="$target" bs=1M count=4 conv=fsync 2> /dev/null || :
}

verify_target() {
  step_started verify-image "reading $disk back"
  sync
  blockdev --flushbufs "$target"
  echo 3 > /proc/sys/vm/drop_caches
  read_back=$(dd if="$target" bs=1M iflag=count_bytes count="$(cat "$RUN/written")" 2> "$RUN/read-says" | xxhsum -q -H1 2> /dev/null | cut -d ' ' -f 1)
  if [ "$read_back" != "$(stream_result sum)" ]; then
    clear_disk_start
    finish_failed verify-image "the data read from $disk differs from the data written: $(sed -n 's/^dd: //p' "$RUN/read-says" | head -n 1)"
  fi
  step_done verify-image "$(size_in_words "$(cat "$RUN/written")") read back and verified"
}
